"""Deformable and particle prims of both generations of vendor schemas, as data."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade

from tensorphys_scene import SoftData, SoftKind
from tensorphys_usd.errors import StageError
from tensorphys_usd.geometry_values import bad_transform, integers_of, vectors_of, world_transform
from tensorphys_usd.meshes import read_mesh
from tensorphys_usd.stage import Reading

_PREFIXES = (
    "physxDeformable",
    "physxAutoDeformable",
    "physxParticle",
    "physxAutoParticleCloth:",
    "physxPBDMaterial:",
    "physxAttachment:",
    "physxAutoAttachment:",
    "omniphysics:",
    "deformablePose:",
)
_TYPES = {
    "PhysxParticleSystem": SoftKind.PARTICLE_SYSTEM,
    "PhysxPhysicsAttachment": SoftKind.ATTACHMENT,
    "OmniPhysicsElementCollisionFilter": SoftKind.COLLISION_FILTER,
}
# The first schema that is applied says what the prim is.
_SCHEMAS = (
    ("PhysxParticleClothAPI", SoftKind.PARTICLE_CLOTH),
    ("PhysxAutoParticleClothAPI", SoftKind.PARTICLE_CLOTH),
    ("PhysxParticleSetAPI", SoftKind.PARTICLE_SET),
    ("PhysxParticleAPI", SoftKind.PARTICLE_SET),
    ("PhysxPBDMaterialAPI", SoftKind.PARTICLE_MATERIAL),
    ("PhysxDeformableSurfaceAPI", SoftKind.SURFACE_BODY),
    ("PhysxDeformableBodyAPI", SoftKind.VOLUME_BODY),
    ("PhysxDeformableBodyMaterialAPI", SoftKind.MATERIAL),
    ("PhysxDeformableSurfaceMaterialAPI", SoftKind.MATERIAL),
    ("OmniPhysicsDeformableMaterialAPI", SoftKind.MATERIAL),
    ("OmniPhysicsSurfaceDeformableMaterialAPI", SoftKind.MATERIAL),
    ("OmniPhysicsCurvesDeformableMaterialAPI", SoftKind.MATERIAL),
)
# A body of the newer schemas is of the kind of its simulation geometry, on the prim itself or below it.
_SIMULATIONS = {
    "OmniPhysicsVolumeDeformableSimAPI": SoftKind.VOLUME_BODY,
    "OmniPhysicsSurfaceDeformableSimAPI": SoftKind.SURFACE_BODY,
    "OmniPhysicsCurvesDeformableSimAPI": SoftKind.CURVES_BODY,
}
_BODY = "OmniPhysicsDeformableBodyAPI"
_BODY_KINDS = (SoftKind.VOLUME_BODY, SoftKind.SURFACE_BODY, SoftKind.CURVES_BODY, SoftKind.PARTICLE_CLOTH)
_WITH_POINTS = ("TetMesh", "Points", "BasisCurves", "PointInstancer")
_GEOMETRY_VALUES = ("velocities", "widths", "curveVertexCounts", "physics:mass", "physics:density")


class StageSoft:
    """All deformable and particle prims of a stage.

    Attributes:
        paths, kinds, transforms, data: One entry a prim, in stage order.
    """

    def __init__(self, reading: Reading) -> None:
        self.paths: list[Sdf.Path] = []
        self.kinds: list[SoftKind] = []
        self.transforms: list[Any] = []
        self.data: list[SoftData] = []
        self._reading = reading
        self._bodies: list[Sdf.Path] = []
        self._cache = UsdGeom.XformCache()
        found: list[int] = []
        for (_, *schemas), rows in reading.types.items():
            if (
                self._kind(reading.prims[rows[0]], schemas) is not None
            ):  # the type alone says whether it is soft
                found += rows
        for row in sorted(found):
            path, prim = reading.paths[row], reading.prims[row]
            schemas = list(reading.type_of(path)[1:])
            kind = self._kind(prim, schemas)
            assert kind is not None
            self._add(path, prim, kind, schemas)

    def owns(self, path: Sdf.Path) -> bool:
        """Whether a collider at this path is the surface of a deformable, not a rigid shape."""
        return any(path.HasPrefix(body) for body in self._bodies)

    def _kind(self, prim: Usd.Prim, schemas: list[str]) -> SoftKind | None:
        name = str(prim.GetTypeName())
        if name in _TYPES:
            return _TYPES[name]
        if name.startswith("OmniPhysics") and name.endswith("Attachment"):
            return SoftKind.ATTACHMENT
        if not schemas:
            return None
        for schema, kind in _SCHEMAS:
            if schema in schemas:
                return kind
        own = next((_SIMULATIONS[schema] for schema in schemas if schema in _SIMULATIONS), None)
        if _BODY in schemas:
            return own if own is not None else self._below(prim)
        posed = any(schema.startswith("OmniPhysicsDeformablePoseAPI") for schema in schemas)
        return SoftKind.GEOMETRY if own is not None or posed else None

    def _below(self, body: Usd.Prim) -> SoftKind:
        for prim in Usd.PrimRange(body, Usd.TraverseInstanceProxies()):
            for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                if str(schema) in _SIMULATIONS:
                    return _SIMULATIONS[str(schema)]
        kind = SoftKind.VOLUME_BODY
        self._reading.report.correct(
            body.GetPath(), "deformable body without simulation geometry: taken for a volume"
        )
        return kind

    def _add(self, path: Sdf.Path, prim: Usd.Prim, kind: SoftKind, schemas: list[str]) -> None:
        attributes = self._reading.attributes(path)
        typed = str(prim.GetTypeName()).startswith(("Physx", "OmniPhysics"))
        values: dict[str, Any] = {}
        targets: dict[str, tuple[str, ...]] = {}
        for name in prim.GetAuthoredPropertyNames():
            if not (name.startswith(_PREFIXES) or name in _GEOMETRY_VALUES):
                if not typed or name.startswith(("xformOp", "material:")):
                    continue
            attributes.use(name)
            relationship = prim.GetRelationship(name)
            if relationship:
                targets[name] = tuple(str(target) for target in relationship.GetTargets())
                continue
            value = prim.GetAttribute(name).Get()
            if value is not None:
                values[name] = _plain(path, name, value)
        points, elements = _geometry(prim)
        bound = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
        transform = np.array(world_transform(self._cache, prim)).T
        if not np.isfinite(transform).all():
            raise StageError(bad_transform(prim) or f"{path}: world transform is not finite")
        self.paths.append(path)
        self.kinds.append(kind)
        self.transforms.append(transform)
        self.data.append(
            SoftData(
                schemas=tuple(
                    name for name in (str(prim.GetTypeName()), *schemas) if name.startswith(("Physx", "Omni"))
                ),
                values=values,
                targets=targets,
                points=points,
                elements=elements,
                material=str(bound.GetPath()) if bound else "",
            )
        )
        if kind in _BODY_KINDS:
            self._bodies.append(path)


def _plain(path: Sdf.Path, name: str, value: Any) -> Any:
    """A value as a number, text or array; 3.4e38 and above is infinite."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (Gf.Quatf, Gf.Quatd)):
        value = [*value.GetImaginary(), value.GetReal()]
    result = np.array(value)
    if result.dtype.kind == "f":
        if np.isnan(result).any():
            raise StageError(f"{path}: {name} holds NaN")
        result = result.astype(np.float64)
        result = np.where(np.abs(result) >= 3.0e38, np.copysign(np.inf, result), result)
        return float(result) if result.ndim == 0 else result
    if result.dtype.kind in "biu":
        return result
    return str(value) if result.ndim == 0 else tuple(str(item) for item in value)


def _geometry(prim: Usd.Prim) -> tuple[Any, Any]:
    """Points and elements of a prim that has them."""
    kind = str(prim.GetTypeName())
    none = np.zeros((0, 3), np.int32)
    if kind == "Mesh":
        mesh = read_mesh(prim)
        return mesh.points, mesh.triangles
    # Particle sets may be point instancers, whose prototypes show them.
    name = {"PointInstancer": "positions"}.get(kind, "points")
    if kind not in _WITH_POINTS:
        return np.zeros((0, 3)), none
    array = vectors_of(prim, name)
    if kind != "TetMesh":
        return array, none
    tets = integers_of(prim, "tetVertexIndices", 4).astype(np.int32)
    if tets.size and (tets.min() < 0 or tets.max() >= len(array)):
        wrong = int(tets.min()) if tets.min() < 0 else int(tets.max())
        raise StageError(
            f"{prim.GetPath()}: tetVertexIndices holds {wrong}, the mesh has {len(array)} points"
        )
    return array, tets
