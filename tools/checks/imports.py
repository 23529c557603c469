"""Who may import what: third parties that belong to one package, and only what is declared.

The layers between our own packages are import-linter's business (`contracts.py`).
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

import workspace
from checks import Finding, package_folder, parse, source_files

ANYWHERE = "anywhere"
LAZY = "lazily"

# Third party module to the packages that may import it, at any place or only inside a function or under
# TYPE_CHECKING. An empty table: nobody.
RESTRICTED: dict[str, dict[str, str]] = {
    "torch": {"arrays": LAZY},
    "jax": {"arrays": LAZY},
    "tensorflow": {},
    "pxr": {"usd": ANYWHERE, "backend": ANYWHERE, "tensorphys": LAZY},
    "newton": {},
    "mujoco": {},
    "mujoco_warp": {},
    "pinocchio": {},
    "gymnasium": {"assets": LAZY},
    "example_robot_data": {},
    "urdf_usd_converter": {},
    "mujoco_usd_converter": {},
    "omni": {},
    "isaacsim": {},
    "isaaclab": {},
}

_DISTRIBUTIONS = {
    "warp": ("warp-lang",),
    "pxr": ("usd-core", "usd-exchange"),
    "usdex": ("usd-exchange",),
    "mpl_toolkits": ("matplotlib",),
    "PIL": ("pillow",),
}


def _imported(tree: ast.Module) -> Iterator[tuple[str, int, bool]]:
    """Top-level module, line and laziness of each import, ``import_module("name")`` included."""

    def visit(node: ast.AST, lazy: bool) -> Iterator[tuple[str, int, bool]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], node.lineno, lazy
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0], node.lineno, lazy
        elif isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value).split(".")[0], node.lineno, lazy
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            inside = True
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(tree, False)


def _declared(package: workspace.Package) -> tuple[set[str], set[str]]:
    """Distributions that the package declares: always installed, and through an extra."""

    def name(requirement: str) -> str:
        match = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
        return re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""

    always = {name(requirement) for requirement in package.dependencies}
    extra = {name(requirement) for group in package.extras.values() for requirement in group}
    return always, extra


def check(root: pathlib.Path) -> Iterator[Finding]:
    """Imports of a restricted or undeclared module in what the packages ship."""
    packages = workspace.packages(root)
    own_modules = {workspace.import_name(folder): folder for folder in workspace.layers(root)}
    for path in source_files(root):
        folder = package_folder(root, path)
        always, extra = _declared(packages[folder])
        testing = "testing" in path.relative_to(packages[folder].path).parts
        for module, line, lazy in _imported(parse(path)):
            if module in sys.stdlib_module_names or own_modules.get(module) == folder:
                continue
            if module in RESTRICTED:
                permission = RESTRICTED[module].get(folder)
                if permission is None:
                    yield Finding(path, line, "forbidden-import", f"{folder} must not import {module}")
                    continue
                if permission == LAZY and not lazy:
                    yield Finding(
                        path, line, "forbidden-import", f"{folder} may import {module} only inside a function"
                    )
                    continue
            if module in own_modules:
                names: tuple[str, ...] = (workspace.distribution_name(own_modules[module]),)
            else:
                names = _DISTRIBUTIONS.get(module, (re.sub(r"[-_.]+", "-", module).lower(),))
            allowed = always | extra if lazy or testing else always
            # Optional frontends are looked up by the frontend that the user names; nothing declares jax yet.
            if not allowed & set(names) and not (lazy and module in RESTRICTED):
                yield Finding(
                    path,
                    line,
                    "undeclared-import",
                    f"{folder} imports {module} and does not declare {names[0]}",
                )


def check_layers(root: pathlib.Path) -> Iterator[Finding]:
    """Declared siblings that are not in a lower layer."""
    order = workspace.layers(root)
    for package in workspace.packages(root).values():
        for sibling, declared in package.sibling_ranges().items():
            path = package.path / "pyproject.toml"
            if sibling not in order or order[sibling] >= order[package.folder]:
                yield Finding(
                    path,
                    1,
                    "sibling-layer",
                    f"{package.folder} may not need {sibling}: it is not in a lower layer",
                )
            elif re.fullmatch(r">=\d+(\.\d+)+,\s*<\d+(\.\d+)*", declared) is None:
                yield Finding(
                    path, 1, "sibling-range", f"{sibling}: range {declared!r}, expected the form >=0.1,<0.2"
                )
