"""Make a new package in the layout of docs/architecture.md.

    python tools/new_package.py sdf --layer 1 --summary "Signed distance fields." --needs warp-lang>=1.19 --sibling spatial

Writes ``packages/<folder>`` (pyproject, README, CHANGELOG, LICENSE, changes, source, a test of the public
names), and registers it in the root ``pyproject.toml`` as a workspace source and, when it is not planned
there, with its layer.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
from collections.abc import Sequence

import workspace

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "{distribution}"
version = "0.1.0"
description = "{summary}"
readme = "README.md"
license = "Apache-2.0"
license-files = ["LICENSE"]
requires-python = ">=3.10"
dependencies = [{dependencies}]
classifiers = [
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Science/Research",
    "Programming Language :: Python :: 3",
    "Topic :: Scientific/Engineering :: Physics",
    "Typing :: Typed",
]

[project.optional-dependencies]
{extras}
[tool.hatch.build.targets.wheel]
packages = ["src/{module}"]
"""

_README = """\
# {distribution}

{summary}

```
pip install {distribution}
```

```python
import {module}
```

Part of [tensorphys](../../README.md). License: Apache-2.0.
"""

_CHANGELOG = """\
# Changelog

Written by towncrier from the fragments in `changes/` at each release.

<!-- towncrier release notes start -->
"""

_INIT = '''\
"""{summary}"""

__all__: list[str] = []
'''

_TEST = """\
import importlib.metadata

import {module}


def test_every_public_name_exists_and_is_listed_once() -> None:
    names = {module}.__all__
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr({module}, name)] == []


def test_installed_as_the_distribution_that_the_readme_names() -> None:
    assert importlib.metadata.metadata("{distribution}")["Name"] == "{distribution}"
"""


def _toml_list(items: Sequence[str]) -> str:
    return "".join(f'\n    "{item}",' for item in items) + "\n" if items else ""


def _sibling_requirement(root: pathlib.Path, folder: str) -> str:
    """Range that admits the sibling's present minor version alone, as 0.x versions may break in any minor."""
    package = workspace.load_package(root / "packages" / folder)
    major, minor = (int(part) for part in package.version.split(".")[:2])
    upper = f"0.{minor + 1}" if major == 0 else f"{major + 1}"
    return f"{package.distribution}>={major}.{minor},<{upper}"


def _insert_line(text: str, header: str, line: str) -> str:
    """Append a line to the block that starts with ``header`` and ends at the next blank line."""
    start = text.index(header + "\n") + len(header) + 1
    end = text.find("\n\n", start - 1)
    end = len(text.rstrip("\n")) if end < 0 else end
    return text[:end].rstrip("\n") + "\n" + line + "\n" + text[end:].removeprefix("\n")


def register(root: pathlib.Path, folder: str, layer: int | None) -> None:
    """Enter the package in the root ``pyproject.toml``: its workspace source and its layer."""
    path = root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    source = f"{workspace.distribution_name(folder)} = {{ workspace = true }}"
    if source not in text.splitlines():
        text = _insert_line(text, "[tool.uv.sources]", source)
    planned = workspace.layers(root)
    if folder not in planned:
        if layer is None:
            raise workspace.WorkspaceError(
                f"{folder} has no line in [tool.tensorphys.layers]; give its layer with --layer"
            )
        text = _insert_line(text, "[tool.tensorphys.layers]", f"{folder} = {layer}")
    elif layer is not None and layer != planned[folder]:
        raise workspace.WorkspaceError(f"{folder} is planned in layer {planned[folder]}, not {layer}")
    path.write_text(text, encoding="utf-8")


def create(
    folder: str,
    summary: str,
    *,
    needs: Sequence[str] = (),
    siblings: Sequence[str] = (),
    extras: Sequence[str] = (),
    layer: int | None = None,
    fill: bool = False,
    root: pathlib.Path = workspace.ROOT,
) -> pathlib.Path:
    """Write the package and register it.

    Args:
        folder: Name of the folder under ``packages/``: lower case letters, digits, no prefix.
        summary: One sentence; it becomes the description, the README's first line and the docstring.
        needs: Requirement strings of third parties.
        siblings: Folders of sibling packages; each is declared with the range of its present minor version.
        extras: Optional dependencies as ``name=requirement``.
        layer: Layer of a package that the root ``pyproject.toml`` does not plan yet.
        fill: Accept a folder that exists and write only the files that it lacks.
        root: Repository to write into.

    Returns:
        The new folder.

    Raises:
        workspace.WorkspaceError: The name is not usable, the folder exists, or a sibling is missing or not
            in a lower layer.
    """
    if re.fullmatch(r"[a-z][a-z0-9]*", folder) is None:
        raise workspace.WorkspaceError(f"package folder {folder!r}: expected lower case letters and digits")
    if folder in FORBIDDEN_NAMES:
        raise workspace.WorkspaceError(f"package folder {folder!r}: a name that explains nothing")
    path = root / "packages" / folder
    if path.exists() and not fill:
        raise workspace.WorkspaceError(f"{path} exists; --fill writes only what it lacks")
    own_layer = layer if layer is not None else workspace.layers(root).get(folder)
    for sibling in siblings:
        if not (root / "packages" / sibling / "pyproject.toml").exists():
            raise workspace.WorkspaceError(f"sibling {sibling!r}: no packages/{sibling}")
        if own_layer is not None and workspace.layers(root)[sibling] >= own_layer:
            raise workspace.WorkspaceError(f"sibling {sibling!r} is not in a layer below {own_layer}")
    register(root, folder, layer)

    module = workspace.import_name(folder)
    groups: dict[str, list[str]] = {"testing": ["pytest>=8", "hypothesis>=6.100"]}
    for extra in extras:
        name, _, requirement = extra.partition("=")
        groups.setdefault(name, []).append(requirement)
    fields = {
        "distribution": workspace.distribution_name(folder),
        "module": module,
        "summary": summary,
        "dependencies": _toml_list([_sibling_requirement(root, name) for name in siblings] + list(needs)),
        "extras": "".join(f"{name} = [{_toml_list(group)}]\n" for name, group in groups.items()),
    }
    files = {
        "pyproject.toml": _PYPROJECT.format(**fields),
        "README.md": _README.format(**fields),
        "CHANGELOG.md": _CHANGELOG,
        "LICENSE": (root / "LICENSE").read_text(encoding="utf-8"),
        "changes/.gitkeep": "",
        f"src/{module}/__init__.py": _INIT.format(**fields),
        f"src/{module}/py.typed": "",
        f"tests/test_{folder}_public_names.py": _TEST.format(**fields),
    }
    for name, content in files.items():
        file = path / name
        if file.exists():
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return path


FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description="Make a new package under packages/.")
    parser.add_argument("folder")
    parser.add_argument("--summary", required=True, help="one sentence")
    parser.add_argument(
        "--layer", type=int, help="only when the root pyproject.toml does not plan the package"
    )
    parser.add_argument("--needs", action="append", default=[], metavar="REQUIREMENT")
    parser.add_argument("--sibling", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--extra", action="append", default=[], metavar="NAME=REQUIREMENT")
    parser.add_argument(
        "--fill", action="store_true", help="write only the files that an existing folder lacks"
    )
    options = parser.parse_args(arguments)
    try:
        path = create(
            options.folder,
            options.summary,
            needs=options.needs,
            siblings=options.sibling,
            extras=options.extra,
            layer=options.layer,
            fill=options.fill,
        )
    except workspace.WorkspaceError as error:
        print(f"new_package: {error}", file=sys.stderr)
        return 2
    print(path.relative_to(workspace.ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
