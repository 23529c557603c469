"""Checks of the repository's own rules; each module holds one rule and yields findings."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True)
class Finding:
    """One broken rule at one place."""

    path: pathlib.Path
    line: int
    rule: str
    text: str

    def render(self, root: pathlib.Path) -> str:
        """One line in the form that editors jump to."""
        path = self.path.relative_to(root) if self.path.is_relative_to(root) else self.path
        return f"{path}:{self.line}: [{self.rule}] {self.text}"


def source_files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    """Python files that the packages ship."""
    yield from sorted((root / "packages").glob("*/src/**/*.py"))


def package_folder(root: pathlib.Path, path: pathlib.Path) -> str:
    """Folder under ``packages/`` that holds the file."""
    return path.relative_to(root / "packages").parts[0]


def parse(path: pathlib.Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def decorator_name(node: ast.expr) -> str:
    """Last part of a decorator's name: ``@wp.kernel(...)`` gives ``kernel``."""
    target = node.func if isinstance(node, ast.Call) else node
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def warp_kernels(tree: ast.AST) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
    """Functions decorated with ``wp.kernel``, wherever they are defined, with the decorator."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if decorator_name(decorator) == "kernel":
                    yield node, decorator


def parameters(function: ast.FunctionDef) -> list[ast.arg]:
    """All parameters of a function."""
    spec = function.args
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
