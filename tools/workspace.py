"""What the repository contains: packages, layers, versions and declared dependencies.

Every tool and ``noxfile.py`` read the repository through this module, so a new package needs no change
in any of them. Standard library only (TOML through `tomllib`, or `tomli` on Python 3.10).
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PREFIX = "tensorphys"


class WorkspaceError(ValueError):
    """The repository breaks one of its own rules of layout."""


def distribution_name(folder: str) -> str:
    """Distribution of a package folder: ``sdf`` gives ``tensorphys-sdf``."""
    return PREFIX if folder == PREFIX else f"{PREFIX}-{folder}"


def import_name(folder: str) -> str:
    """Import name of a package folder: ``sdf`` gives ``tensorphys_sdf``."""
    return distribution_name(folder).replace("-", "_")


def read_toml(path: pathlib.Path) -> dict[str, Any]:
    """Parse a TOML file."""
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return table


def layers(root: pathlib.Path = ROOT) -> dict[str, int]:
    """Layer of each planned package folder, from ``[tool.tensorphys.layers]`` of the root."""
    table = read_toml(root / "pyproject.toml")["tool"]["tensorphys"]["layers"]
    return {str(name): int(layer) for name, layer in table.items()}


@dataclasses.dataclass(frozen=True)
class Package:
    """One folder under ``packages/``."""

    folder: str
    path: pathlib.Path
    version: str
    dependencies: tuple[str, ...]
    """Requirement strings as declared, siblings included."""
    extras: dict[str, tuple[str, ...]]

    @property
    def distribution(self) -> str:
        """Name under which the package is installed."""
        return distribution_name(self.folder)

    @property
    def module(self) -> str:
        """Name under which the package is imported."""
        return import_name(self.folder)

    @property
    def source(self) -> pathlib.Path:
        """Folder of the import package."""
        return self.path / "src" / self.module

    def sibling_ranges(self) -> dict[str, str]:
        """Declared range (``>=0.1,<0.2``) of each sibling, by folder, optional ones included."""
        ranges: dict[str, str] = {}
        extras = [requirement for group in self.extras.values() for requirement in group]
        for requirement in (*self.dependencies, *extras):
            folder = sibling_folder(requirement)
            if folder is not None and folder != self.folder:
                match = re.search(r"[<>=!~].*?(?=;|$)", requirement)
                ranges.setdefault(folder, match.group().strip() if match else "")
        return ranges


def sibling_folder(requirement: str) -> str | None:
    """Package folder that a requirement names, or None when it is a third party's."""
    match = re.match(r"\s*([A-Za-z0-9._-]+)", requirement)
    if match is None:
        raise WorkspaceError(f"not a requirement: {requirement!r}")
    name = re.sub(r"[-_.]+", "-", match.group(1)).lower()
    if name == PREFIX:
        return PREFIX
    return name[len(PREFIX) + 1 :] if name.startswith(PREFIX + "-") else None


def load_package(path: pathlib.Path) -> Package:
    """Read ``packages/<folder>/pyproject.toml``."""
    project = read_toml(path / "pyproject.toml")["project"]
    expected = distribution_name(path.name)
    if project["name"] != expected:
        raise WorkspaceError(f"{path}: project.name is {project['name']!r}, expected {expected!r}")
    return Package(
        folder=path.name,
        path=path,
        version=project["version"],
        dependencies=tuple(project.get("dependencies", ())),
        extras={name: tuple(group) for name, group in project.get("optional-dependencies", {}).items()},
    )


def packages(root: pathlib.Path = ROOT) -> dict[str, Package]:
    """Packages that exist, by folder, lowest layer first."""
    order = layers(root)
    found = [load_package(file.parent) for file in sorted((root / "packages").glob("*/pyproject.toml"))]
    unknown = [package.folder for package in found if package.folder not in order]
    if unknown:
        raise WorkspaceError(
            f"no layer for {', '.join(unknown)}: add a line to [tool.tensorphys.layers] in the root pyproject.toml"
        )
    rank = {name: index for index, name in enumerate(order)}
    found.sort(key=lambda package: (order[package.folder], rank[package.folder]))
    return {package.folder: package for package in found}


def with_siblings(folder: str, root: pathlib.Path = ROOT) -> list[Package]:
    """The package and all siblings that it needs, directly or not, lowest layer first.

    Raises:
        WorkspaceError: A declared sibling has no folder.
    """
    known = packages(root)
    if folder not in known:
        raise WorkspaceError(f"no package {folder!r}; there are {', '.join(known)}")
    needed: set[str] = set()
    pending = [folder]
    while pending:
        current = pending.pop()
        if current in needed:
            continue
        needed.add(current)
        for requirement in known[current].dependencies:
            sibling = sibling_folder(requirement)
            if sibling is None:
                continue
            if sibling not in known:
                raise WorkspaceError(
                    f"{current} declares {requirement!r}, and packages/{sibling} does not exist"
                )
            pending.append(sibling)
    return [package for package in known.values() if package.folder in needed]
