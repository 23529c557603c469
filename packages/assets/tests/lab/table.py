"""Compares the interface table with the base classes of an installed ``isaaclab``.

python packages/assets/tests/lab/table.py
"""

from __future__ import annotations

import importlib
import inspect
import sys

import tensorphys_assets as ta
from tensorphys_assets.interface import interface

MODULES = {
    "Articulation": "articulation.base_articulation",
    "ArticulationData": "articulation.base_articulation_data",
    "RigidObject": "rigid_object.base_rigid_object",
    "RigidObjectData": "rigid_object.base_rigid_object_data",
    "RigidObjectCollection": "rigid_object_collection.base_rigid_object_collection",
    "RigidObjectCollectionData": "rigid_object_collection.base_rigid_object_collection_data",
    "DeformableObject": "deformable_object.base_deformable_object",
    "DeformableObjectData": "deformable_object.base_deformable_object_data",
}


def public_members(cls: type) -> set[str]:
    """Public names that a class itself declares."""
    declared = {*vars(cls), *vars(cls).get("__annotations__", {})}
    return {name for name in declared if not name.startswith("_")}


def parameters_of(method: object) -> list[tuple[str, bool, str | None]]:
    """Name, whether it is given by name alone, and default of each parameter."""
    listed = list(inspect.signature(method).parameters.values())[1:]  # type: ignore[arg-type]
    return [
        (p.name, p.kind is inspect.Parameter.KEYWORD_ONLY, None if p.default is p.empty else repr(p.default))
        for p in listed
    ]


def main() -> int:
    """Print what differs."""
    found = []
    for owner, module in MODULES.items():
        base = getattr(importlib.import_module(f"isaaclab.assets.{module}"), f"Base{owner}")
        table = interface()[owner]
        for name in sorted(public_members(base) ^ set(table)):
            found.append(f"{owner}.{name}: in one of table and base class only")
        for name, member in table.items():
            if member.kind == "method" and callable(getattr(base, name, None)):
                wanted = [(p.name, p.keyword_only, p.default) for p in member.parameters]
                if parameters_of(getattr(base, name)) != wanted:
                    found.append(f"{owner}.{name}: other parameters")
        if not issubclass(getattr(ta, owner), base):
            found.append(f"{owner} is no subclass of Base{owner}")
    members = sum(map(len, interface().values()))
    print("\n".join(found) or f"{members} members of {len(MODULES)} classes agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
