"""Physics materials, and which of them a collider has."""

from __future__ import annotations

from typing import Any

from pxr import Sdf, Usd, UsdShade

from tensorphys_scene import CombineMode, Materials
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.settings import scene_path
from tensorphys_usd.stage import Reading

_COMBINE = {
    "average": CombineMode.AVERAGE,
    "min": CombineMode.MIN,
    "multiply": CombineMode.MULTIPLY,
    "max": CombineMode.MAX,
}
_READ_BY_OPENUSD = (
    "physics:staticFriction",
    "physics:dynamicFriction",
    "physics:restitution",
    "physics:density",
)


class StageMaterials:
    """All physics materials of a stage.

    Attributes:
        table: One row a material prim; paths are absolute.
        row: Row by prim path.
        default: Row of the material that is bound to the physics scene, −1 where none is.
    """

    def __init__(self, reading: Reading, descriptors: Descriptors) -> None:
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        paths = []
        for path, descriptor in descriptors.materials:
            paths.append(str(path))
            attributes = reading.attributes(path)
            attributes.use(*_READ_BY_OPENUSD)
            for column, value in (
                ("static_friction", descriptor.staticFriction),
                ("dynamic_friction", descriptor.dynamicFriction),
                ("restitution", descriptor.restitution),
                ("density", max(descriptor.density, 0.0)),
                ("compliant_stiffness", attributes.number("physxMaterial:compliantContactStiffness", 0.0)),
                ("compliant_damping", attributes.number("physxMaterial:compliantContactDamping", 0.0)),
                ("torsional_friction", _converted(attributes, "torsional")),
                ("rolling_friction", _converted(attributes, "rolling")),
            ):
                if not 0.0 <= value < float("inf"):
                    raise StageError(
                        f"{path}: {column} is {value}, expected a finite number that is not negative"
                    )
                columns[column].append(value)
            columns["compliant_acceleration"].append(
                attributes.flag("physxMaterial:compliantContactAccelerationSpring", False)
            )
            for kind in ("friction", "restitution", "damping"):
                token = attributes.token(f"physxMaterial:{kind}CombineMode", "average")
                if token not in _COMBINE:
                    reading.report.correct(
                        path, f"physxMaterial:{kind}CombineMode {token!r} is unknown: average is used"
                    )
                columns[f"{kind}_combine"].append(int(_COMBINE.get(token, CombineMode.AVERAGE)))
        table: dict[str, Any] = {"path": tuple(paths), **columns}
        self.table = Materials(**table)
        self.row = {path: row for row, (path, _) in enumerate(descriptors.materials)}
        self.default = self._default(reading, descriptors)

    def of_shape(self, reading: Reading, path: Sdf.Path, descriptor: Any, *, by_face: bool) -> int:
        """Row of a collider's material, −1 where it has none.

        Args:
            reading: The pass over the stage.
            path: The collider.
            descriptor: The parser's descriptor.
            by_face: Whether faces keep materials of their own.
        """
        known = [self.row[material] for material in descriptor.materials if material in self.row]
        if type(descriptor).__name__ == "MeshShapeDesc":
            # Of a mesh with subsets the parser lists their materials alone.
            own = self._bound(reading.prim(path))
            known = [own] if own >= 0 else [] if by_face else known
        return known[0] if known else self.default

    def of_faces(self, subset: Usd.Prim) -> int:
        """Row of the material of a subset of faces, −1 where it has none."""
        return self._bound(subset)

    def _bound(self, prim: Usd.Prim) -> int:
        material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
        return self.row.get(material.GetPath(), -1) if material else -1

    def _default(self, reading: Reading, descriptors: Descriptors) -> int:
        path = scene_path(descriptors)
        if path is None:
            return -1
        return self._bound(reading.prim(path))


def _converted(attributes: Attributes, kind: str) -> float:
    """Friction against spin or rolling, as converters write it."""
    older = attributes.number(f"mjc:{kind}friction", 0.0)
    return attributes.number(f"newton:{kind}Friction", older)


_COLUMNS = (
    "static_friction",
    "dynamic_friction",
    "restitution",
    "density",
    "friction_combine",
    "restitution_combine",
    "damping_combine",
    "compliant_stiffness",
    "compliant_damping",
    "compliant_acceleration",
    "torsional_friction",
    "rolling_friction",
)
