"""Attachments of a scene: which nodes are held where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine.findings import Findings
from tensorphys_engine.numbering import Numbering
from tensorphys_engine.shapes import shape_path
from tensorphys_engine.soft_bodies import SoftBodies
from tensorphys_scene import SoftData, SoftKind, Template

_NODE_ATTACHMENT = "OmniPhysicsVtxXformAttachment"
_OLD_ATTACHMENT = "PhysxPhysicsAttachment"
_AUTOMATIC = "PhysxAutoAttachmentAPI"
# A point of an attachment belongs to a node that is not further away than this part of the mean edge.
_SNAP = 0.5
# Nodes on a surface overlap it, to this part of the mean edge.
_TOUCH = 1e-3


@dataclass(frozen=True)
class _Ends:
    """A prim's two ends: the deformable and what it hangs on, with points in their frames where given."""

    soft: str
    other: str
    nodes: npt.NDArray[np.int64] | None
    soft_points: npt.NDArray[np.float64] | None
    other_points: npt.NDArray[np.float64] | None
    stiffness: float
    damping: float
    overlap: float | None = None
    """Distance from the surface of the other end within which nodes are attached by themselves [length]."""


def attach_all(soft: SoftBodies, numbering: Numbering, link_pose: Any, findings: Findings) -> None:
    """Attach nodes as the prims of a scene say.

    Args:
        soft: Deformables at their start.
        numbering: Flat numbers.
        link_pose: Poses of the links at the start, transform [links].
        findings: Takes attachments of kinds that are not simulated.
    """
    scene, poses = numbering.scene, link_pose.numpy()
    overlaps = _Overlaps(soft, numbering, link_pose)
    uses = dict.fromkeys(range(len(scene.templates)), 0)
    for environment in range(scene.environments.count):
        t = int(scene.environments.template[environment])
        template, prefix = scene.templates[t], scene.environments.path[environment]
        for row in np.flatnonzero(template.soft_prims.kind == SoftKind.ATTACHMENT):
            data = template.soft_prims.data[row]
            if not bool(
                data.values.get("omniphysics:attachmentEnabled", data.values.get("attachmentEnabled", True))
            ):
                continue
            path = prefix + template.soft_prims.path[row]
            ends = _ends(template, data)
            if ends is None:
                if uses[t] == 0:
                    kind = data.schemas[0] if data.schemas else "attachment"
                    findings.omit("attachments, left out", path, f"{kind} is not simulated; left out")
                continue
            given = (soft, numbering, template, t, environment, uses[t])
            _attach(*given, ends, poses, overlaps, path, findings)
        uses[t] += 1


class _Overlaps:
    """Nodes that lie in or on the shapes of a prim; the query is made once for each distance."""

    def __init__(self, soft: SoftBodies, numbering: Numbering, link_pose: Any) -> None:
        self._soft, self._numbering, self._link_pose = soft, numbering, link_pose
        self._found: dict[float, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = {}

    def nodes(self, body: int, environment: int, other: str, distance: float) -> npt.NDArray[np.int64]:
        """Nodes of a body, in its own numbering."""
        distance = max(distance, 0.0) + _TOUCH * self._soft.bodies[body].edge
        if distance not in self._found:
            self._found[distance] = self._soft.coupling.near_shapes(self._link_pose, distance)
        count, shape = (array[self._soft.nodes_of(body)] for array in self._found[distance])
        layout = self._numbering.shapes
        own = range(int(layout.start[environment]), int(layout.start[environment + 1]))
        candidates = [*own, *range(layout.total, self._numbering.shape_count)]
        paths = {s: shape_path(self._numbering, s) for s in candidates}
        wanted = [s for s, path in paths.items() if path == other or path.startswith(other + "/")]
        named = np.isin(shape, wanted) & (np.arange(shape.shape[1]) < count[:, None])
        return np.flatnonzero(named.any(axis=1))


def _ends(template: Template, data: SoftData) -> _Ends | None:
    """Ends of an attachment of nodes to something rigid; None for others."""
    kinds = (SoftKind.VOLUME_BODY, SoftKind.SURFACE_BODY, SoftKind.GEOMETRY)

    def is_soft(path: str) -> bool:
        table = template.soft_prims
        return any(p == path and int(k) in kinds for p, k in zip(table.path, table.kind, strict=True))

    def first(name: str) -> str:
        return next(iter(data.targets.get(name, ())), "")

    def points(name: str) -> Any:
        value = data.values.get(name)
        return None if value is None or not len(value) else np.asarray(value, float).reshape(-1, 3)

    if _NODE_ATTACHMENT in data.schemas:
        nodes = np.asarray(data.values.get("omniphysics:vtxIndicesSrc0", ()), np.int64).reshape(-1)
        source = first("omniphysics:src0")
        if not is_soft(source) or not nodes.size:
            return None
        given = points("omniphysics:localPositionsSrc1")
        stiffness = float(data.values.get("omniphysics:stiffness", math.inf))
        damping = float(data.values.get("omniphysics:damping", 0.0))
        return _Ends(source, first("omniphysics:src1"), nodes, None, given, stiffness, damping)
    if _OLD_ATTACHMENT in data.schemas:
        sides = [(first("actor0"), points("points0")), (first("actor1"), points("points1"))]
        if not is_soft(sides[0][0]):
            sides.reverse()
        (source, soft_points), (other, other_points) = sides
        if not is_soft(source) or is_soft(other):
            return None
        if soft_points is None and other_points is None:
            automatic = _AUTOMATIC in data.schemas and bool(
                data.values.get("physxAutoAttachment:enableDeformableVertexAttachments", True)
            )
            if not automatic or not other:
                return None
            offset = float(data.values.get("physxAutoAttachment:deformableVertexOverlapOffset", 0.0))
            return _Ends(source, other, None, None, None, math.inf, 0.0, overlap=offset)
        return _Ends(source, other, None, soft_points, other_points, math.inf, 0.0)
    return None


def _attach(
    soft: SoftBodies,
    numbering: Numbering,
    template: Template,
    t: int,
    environment: int,
    use: int,
    ends: _Ends,
    link_pose: Any,
    overlaps: _Overlaps,
    path: str,
    findings: Findings,
) -> None:
    prefix = numbering.scene.environments.path[environment]
    source = prefix + ends.soft
    body = next((b for b, p in enumerate(soft.paths) if source == p or source.startswith(p + "/")), -1)
    if body < 0:
        findings.omit("attachments, left out", path, f"{source} is no simulated deformable; left out")
        return
    link, pose = _other(numbering, template, t, use, ends.other, link_pose)
    start = soft.model.node_start[body]
    places = soft.model.rest_points.numpy()[soft.nodes_of(body)]
    wanted = None if ends.other_points is None else _to_environment(pose, ends.other_points)
    nodes = ends.nodes
    if ends.overlap is not None:
        nodes = overlaps.nodes(body, environment, prefix + ends.other, ends.overlap)
        findings.note(
            path,
            f"{len(nodes)} nodes of {source} lie in {prefix + ends.other} and are attached; points of its "
            "surface inside of the deformable are not",
        )
    if nodes is None:
        frame = numbering.columns(t, "soft_prims.transform")
        row = list(template.soft_prims.path).index(ends.soft)
        matrix = frame[min(use, len(frame) - 1)][row]
        soft_points = ends.soft_points
        at = wanted if soft_points is None else soft_points @ matrix[:3, :3].T + matrix[:3, 3]
        assert at is not None
        apart = np.linalg.norm(places[None] - at[:, None], axis=2)
        nodes = apart.argmin(axis=1)
        kept = apart.min(axis=1) <= _SNAP * soft.bodies[body].edge
        if not kept.all():
            findings.note(
                path, f"{int((~kept).sum())} of its points are at no node of {source}; not attached"
            )
        nodes = nodes[kept]
        wanted = None if wanted is None or len(wanted) != len(kept) else wanted[kept]
    if nodes.size and (nodes.min() < 0 or nodes.max() >= len(places)):
        findings.omit(
            "attachments, left out", path, f"it names nodes beyond the {len(places)} of {source}; left out"
        )
        return
    # Without points on the other side, nodes are held where they are.
    held = places[nodes] if wanted is None or len(wanted) != len(nodes) else wanted
    anchors = held if link < 0 else _to_local(np.asarray(link_pose[link], float), held)
    soft.attach(start + nodes, anchors, link=link, stiffness=ends.stiffness, damping=ends.damping)


def _other(
    numbering: Numbering, template: Template, t: int, use: int, other: str, link_pose: Any
) -> tuple[int, npt.NDArray[np.float64]]:
    """Flat link that a prim belongs to, −1 for the world, and the pose of its frame."""
    identity = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    owners = [
        (len(path), row)
        for row, path in enumerate(template.bodies.path)
        if other and (other == path or other.startswith(path + "/"))
    ]
    if not owners:
        return -1, identity
    local = int(numbering.plans[t].body_link[max(owners)[1]])
    if local < 0:
        return -1, identity
    link = int(np.ravel(numbering.links_of(t, local))[use])
    return link, np.asarray(link_pose[link], float)


def _rotate(q: npt.NDArray[np.float64], v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    axis = np.broadcast_to(q[:3], v.shape)
    first = np.cross(axis, v)
    return np.asarray(v + 2.0 * (q[3] * first + np.cross(axis, first)))


def _to_environment(
    pose: npt.NDArray[np.float64], points: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return _rotate(pose[3:], points) + pose[:3]


def _to_local(pose: npt.NDArray[np.float64], points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return _rotate(pose[3:] * [-1.0, -1.0, -1.0, 1.0], points - pose[:3])
