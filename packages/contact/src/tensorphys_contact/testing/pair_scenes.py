"""Random pairs of convex shapes in several regimes, and their errors against :mod:`.truth`.

Needs the extra ``peers``.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_contact.build import build_model
from tensorphys_contact.contacts import create_contacts
from tensorphys_contact.errors import ShapeError
from tensorphys_contact.hulls import Hull, cook_hull
from tensorphys_contact.model import Materials
from tensorphys_contact.pipeline import collide
from tensorphys_contact.shapes import ShapeType

from .truth import Solid, Truth, enclosed_depth, enclosed_distance, peer_separation, reach_along

Vector = npt.NDArray[np.float64]

REGIMES: Final = ("apart", "touching", "deep", "degenerate", "far", "ratio 1:100", "ratio 1:10000")
"""``degenerate``: needles and plates, axes at right angles; ``far``: 10⁴ from the origin."""

_RATIO: Final = {"ratio 1:100": 1e-2, "ratio 1:10000": 1e-4}
_DEPTH_TOLERANCE: Final = 1e-4
_SPACINGS: Final = 4.0
# Twice the width of an enclosure, in sizes of the smaller shape.
_UNTOLD: Final = 2e-9


@dataclasses.dataclass(frozen=True)
class PairErrors:
    """Worst errors of some pairs of shapes, in what is allowed.

    The allowed depth error is 1e-4 of the smaller shape's size and four float32 spacings of the
    larger one's; the allowed angle is that over the smaller size.

    Attributes:
        count: Pairs with a contact.
        missed: Pairs within the contact offset and without a contact, or the other way round.
        depth: Largest depth error over the allowed one.
        normal: Largest angle over the allowed one, where the direction is unique.
        shared: Pairs whose direction is not unique: another one separates as well within rounding
            or within the width of the enclosure, or a rounding of the pose turns it.
    """

    count: int
    missed: int
    depth: float
    normal: float
    shared: int


@dataclasses.dataclass(frozen=True)
class PairScene:
    """Pairs of shapes, one environment each.

    Attributes:
        kinds: Types of the two shapes.
        size: Sizes, float32 [count, 2, 3].
        pose: Poses, float32 [count, 2, 7].
        hulls: Two for each pair, used where a kind is a hull.
    """

    kinds: tuple[ShapeType, ShapeType]
    size: npt.NDArray[np.float32]
    pose: npt.NDArray[np.float32]
    hulls: list[Hull]

    def solids(self, pair: int) -> tuple[Solid, Solid]:
        """The two shapes in float64, moved so that shape 0 is at the origin."""
        pose = self.pose[pair].astype(np.float64)
        pose[1, :3] -= pose[0, :3]
        pose[0, :3] = 0.0
        first, second = (
            Solid(
                kind,
                self.size[pair, s].astype(np.float64),
                pose[s],
                self.hulls[2 * pair + s] if kind == ShapeType.CONVEX_HULL else None,
            )
            for s, kind in enumerate(self.kinds)
        )
        return first, second


def diameter(solid: Solid) -> float:
    """Diameter of a ball around a shape [length]."""
    r, h = float(solid.size[0]), float(solid.size[1])
    if solid.hull is not None:
        corner = solid.corners()
        return 2.0 * float(np.linalg.norm(corner - corner.mean(axis=0), axis=1).max())
    return (
        2.0
        * {
            ShapeType.SPHERE: r,
            ShapeType.CAPSULE: r + h,
            ShapeType.BOX: float(np.linalg.norm(solid.size)),
            ShapeType.CYLINDER: float(np.hypot(r, h)),
            ShapeType.CONE: float(np.hypot(r, h)),
            ShapeType.ELLIPSOID: float(solid.size.max()),
        }[solid.kind]
    )


def random_pairs(kinds: tuple[ShapeType, ShapeType], regime: str, count: int, seed: int = 0) -> PairScene:
    """Draw pairs that touch at a random place of both surfaces, moved apart or together.

    Half of them touch along a face normal or an axis of one shape.

    Raises:
        ShapeError: an unknown regime.
    """
    if regime not in REGIMES:
        raise ShapeError(f"unknown regime {regime!r}; known: {', '.join(REGIMES)}")
    rng = np.random.default_rng([seed, *kinds, REGIMES.index(regime)])
    size = rng.uniform(0.1, 0.5, (count, 2, 3))
    points = [
        rng.uniform(-1, 1, (int(rng.integers(6, 30)), 3)) * rng.uniform(0.1, 0.5, 3) for _ in range(2 * count)
    ]
    if regime == "degenerate":
        size[::3, :, 1] *= 0.02
        size[1::3, :, 0] *= 0.02
    small = rng.integers(0, 2, count)
    size[np.arange(count), small] *= _RATIO.get(regime, 1.0)
    for k in range(count):
        points[2 * k + small[k]] = points[2 * k + small[k]] * _RATIO.get(regime, 1.0)
    pose = np.zeros((count, 2, 7))
    pose[..., 3:] = rng.normal(size=(count, 2, 4))
    if regime == "degenerate":
        pose[:, 1, 3:] = [_quarter_turned(q, rng) for q in pose[:, 0, 3:]]
    pose[..., 3:] /= np.linalg.norm(pose[..., 3:], axis=-1, keepdims=True)
    scene = PairScene(kinds, size.astype(np.float32), pose.astype(np.float32), [cook_hull(p) for p in points])
    for k in range(count):
        pose[k, 1, :3] = placement(*scene.solids(k), regime, k, rng)
    if regime == "far":
        place = rng.normal(size=(count, 1, 3))
        pose[..., :3] += 1e4 * place / np.linalg.norm(place, axis=-1, keepdims=True)
    return dataclasses.replace(scene, pose=pose.astype(np.float32))


def _quarter_turned(q: Vector, rng: np.random.Generator) -> Vector:
    """A quaternion turned by quarter turns about its own axes."""
    result = q
    for axis in rng.integers(0, 3, 2):
        v, w = result[:3], result[3]
        e = np.eye(3)[axis]
        result = np.append(w * e + v + np.cross(v, e), w - v @ e)
    return result


def placement(first: Solid, second: Solid, regime: str, k: int, rng: np.random.Generator) -> Vector:
    """Place of the second shape where it touches the first one, or is moved apart or together."""
    n = rng.normal(size=3)
    if regime == "degenerate" and k % 2:
        n = first.rotation[:, int(rng.integers(0, 3))].copy()
    elif k % 2:
        normals = (first if k % 4 == 1 else second).special_directions()
        n = normals[rng.integers(len(normals))].copy()
    n /= np.linalg.norm(n)
    spread = 0.02 if k % 3 else 0.0

    def spot(solid: Solid, d: Vector) -> Vector:
        return np.asarray(rng.dirichlet([0.7] * 4) @ solid.farthest(d + spread * rng.normal(size=(4, 3))))

    least = min(diameter(first), diameter(second))
    gap = least * (rng.uniform(0.001, 0.3) if regime == "apart" else rng.uniform(-0.05, 0.05))
    place = spot(first, n) - spot(second, -n)
    moved = dataclasses.replace(second, pose=np.concatenate([place, second.pose[3:]]))
    place = place + n * (gap - reach_along(first, moved, -n))
    return np.asarray(place * (rng.uniform(0.0, 0.9) if regime == "deep" else 1.0), dtype=np.float64)


def deepest_contacts(scene: PairScene, offset: Vector, device: str) -> tuple[Vector, Vector]:
    """Least separation of each pair (infinite without contact) and its normal, by the pipeline."""
    count = len(scene.size)
    is_hull = np.tile([kind == ShapeType.CONVEX_HULL for kind in scene.kinds], count)
    model = build_model(
        shape_type=np.tile(scene.kinds, count),
        shape_body=np.arange(2 * count),
        shape_pose=np.tile([0, 0, 0, 0, 0, 0, 1.0], (2 * count, 1)),
        shape_size=scene.size.reshape(-1, 3),
        shape_hull=np.where(is_hull, np.arange(2 * count), -1),
        hulls=scene.hulls,
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, dtype=int),
        materials=Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.repeat(0.5 * offset, 2),
        rest_offset=np.zeros(2 * count),
        device=device,
    )
    contacts = create_contacts(model)
    body = wp.array(scene.pose.reshape(-1, 7), dtype=wp.transform, device=device)
    collide(model, body, contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    separation, normal = contacts.separation.numpy(), contacts.normal.numpy()
    least, way = np.full(count, np.inf), np.zeros((count, 3))
    for k in np.flatnonzero(used):
        slot = start[k] + int(separation[start[k] : start[k] + used[k]].argmin())
        least[k] = separation[slot]
        way[k] = normal[slot] / np.linalg.norm(normal[slot].astype(np.float64))
    return least, way


def pair_errors(scene: PairScene, device: str) -> PairErrors:
    """Compare the pipeline with the truth; see :class:`PairErrors`."""
    solids = [scene.solids(k) for k in range(len(scene.size))]
    small = np.array([min(diameter(a), diameter(b)) for a, b in solids])
    least, way = deepest_contacts(scene, 0.5 * small, device)
    errors = [_judge(a, b, float(least[k]), way[k], 0.5 * small[k], k) for k, (a, b) in enumerate(solids)]
    found = [e for e in errors if e is not None and e.count]
    return PairErrors(
        count=len(found),
        missed=sum(e.missed for e in errors if e is not None),
        depth=max((e.depth for e in found), default=0.0),
        normal=max((e.normal for e in found), default=0.0),
        shared=sum(e.shared for e in found),
    )


def angle_between(a: Vector, b: Vector) -> float:
    """Angle of two vectors [rad]."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def _judge(a: Solid, b: Solid, least: float, way: Vector, offset: float, seed: int) -> PairErrors | None:
    small, large = sorted((diameter(a), diameter(b)))
    allowed = allowed_error(small, large)
    truth = _cheap_truth(a, b)
    if not np.isfinite(least):
        return None if truth.most > offset - allowed else PairErrors(0, 1, 0.0, 0.0, 0)
    depth, angle = error_of(truth, least, way)
    # Doubted truths are enclosed anew: coal gives up at times, or ends too early.
    if depth > allowed or angle > allowed / small:
        truth = _enclosed_truth(a, b, way, small)
        depth, angle = error_of(truth, least, way)
    shared = 0
    if angle > allowed / small and is_shared(a, b, truth, way, small, large, seed):
        shared, angle = 1, 0.0
    return PairErrors(1, 0, depth / allowed, angle * small / allowed, shared)


def allowed_error(small: float, large: float) -> float:
    """Allowed error of a depth, by the sizes of the smaller and the larger shape [length]."""
    return _DEPTH_TOLERANCE * small + _SPACINGS * float(np.spacing(np.float32(large)))


def as_good(small: float, large: float) -> float:
    """Difference of two separations that does not tell which of two directions is the deeper [length]."""
    return _SPACINGS * float(np.spacing(np.float32(large))) + 1e-5 * small


def error_of(truth: Truth, least: float, way: Vector) -> tuple[float, float]:
    """Errors of a separation [length] and of a normal [rad]."""
    return max(truth.least - least, least - truth.most, 0.0), angle_between(way, truth.normal)


def _cheap_truth(a: Solid, b: Solid) -> Truth:
    distance, normal = peer_separation(a, b)
    return Truth(distance, distance, normal)


def _enclosed_truth(a: Solid, b: Solid, way: Vector, small: float) -> Truth:
    if reach_along(a, b, way) > 0.0:
        return enclosed_distance(a, b, 1e-10 * small, way)
    truth = enclosed_depth(a, b, 1e-9 * small, way[None])
    if truth.least > 0.0:  # apart, though not along the given direction
        return enclosed_distance(a, b, 1e-10 * small, truth.normal)
    return truth


def is_shared(a: Solid, b: Solid, truth: Truth, way: Vector, small: float, large: float, seed: int) -> bool:
    """Whether rounding of the poses turns the true direction, or leaves another one as good."""
    spacing = float(np.spacing(np.float32(large)))
    rng = np.random.default_rng(seed)
    # A normal is known to the rounding of its components.
    around = way + np.concatenate([np.zeros((1, 3)), rng.uniform(-6e-8, 6e-8, (64, 3))])
    loss = truth.most - max(reach_along(a, b, d) for d in around)
    if loss < _UNTOLD * small:  # the enclosure itself does not tell the two apart
        return True
    another = angle_between(way, truth.normal) > 0.02 or large > 100.0 * small
    if another and loss < as_good(small, large):
        return True
    allowed = _DEPTH_TOLERANCE + _SPACINGS * spacing / small
    for _ in range(6):
        shift = np.concatenate([rng.normal(size=3) * spacing, rng.normal(size=4) * 6e-8])
        near = dataclasses.replace(b, pose=b.pose + shift)
        moved = _enclosed_truth(a, near, truth.normal, small)
        if 4.0 * angle_between(moved.normal, truth.normal) > allowed:
            return True
    return False
