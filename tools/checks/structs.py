"""No `@wp.struct` of another package in a kernel signature.

Warp accepts an instance of another struct there and reads its bytes without an error, so a struct that two
packages share breaks in silence when one of them changes. Arrays cross package borders, structs do not.
"""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import workspace
from checks import Finding, decorator_name, package_folder, parameters, parse, source_files, warp_kernels


def _structs(root: pathlib.Path) -> dict[str, set[str]]:
    """Names of the structs that each import package defines."""
    found: dict[str, set[str]] = {}
    for path in source_files(root):
        module = workspace.import_name(package_folder(root, path))
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef) and any(
                decorator_name(d) == "struct" for d in node.decorator_list
            ):
                found.setdefault(module, set()).add(node.name)
    return found


def _imports(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Local name to (import package, imported name); the second is empty for a module."""
    names: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = (top, "")
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                names[alias.asname or alias.name] = (node.module.split(".")[0], alias.name)
    return names


def check(root: pathlib.Path) -> Iterator[Finding]:
    """Findings in the signatures of every kernel that the packages ship."""
    structs = _structs(root)
    for path in source_files(root):
        tree = parse(path)
        own = workspace.import_name(package_folder(root, path))
        imports = _imports(tree)
        for function, _ in warp_kernels(tree):
            for parameter in parameters(function):
                if parameter.annotation is None:
                    continue
                for name in _foreign(parameter.annotation, imports, structs, own):
                    yield Finding(
                        path,
                        parameter.lineno,
                        "foreign-struct",
                        f"{function.name}: {parameter.arg} is of struct {name}, which {own} does not own; pass its arrays",
                    )


def _foreign(
    annotation: ast.expr, imports: dict[str, tuple[str, str]], structs: dict[str, set[str]], own: str
) -> Iterator[str]:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name) and node.id in imports:
            package, name = imports[node.id]
        elif isinstance(node, ast.Attribute):
            base: ast.expr = node
            while isinstance(base, ast.Attribute):
                base = base.value
            if not (isinstance(base, ast.Name) and base.id in imports):
                continue
            package, name = imports[base.id][0], node.attr
        else:
            continue
        if package != own and name in structs.get(package, ()):
            yield f"{package}.{name}"
