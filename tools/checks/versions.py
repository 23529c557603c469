"""A change of what a package promises needs a version that says so.

What a package promises here: the names in ``__init__.__all__`` and the protocols in ``protocols.py``. They are
compared with the last tag ``tensorphys-<folder>-vX.Y.Z``. A new name needs any higher version; a name that went,
or a protocol that changed, needs one outside the range that siblings declare (0.x: the next minor version).
Without a tag there is nothing to compare with.
"""

from __future__ import annotations

import ast
import io
import pathlib
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator

import workspace
from checks import Finding

Version = tuple[int, int, int]


def parse_version(text: str) -> Version:
    """``1.2.3`` as three integers."""
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
    if match is None:
        raise workspace.WorkspaceError(f"version {text!r}: expected X.Y.Z")
    return (int(match[1]), int(match[2]), int(match[3]))


def tags(root: pathlib.Path, folder: str) -> dict[Version, str]:
    """Release tags of a package, oldest first."""
    prefix = f"{workspace.distribution_name(folder)}-v"
    listed = _git(root, "tag", "--list", f"{prefix}*").split()
    found = {}
    for tag in listed:
        if re.fullmatch(re.escape(prefix) + r"\d+\.\d+\.\d+", tag):
            found[parse_version(tag.removeprefix(prefix))] = tag
    return dict(sorted(found.items()))


def public_names(source: str) -> set[str]:
    """Names in a literal ``__all__``."""
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
            if isinstance(value, (ast.List, ast.Tuple)):
                return {str(ast.literal_eval(item)) for item in value.elts}
    raise workspace.WorkspaceError("no literal __all__")


def protocol_surface(source: str) -> str:
    """Code of a module without docstrings and comments, so that wording may change freely."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [item for item in node.body if not _is_docstring(item)] or [ast.Pass()]
    return ast.unparse(tree)


def _is_docstring(node: ast.stmt) -> bool:
    """A bare string, which documents the module, class, function or field that it follows."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _git(root: pathlib.Path, *arguments: str) -> str:
    run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else ""


def in_range(version: Version, declared: str) -> bool:
    """Whether a release lies in a range of the form ``>=0.1,<0.2``."""
    for clause in declared.split(","):
        match = re.fullmatch(r"(>=|<)(\d+(?:\.\d+)*)", clause.strip())
        if match is None:
            raise workspace.WorkspaceError(f"range {declared!r}: expected the form >=0.1,<0.2")
        numbers = [int(part) for part in match[2].split(".")]
        bound = (*numbers, 0, 0)[:3]
        if (version < bound) if match[1] == ">=" else (version >= bound):
            return False
    return True


def oldest_siblings(root: pathlib.Path, package: workspace.Package) -> dict[str, str]:
    """Tag of the oldest release of each sibling that the package declares to work with.

    Siblings without a release in the declared range are left out.
    """
    oldest = {}
    for sibling, declared in package.sibling_ranges().items():
        matching = [tag for version, tag in tags(root, sibling).items() if in_range(version, declared)]
        if matching:
            oldest[sibling] = matching[0]
    return oldest


def export_tag(root: pathlib.Path, tag: str, folder: str, target: pathlib.Path) -> pathlib.Path:
    """Write a package's folder as it was at a tag below ``target``; returns the folder written."""
    archive = subprocess.run(
        ["git", "-C", str(root), "archive", tag, f"packages/{folder}"], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(target, filter="data") if sys.version_info >= (3, 12) else tar.extractall(target)
    return target / "packages" / folder


def _breaking(old: Version, new: Version) -> bool:
    return new[0] > old[0] or (new[0] == old[0] == 0 and new[1] > old[1])


def check(root: pathlib.Path) -> Iterator[Finding]:
    """Packages whose promises changed and whose version does not tell."""
    for package in workspace.packages(root).values():
        init = package.source / "__init__.py"
        protocols = package.source / "protocols.py"
        version = parse_version(package.version)
        try:
            names = public_names(init.read_text(encoding="utf-8"))
        except workspace.WorkspaceError as error:
            yield Finding(init, 1, "public-names", str(error))
            continue
        released = tags(root, package.folder)
        if not released:
            continue
        last, tag = list(released.items())[-1]

        def at_tag(path: pathlib.Path, tag: str = tag) -> str:
            return _git(root, "show", f"{tag}:{path.relative_to(root).as_posix()}")

        old_names = public_names(at_tag(init))
        gone = sorted(old_names - names)
        new_code = protocols.read_text(encoding="utf-8") if protocols.exists() else ""
        changed = protocol_surface(at_tag(protocols)) != protocol_surface(new_code)
        if (gone or changed) and not _breaking(last, version):
            what = f"names gone: {', '.join(gone)}" if gone else "protocols.py changed"
            yield Finding(
                package.path / "pyproject.toml",
                1,
                "version",
                f"{what} since {tag}; version {package.version} is inside the range that siblings declare",
            )
        elif names - old_names and version <= last:
            new = ", ".join(sorted(names - old_names))
            yield Finding(
                package.path / "pyproject.toml",
                1,
                "version",
                f"new names since {tag}: {new}; raise version {package.version}",
            )
