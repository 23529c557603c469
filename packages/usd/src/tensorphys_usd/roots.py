"""Environment root prims, and which of them hold the same.

Two environments are equal before anything is parsed when every layer says the same below both roots: the specs that
contribute to the roots hold equal text, apart from where the roots stand. Only one of them is parsed. Of environments
that differ in masses and sizes of primitives alone one is parsed, too; of the others `variants` reads these numbers.
Equal environments that say so in different ways (one by a reference, one in full) are found later, by their rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys_patterns import match
from tensorphys_usd.coupling_joints import is_coupling_joint
from tensorphys_usd.errors import StageError
from tensorphys_usd.geometry_values import world_transform

_COPY = Sdf.Path("/environment")
# Where the first this many roots all differ, equal ones are left to be found by their rows: text costs time.
_SAMPLE = 32
# One line of the root prim that says where it stands.
_ROOT_TRANSFORM = re.compile(r"^ {4}(?:[\w\[\]]+ )+xformOp[\w:]*[ .].*\n", re.MULTILINE)
# A mass property or a size of a primitive with its value; one that opens metadata is left as it is.
_NUMBERS = re.compile(
    r"( (?:physics:(?:mass|density|centerOfMass|diagonalInertia|principalAxes)|radius|height|size) = ).*[^(\n](?=\n)"
)


@dataclass(frozen=True)
class EnvironmentRoots:
    """Environment root prims of a stage.

    Attributes:
        paths: Root paths in stage order; none where the whole stage is one environment.
        origins: Translation of each root in the world, shape [count, 3]; one row where there are no roots.
        source: The environment that is parsed for each one, shape [count].
        numbers: The environment whose masses and sizes are read for each one, shape [count].
    """

    paths: tuple[Sdf.Path, ...]
    origins: npt.NDArray[np.float64]
    source: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]

    @property
    def copies(self) -> frozenset[Sdf.Path]:
        """Roots that need not be parsed."""
        return frozenset(path for row, path in enumerate(self.paths) if self.source[row] != row)


class _Prims:
    """Prims of a stage as a tree of names."""

    def __init__(self, stage: Usd.Stage) -> None:
        self._stage = stage

    @property
    def root(self) -> Usd.Prim:
        return self._stage.GetPseudoRoot()

    def children(self, node: Usd.Prim, /) -> Sequence[tuple[str, Usd.Prim]]:
        prims = node.GetFilteredChildren(Usd.TraverseInstanceProxies())
        return [(prim.GetName(), prim) for prim in prims]

    def find(self, path: str, /) -> Usd.Prim | None:
        prim = self._stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
        return prim if prim and prim.IsActive() and prim.IsLoaded() and prim.IsDefined() else None


def find_roots(stage: Usd.Stage, pattern: str | None) -> EnvironmentRoots:
    """Environment roots of a stage.

    Args:
        stage: The stage.
        pattern: Pattern of root prims, None for the whole stage.

    Raises:
        StageError: If the pattern matches nothing, or a root is inside another.
    """
    if pattern is None:
        return EnvironmentRoots((), np.zeros((1, 3)), np.zeros(1, np.int64), np.zeros(1, np.int64))
    hits = dict.fromkeys(hit.path for hit in match(pattern, _Prims(stage)))
    if not hits:
        raise StageError(f"environments={pattern!r} matches no prim of the stage")
    paths = tuple(Sdf.Path(hit) for hit in hits)
    known = set(paths)
    for path in paths:
        for ancestor in path.GetParentPath().GetPrefixes():
            if ancestor in known:
                raise StageError(f"environments={pattern!r}: {path} is inside the environment {ancestor}")
    cache = UsdGeom.XformCache()
    prims = [stage.GetPrimAtPath(path) for path in paths]
    worlds = np.array([np.array(world_transform(cache, prim)) for prim in prims]).reshape(-1, 4, 4)
    finite = np.isfinite(worlds).all(axis=(1, 2))
    if not finite.all():
        raise StageError(f"{paths[int(np.argmin(finite))]}: world transform is not finite")
    if len(paths) > 1 and _independent(stage, known):
        source, numbers = _sources(prims, worlds[:, :3, :3])
    else:
        source = numbers = np.arange(len(paths))
    return EnvironmentRoots(paths, worlds[:, 3, :3].copy(), source, numbers)


def _independent(stage: Usd.Stage, roots: set[Sdf.Path]) -> bool:
    """Whether nothing outside of the roots can make equal roots differ."""
    if stage.GetLoadRules() != Usd.StageLoadRules.LoadAll():
        return False
    if stage.GetPopulationMask() != Usd.StagePopulationMask.All():
        return False
    above = {ancestor for root in roots for ancestor in root.GetPrefixes()}
    iterator = iter(Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
    for prim in iterator:
        if prim.GetPath() in roots:
            iterator.PruneChildren()
        elif _reaches(prim, roots, above):
            return False
    return True


def _reaches(prim: Usd.Prim, roots: set[Sdf.Path], above: set[Sdf.Path]) -> bool:
    """Whether a joint or a collision group outside of the roots says something about prims inside of them."""
    if prim.IsA(UsdPhysics.Joint) or is_coupling_joint(str(prim.GetTypeName())):
        relationships = prim.GetAuthoredRelationships()
    elif prim.IsA(UsdPhysics.CollisionGroup):
        for name in ("includeRoot", "membershipExpression"):
            attribute = prim.GetAttribute(f"collection:colliders:{name}")
            if attribute and attribute.HasAuthoredValue():
                return True
        relationships = prim.GetAuthoredRelationships()
    else:
        return False
    for relationship in relationships:
        for target in relationship.GetTargets():
            path = target.GetPrimPath()
            if path in above or any(ancestor in roots for ancestor in path.GetPrefixes()):
                return True
    return False


def _sources(
    prims: Sequence[Usd.Prim], turns: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each root the first one that holds the same up to masses and sizes, and the first that holds the same."""
    source, numbers = np.arange(len(prims)), np.arange(len(prims))
    same: dict[tuple[object, ...], int] = {}
    alike: dict[tuple[object, ...], int] = {}
    for row, prim in enumerate(prims):
        content = _content(prim)
        key = (turns[row].tobytes(), *content)
        first = numbers[row] = same.setdefault(key, row)
        if first != row:
            source[row] = source[first]
            continue
        key = (turns[row].tobytes(), *((layer, _NUMBERS.sub(r"\1", text)) for layer, text in content))
        if key not in alike and _may_vary(prim):
            alike[key] = row
        source[row] = alike.get(key, row)
        if row + 1 == _SAMPLE and np.array_equal(source[:_SAMPLE], np.arange(_SAMPLE)):
            break
    return source, numbers


def _may_vary(root: Usd.Prim) -> bool:
    """Whether the numbers that `_NUMBERS` leaves out are nothing but masses and sizes below this root."""
    cache = UsdGeom.XformCache()
    for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
        kind = str(prim.GetTypeName())
        if kind.endswith("_1") or kind.startswith(("Physx", "OmniPhysics")):
            return False
        schemas = " ".join(prim.GetPrimTypeInfo().GetAppliedAPISchemas())
        if any(word in schemas for word in ("Material", "Deformable", "Particle")):
            return False
        if kind == "Cube":
            # The corners of a sheared one become a mesh.
            linear = np.array(world_transform(cache, prim))[:3, :3]
            gram = linear @ linear.T
            if np.abs(gram - np.diag(np.diagonal(gram))).max() > 1e-6 * np.abs(gram).max():
                return False
    return True


def _content(prim: Usd.Prim) -> tuple[tuple[str, str], ...]:
    """What each layer says at and below a prim, targets inside relative to it, its own transform left out."""
    return tuple((str(spec.layer.identifier), _text(spec)) for spec in prim.GetPrimStack())


def _text(spec: Sdf.PrimSpec) -> str:
    """Text of a spec, wherever it stands."""
    _, _, text = str(spec.GetAsText()).partition("\n")
    found = _ROOT_TRANSFORM.findall(text)
    if any(line.rstrip().endswith(("{", "(", "[")) for line in found):
        return _copied(spec)
    if found:
        text = _ROOT_TRANSFORM.sub("", text)
    path = str(spec.path.StripAllVariantSelections())
    for end in ("/", ">", "."):
        text = text.replace(f"<{path}{end}", f"<{_COPY}{end}")
    return f"{spec.specifier} {spec.typeName}\n{text}"


def _copied(spec: Sdf.PrimSpec) -> str:
    """Text of a copy of a spec without its transform; slower."""
    copy = Sdf.Layer.CreateAnonymous(".usda")
    Sdf.CopySpec(spec.layer, spec.path, copy, _COPY)
    root = copy.GetPrimAtPath(_COPY)
    for attribute in list(root.properties):
        if attribute.name.startswith("xformOp"):
            root.RemoveProperty(attribute)
    return str(copy.ExportToString())
