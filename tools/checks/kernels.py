"""Rules of Warp kernels: gradients settled, bodies short, writes visible in the signature."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

from checks import Finding, package_folder, parameters, parse, source_files, warp_kernels

STATEMENT_LIMIT = 40
_OUTPUT_SUFFIXES = ("_out", "_inout")
_ATOMICS = ("atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_exch", "atomic_cas", "atomic_or")


def _statement_count(function: ast.FunctionDef) -> int:
    """Statements of a body without its docstring; a call spread over ten lines is one statement."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return sum(isinstance(node, ast.stmt) for statement in body for node in ast.walk(statement))


def _sets_backward(tree: ast.Module) -> bool:
    for node in tree.body:
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            continue
        call = node.value
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name == "set_module_options" and call.args and isinstance(call.args[0], ast.Dict):
            keys = [key.value for key in call.args[0].keys if isinstance(key, ast.Constant)]
            if "enable_backward" in keys:
                return True
    return False


def _written(function: ast.FunctionDef) -> dict[str, int]:
    """Names of arrays that a body writes, with the first line that does."""
    lines: dict[str, int] = {}

    def note(target: ast.expr) -> None:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            subscripted = isinstance(target, ast.Subscript)
            target = target.value
            if isinstance(target, ast.Name) and subscripted:
                lines.setdefault(target.id, target.lineno)

    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    note(part)
        elif isinstance(node, ast.AugAssign):
            note(node.target)
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ATOMICS
        ):
            if node.args and isinstance(node.args[0], ast.Name):
                lines.setdefault(node.args[0].id, node.lineno)
    return lines


def check(root: pathlib.Path) -> Iterator[Finding]:
    """Findings in every kernel that the packages ship."""
    for path in source_files(root):
        tree = parse(path)
        found = list(warp_kernels(tree))
        if not found:
            continue
        relative = path.relative_to(root / "packages" / package_folder(root, path) / "src").parts
        if not {"_kernels", "testing"} & set(relative) and path.name != "device.py":
            yield Finding(
                path,
                found[0][0].lineno,
                "kernel-place",
                "kernels live in _kernels/ (types are not checked there)",
            )
        module_sets = _sets_backward(tree)
        for function, decorator in found:
            own = isinstance(decorator, ast.Call) and any(
                k.arg == "enable_backward" for k in decorator.keywords
            )
            if not (module_sets or own):
                yield Finding(
                    path,
                    function.lineno,
                    "kernel-backward",
                    f"{function.name}: say enable_backward in wp.set_module_options at the top of the module",
                )
            count = _statement_count(function)
            if count > STATEMENT_LIMIT:
                yield Finding(
                    path,
                    function.lineno,
                    "kernel-length",
                    f"{function.name}: {count} statements, at most {STATEMENT_LIMIT}; it hides a wp.func",
                )
            yield from _check_signature(path, function)


def _check_signature(path: pathlib.Path, function: ast.FunctionDef) -> Iterator[Finding]:
    names = {parameter.arg: parameter for parameter in parameters(function)}
    for name, parameter in names.items():
        if parameter.annotation is None:
            yield Finding(path, parameter.lineno, "kernel-types", f"{function.name}: {name} has no type")
    for name, line in _written(function).items():
        if name in names and not name.endswith(_OUTPUT_SUFFIXES):
            yield Finding(
                path,
                line,
                "kernel-names",
                f"{function.name}: writes {name}; call it {name}_out (or {name}_inout when it is read too)",
            )
