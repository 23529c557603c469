"""What any contact pipeline must do with spheres and planes, as a class of tests.

A package that offers a pipeline of its own subclasses :class:`ContactPipelineBattery`
in its tests and overrides :meth:`~ContactPipelineBattery.solve`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_contact.build import build_model
from tensorphys_contact.contacts import create_contacts
from tensorphys_contact.model import Materials
from tensorphys_contact.pairs import candidate_pairs
from tensorphys_contact.pipeline import collide
from tensorphys_contact.shapes import ShapeType

Array = npt.NDArray[np.float64]
_IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclasses.dataclass(frozen=True)
class PipelineScene:
    """Shapes of some environments, one shape a body or static (body −1).

    Shapes are sorted by environment, shared static ones (environment −1) come last.
    Moving shapes sit at their body origin; ``pose`` is then the body pose.
    """

    shape_type: Sequence[int]
    shape_size: Sequence[tuple[float, ...]]
    pose: Sequence[tuple[float, ...]]
    static: list[bool]
    environment: list[int]
    environment_count: int = 1
    contact_offset: float = 0.01
    rest_offset: float = 0.0
    pairs: list[tuple[int, int]] | None = None

    @property
    def body(self) -> list[int]:
        """Flat body of each shape, −1 static."""
        moving = iter(range(len(self.static)))
        return [-1 if fixed else next(moving) for fixed in self.static]


@dataclasses.dataclass(frozen=True)
class PipelineResult:
    """Contacts of all environments on the host, slots in use only, in order."""

    environment: npt.NDArray[np.int32]
    shape0: npt.NDArray[np.int32]
    shape1: npt.NDArray[np.int32]
    body0: npt.NDArray[np.int32]
    body1: npt.NDArray[np.int32]
    anchor0: npt.NDArray[np.float32]
    anchor1: npt.NDArray[np.float32]
    normal: npt.NDArray[np.float32]
    separation: npt.NDArray[np.float32]
    key: npt.NDArray[np.int64]

    def world_points(self, scene: PipelineScene) -> tuple[Array, Array]:
        """Anchors of both shapes in the environment frame."""
        body_pose = [p for p, fixed in zip(scene.pose, scene.static, strict=True) if not fixed]
        points = []
        for bodies, anchors in ((self.body0, self.anchor0), (self.body1, self.anchor1)):
            rows = [
                _transform(body_pose[b] if b >= 0 else _IDENTITY, a)
                for b, a in zip(bodies, anchors, strict=True)
            ]
            points.append(np.array(rows).reshape(-1, 3))
        return points[0], points[1]


def run_pipeline(scene: PipelineScene, device: str) -> PipelineResult:
    """Run the pipeline of this package on a scene."""
    count = len(scene.shape_type)
    body = scene.body
    pairs = candidate_pairs(body, scene.environment) if scene.pairs is None else scene.pairs
    local = [pose if fixed else _IDENTITY for pose, fixed in zip(scene.pose, scene.static, strict=True)]
    model = build_model(
        shape_type=scene.shape_type,
        shape_body=body,
        shape_pose=local,
        shape_size=scene.shape_size,
        shape_environment=scene.environment,
        pairs=pairs,
        environment_count=scene.environment_count,
        shape_material=np.zeros(count, dtype=np.int64),
        materials=Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(count, scene.contact_offset),
        rest_offset=np.full(count, scene.rest_offset),
        device=device,
    )
    moving = [p for p, fixed in zip(scene.pose, scene.static, strict=True) if not fixed]
    contacts = create_contacts(model)
    body_pose = wp.array(np.array(moving, dtype=np.float32), dtype=wp.transform, device=device)
    collide(model, body_pose, contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    slots = np.concatenate(
        [np.arange(s, s + n, dtype=np.int64) for s, n in zip(start[:-1], used, strict=True)]
    )
    return PipelineResult(
        **{
            field.name: getattr(contacts, field.name).numpy()[slots]
            for field in dataclasses.fields(PipelineResult)
        }
    )


class ContactPipelineBattery:
    """Closed forms of spheres and planes that hold for every contact pipeline."""

    relative_tolerance: float = 1.0e-6

    def solve(self, scene: PipelineScene, device: str) -> PipelineResult:
        """Run the pipeline under test; override."""
        return run_pipeline(scene, device)

    def _spheres(self, distance: float, **options: float) -> PipelineScene:
        return PipelineScene(
            shape_type=[ShapeType.SPHERE, ShapeType.SPHERE],
            shape_size=[(0.5, 0.0, 0.0), (0.25, 0.0, 0.0)],
            pose=[_IDENTITY, (0.0, distance, 0.0, 0.0, 0.0, 0.0, 1.0)],
            static=[False, False],
            environment=[0, 0],
            **options,  # type: ignore[arg-type]
        )

    def test_two_spheres(self, device: str) -> None:
        """Depth, normal from shape 1 to shape 0, and anchors on both surfaces."""
        found = self.solve(self._spheres(0.7), device)
        assert len(found.separation) == 1
        np.testing.assert_allclose(found.separation, [-0.05], atol=self.relative_tolerance)
        np.testing.assert_allclose(found.normal, [[0.0, -1.0, 0.0]], atol=self.relative_tolerance)
        np.testing.assert_allclose(found.anchor0, [[0.0, 0.5, 0.0]], atol=self.relative_tolerance)
        np.testing.assert_allclose(found.anchor1, [[0.0, -0.25, 0.0]], atol=self.relative_tolerance)

    def test_a_gap_within_the_offsets_is_reported_with_its_size(self, device: str) -> None:
        """Separation is not clamped at zero."""
        found = self.solve(self._spheres(0.765), device)
        np.testing.assert_allclose(found.separation, [0.015], atol=self.relative_tolerance)

    def test_nothing_beyond_the_offsets(self, device: str) -> None:
        """No contact where the gap exceeds the sum of the contact offsets."""
        assert len(self.solve(self._spheres(0.7701), device).separation) == 0

    def test_sphere_on_a_static_plane(self, device: str) -> None:
        """A plane is body −1 and its anchor lies in the environment frame."""
        scene = PipelineScene(
            shape_type=[ShapeType.SPHERE, ShapeType.PLANE],
            shape_size=[(0.5, 0.0, 0.0), (0.0, 0.0, 0.0)],
            pose=[(3.0, 2.0, 1.375, 0.5, 0.5, 0.5, 0.5), (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)],
            static=[False, True],
            environment=[0, 0],
        )
        found = self.solve(scene, device)
        assert found.body1.tolist() == [-1]
        np.testing.assert_allclose(found.separation, [-0.125], atol=self.relative_tolerance)
        np.testing.assert_allclose(found.normal, [[0.0, 0.0, 1.0]], atol=self.relative_tolerance)
        np.testing.assert_allclose(found.anchor1, [[3.0, 2.0, 1.0]], atol=self.relative_tolerance)
        # The body frame is turned: world −z is its −y (q maps y to z).
        np.testing.assert_allclose(found.anchor0, [[0.0, -0.5, 0.0]], atol=self.relative_tolerance)

    def test_separation_is_the_distance_of_the_anchors_along_the_normal(self, device: str) -> None:
        """separation = normal · (p0 − p1) in every contact."""
        scene = self._spheres(0.74)
        found = self.solve(scene, device)
        p0, p1 = found.world_points(scene)
        along = ((p0 - p1) * found.normal).sum(axis=1)
        np.testing.assert_allclose(along, found.separation, atol=2.0 * self.relative_tolerance)

    def test_environments_never_meet(self, device: str) -> None:
        """Equal places in two environments give no contact between them."""
        scene = PipelineScene(
            shape_type=[ShapeType.SPHERE, ShapeType.SPHERE, ShapeType.PLANE],
            shape_size=[(0.5, 0.0, 0.0), (0.5, 0.0, 0.0), (0.0, 0.0, 0.0)],
            pose=[(0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0)] * 2 + [_IDENTITY],
            static=[False, False, True],
            environment=[0, 1, -1],
            environment_count=2,
        )
        found = self.solve(scene, device)
        assert found.environment.tolist() == [0, 1]
        assert found.shape1.tolist() == [2, 2]
        assert found.separation[0] == found.separation[1]

    def test_order_and_keys_repeat(self, device: str) -> None:
        """The same input gives the same slots and keys, ascending in each environment."""
        scene = PipelineScene(
            shape_type=[ShapeType.SPHERE] * 4,
            shape_size=[(0.5, 0.0, 0.0)] * 4,
            pose=[(0.5 * k, 0.25 * k, 0.0, 0.0, 0.0, 0.0, 1.0) for k in range(4)],
            static=[False] * 4,
            environment=[0] * 4,
        )
        first, second = self.solve(scene, device), self.solve(scene, device)
        assert len(first.key) >= 3
        assert (np.diff(first.key) > 0).all()
        for field in dataclasses.fields(PipelineResult):
            assert np.array_equal(getattr(first, field.name), getattr(second, field.name))


def _transform(pose: tuple[float, ...], point: npt.NDArray[np.float32]) -> Array:
    q = np.asarray(pose[3:], dtype=np.float64)
    p = np.asarray(point, dtype=np.float64)
    axis, w = q[:3], q[3]
    turned = p + 2.0 * np.cross(axis, np.cross(axis, p) + w * p)
    result: Array = np.asarray(pose[:3], dtype=np.float64) + turned
    return result
