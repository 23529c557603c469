"""Sphinx configuration. `nox -s docs` builds with warnings as errors."""

from __future__ import annotations

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import workspace  # noqa: E402

project = "tensorphys"
author = "the tensorphys authors"
copyright = author
version = release = workspace.packages(ROOT)["tensorphys"].version

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "tensorphys"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True

# The build works without a network, so names of other projects cannot be looked up; our own must exist.
# A name that a package exports resolves under the module that defines it as well; what remains of that form in a
# signature is private to its package.
# A short name in prose (`link_paths`) may be a field of two classes.
suppress_warnings = ["ref.python"]
nitpick_ignore_regex = [
    (r"py:.*", r"(?!tensorphys).*"),
    (r"py:.*", r"tensorphys\w*(\.\w+){2,}"),
]


def _automodule(module: str, *, index: bool = True) -> str:
    """Directive for a module; what it exports from another package is described on that package's page."""
    loaded = importlib.import_module(module)
    package = module.split(".")[0]
    foreign = []
    for name in getattr(loaded, "__all__", ()):
        home = getattr(getattr(loaded, name), "__module__", package).split(".")[0]
        if home != package and home.startswith(workspace.PREFIX):
            foreign.append(name)
    options = ["   :members:"]
    if foreign:
        options.append(f"   :exclude-members: {', '.join(foreign)}")
    if not index:
        options.append("   :no-index:")
    return "```{eval-rst}\n.. automodule:: " + module + "\n" + "\n".join(options) + "\n```\n"


def _write_api_pages() -> None:
    """One page for each package: the names in its `__all__`, its device functions, protocols and environments."""
    folder = ROOT / "docs" / "api"
    folder.mkdir(exist_ok=True)
    packages = workspace.packages(ROOT)
    for package in packages.values():
        text = f"# {package.distribution}\n\n" + _automodule(package.module)
        for name, title in (
            ("device", "Device functions"),
            ("protocols", "Protocols"),
            ("environments", "Environments"),
        ):
            if (package.source / f"{name}.py").exists() or (package.source / name / "__init__.py").exists():
                # What the package exports from there has its entry above.
                text += f"\n## {title}\n\n" + _automodule(
                    f"{package.module}.{name}", index=name != "protocols"
                )
        (folder / f"{package.folder}.md").write_text(text, encoding="utf-8")
    entries = "\n".join(packages)
    index = f"# API\n\nOne page for each package, lowest layer first.\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"
    (folder / "index.md").write_text(index, encoding="utf-8")


def _show_device_functions() -> None:
    """Put the Python functions behind Warp's function objects in their place, so that autodoc sees them."""
    import warp as wp

    packages = workspace.packages(ROOT).values()
    for package in packages:
        importlib.import_module(package.module)
    for package in packages:
        if (package.source / "device.py").exists():
            module = importlib.import_module(f"{package.module}.device")
            for name, value in list(vars(module).items()):
                if isinstance(value, wp.Function) and value.func is not None:
                    setattr(module, name, value.func)


_write_api_pages()
_show_device_functions()
