"""The pipeline against its own conformance battery, and its bookkeeping."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact._layout import LARGE_ENVIRONMENT
from tensorphys_contact.testing import ContactPipelineBattery

IDENTITY = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


class TestConformance(ContactPipelineBattery):
    """The battery that ships for other pipelines."""


def spheres_on_plane(count: int, environments: int, device: str, **options: object) -> tc.Model:
    """Each environment: touching spheres in a row on a shared plane."""
    shapes = count * environments + 1
    given: dict[str, object] = {
        "shape_type": [tc.ShapeType.SPHERE] * (shapes - 1) + [tc.ShapeType.PLANE],
        "shape_body": [*range(shapes - 1), -1],
        "shape_pose": [IDENTITY] * shapes,
        "shape_size": [[0.5, 0, 0]] * (shapes - 1) + [[0, 0, 0]],
        "shape_environment": np.append(np.repeat(np.arange(environments), count), -1),
        "environment_count": environments,
        "shape_material": [0] * shapes,
        "materials": tc.Materials([0.5], [0.4], [0.1], [0], [0]),
        "contact_offset": [0.01] * shapes,
        "rest_offset": [0.001] * shapes,
        "device": device,
    }
    given.update(options)
    if "pairs" not in given:
        given["pairs"] = tc.candidate_pairs(given["shape_body"], given["shape_environment"])
    return tc.build_model(**given)  # type: ignore[arg-type]


def row_poses(count: int, environments: int, device: str, depth: float = 0.01) -> wp.array:
    """Neighbouring spheres overlap by ``depth``, deeper towards the end of the row."""
    x = np.arange(count) * (1.0 - depth) - 0.5 * depth * np.arange(count) ** 2 / count
    pose = np.tile([0.0, 0.0, 0.495, 0.0, 0.0, 0.0, 1.0], (environments, count, 1))
    pose[..., 0] = x
    return wp.array(pose.reshape(-1, 7).astype(np.float32), dtype=wp.transform, device=device)


def used(contacts: tc.Contacts, name: str) -> np.ndarray:
    start, count = contacts.slot_start.numpy(), contacts.count.numpy()
    data = getattr(contacts, name).numpy()
    return np.concatenate([data[s : s + n] for s, n in zip(start[:-1], count, strict=True)])


def test_order_keys_and_bodies(device: str) -> None:
    model = spheres_on_plane(3, 2, device)
    contacts = tc.create_contacts(model)
    tc.collide(model, row_poses(3, 2, device), contacts)
    assert contacts.count.numpy().tolist() == [5, 5]
    assert used(contacts, "shape0").tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]
    assert used(contacts, "shape1").tolist() == [1, 6, 2, 6, 6, 4, 6, 5, 6, 6]
    assert used(contacts, "body1").tolist() == [1, -1, 2, -1, -1, 4, -1, 5, -1, -1]
    assert used(contacts, "environment").tolist() == [0] * 5 + [1] * 5
    keys = used(contacts, "key").reshape(2, 5)
    assert np.array_equal(keys[0], keys[1])
    assert (keys[0] >> 32).tolist() == [0, 2, 3, 4, 5]
    np.testing.assert_allclose(used(contacts, "rest_distance"), 0.002, rtol=1e-6)


@pytest.mark.parametrize("mode_pair", [(a, b) for a in range(4) for b in range(4)])
def test_materials_combine_by_the_larger_mode(device: str, mode_pair: tuple[int, int]) -> None:
    materials = tc.Materials([0.5, 0.8], [0.25, 0.75], [0.125, 0.5], mode_pair, mode_pair[::-1])
    model = spheres_on_plane(2, 1, device, shape_material=[0, 1, 0], materials=materials, pairs=[[0, 1]])
    contacts = tc.create_contacts(model)
    tc.collide(model, row_poses(2, 1, device), contacts)
    rule = [lambda a, b: 0.5 * (a + b), min, lambda a, b: a * b, max][max(mode_pair)]
    for name, values in (
        ("static_friction", (0.5, 0.8)),
        ("dynamic_friction", (0.25, 0.75)),
        ("restitution", (0.125, 0.5)),
    ):
        np.testing.assert_allclose(used(contacts, name), [rule(*values)], rtol=1e-6)


def test_materials_and_offsets_may_change_between_steps(device: str) -> None:
    model = spheres_on_plane(2, 1, device)
    contacts = tc.create_contacts(model)
    poses = row_poses(2, 1, device, depth=-0.015)
    tc.collide(model, poses, contacts)
    assert contacts.count.numpy().tolist() == [3]
    model.contact_offset.fill_(0.002)
    model.static_friction.fill_(1.5)
    tc.collide(model, poses, contacts)
    assert contacts.count.numpy().tolist() == [2]
    np.testing.assert_allclose(used(contacts, "static_friction"), 1.5)


def test_margin_reaches_further_in_one_environment(device: str) -> None:
    model = spheres_on_plane(2, 3, device)
    contacts = tc.create_contacts(model)
    margin = wp.array([0.0, 0.05, 0.01], dtype=wp.float32, device=device)
    tc.collide(model, row_poses(2, 3, device, depth=-0.05), contacts, margin=margin)
    assert contacts.count.numpy().tolist() == [2, 3, 2]


@pytest.mark.parametrize("count", [12, 60])
def test_overflow_keeps_the_deepest_in_order(device: str, count: int) -> None:
    """60 spheres make an environment large enough for the compaction over chunks."""
    model = spheres_on_plane(count, 2, device)
    assert (model.chunk_pair is not None) == (count * (count + 1) // 2 > LARGE_ENVIRONMENT)
    whole, part = tc.create_contacts(model), tc.create_contacts(model, byte_budget=12_000)
    poses = row_poses(count, 2, device)
    tc.collide(model, poses, whole)
    assert whole.overflow.numpy().tolist() == [0, 0]
    model_limit = np.diff(part.slot_start.numpy())
    if model_limit[0] >= whole.count.numpy()[0]:
        part = tc.create_contacts(model, byte_budget=2 * 104 * 9)
        model_limit = np.diff(part.slot_start.numpy())
    tc.collide(model, poses, part)
    assert part.overflow.numpy().tolist() == [1, 1]
    assert part.required.numpy().tolist() == whole.count.numpy().tolist()
    assert part.count.numpy().tolist() == model_limit.tolist()
    separation, keys = used(whole, "separation"), used(whole, "key")
    first = len(separation) // 2
    keep = np.sort(np.argsort(separation[:first], kind="stable")[: model_limit[0]])
    assert used(part, "key")[: model_limit[0]].tolist() == keys[:first][keep].tolist()


def test_overflow_flag_is_sticky(device: str) -> None:
    model = spheres_on_plane(12, 1, device)
    part = tc.create_contacts(model, byte_budget=900)
    tc.collide(model, row_poses(12, 1, device), part)
    tc.collide(model, row_poses(12, 1, device, depth=-9.0), part)
    assert part.overflow.numpy().tolist() == [1]
    assert part.required.numpy().tolist() == [23]


def test_chunks_and_plain_scan_agree(device: str) -> None:
    """Small environments beside one large one take the chunked path."""
    small = spheres_on_plane(6, 1, device)
    body = [*range(6), *range(6, 46), -1]
    environment = [0] * 6 + [1] * 40 + [-1]
    mixed = spheres_on_plane(
        46, 1, device, shape_body=body, shape_environment=environment, environment_count=2
    )
    assert small.chunk_pair is None
    assert mixed.chunk_pair is not None
    poses = np.concatenate([row_poses(6, 1, device).numpy(), row_poses(40, 1, device).numpy()])
    one, two = tc.create_contacts(small), tc.create_contacts(mixed)
    tc.collide(small, row_poses(6, 1, device), one)
    tc.collide(mixed, wp.array(poses, dtype=wp.transform, device=device), two)
    count = int(one.count.numpy()[0])
    assert two.count.numpy().tolist() == [count, 79]
    for name in ("separation", "key", "anchor0", "normal"):
        assert np.array_equal(used(one, name), used(two, name)[:count])


def test_environment_result_depends_on_neither_index_nor_count(device: str) -> None:
    many, one = spheres_on_plane(5, 7, device), spheres_on_plane(5, 1, device)
    a, b = tc.create_contacts(many), tc.create_contacts(one)
    tc.collide(many, row_poses(5, 7, device), a)
    tc.collide(one, row_poses(5, 1, device), b)
    count = int(b.count.numpy()[0])
    for name in ("separation", "key", "anchor0", "anchor1", "normal"):
        blocks = used(a, name).reshape(7, count, -1)
        assert (blocks == used(b, name).reshape(1, count, -1)).all()


def test_a_nan_pose_stays_in_its_environment(device: str) -> None:
    model = spheres_on_plane(3, 2, device)
    contacts, clean = tc.create_contacts(model), tc.create_contacts(model)
    poses = row_poses(3, 2, device)
    tc.collide(model, poses, clean)
    broken = poses.numpy()
    broken[1, 2] = np.nan
    tc.collide(model, wp.array(broken, dtype=wp.transform, device=device), contacts)
    assert contacts.count.numpy().tolist() == [2, 5]
    assert np.isfinite(used(contacts, "separation")).all()
    assert np.array_equal(used(contacts, "anchor0")[2:], used(clean, "anchor0")[5:])


def test_runs_as_a_recorded_graph(device: str) -> None:
    model = spheres_on_plane(4, 3, device)
    direct, recorded = tc.create_contacts(model), tc.create_contacts(model)
    poses = row_poses(4, 3, device)
    tc.collide(model, poses, recorded)
    with wp.ScopedCapture(device=device) as capture:
        tc.collide(model, poses, recorded)
    wp.copy(poses, row_poses(4, 3, device, depth=0.02))
    wp.capture_launch(capture.graph)
    tc.collide(model, poses, direct)
    assert direct.count.numpy().tolist() == recorded.count.numpy().tolist()
    for name in ("separation", "key", "anchor0", "anchor1", "normal", "static_friction"):
        assert np.array_equal(used(direct, name), used(recorded, name))


def test_a_step_allocates_nothing_and_does_not_wait(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = spheres_on_plane(3, 2, device)
    contacts = tc.create_contacts(model)
    poses = row_poses(3, 2, device)
    tc.collide(model, poses, contacts)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the step must neither read back, allocate nor wait")

    with monkeypatch.context() as patch:
        patch.setattr(wp.array, "numpy", refuse)
        for name in ("zeros", "empty", "clone", "synchronize", "synchronize_device", "synchronize_stream"):
            patch.setattr(wp, name, refuse)
        tc.collide(model, poses, contacts)
        with pytest.raises(AssertionError, match="must neither"):
            contacts.count.numpy()
    assert contacts.count.numpy().tolist() == [5, 5]


def test_shared_plane_seen_from_far_environments(device: str) -> None:
    """The shared static shapes move by the difference of origins, taken in float64."""
    tilt = np.array([np.sin(0.25), 0.0, 0.0, np.cos(0.25)])
    normal = np.array([0.0, -np.sin(0.5), np.cos(0.5)])
    origins = np.array([[0.0, 0.0, 0.0], [60_000.0, 12_345.678, 2_000.25]])
    height = [0.5 - normal @ origin for origin in origins]
    pose = [IDENTITY, IDENTITY, [0.0, 0.0, 0.0, *tilt]]
    model = spheres_on_plane(1, 2, device, shape_pose=pose, environment_origin=origins)
    contacts = tc.create_contacts(model, byte_budget=None)
    # Each sphere touches the plane at the point nearest to its environment origin.
    place = np.array([np.append(normal * h, [0, 0, 0, 1]) for h in height])
    tc.collide(model, wp.array(place.astype(np.float32), dtype=wp.transform, device=device), contacts)
    assert contacts.count.numpy().tolist() == [1, 1]
    spacing = np.spacing(np.float32(np.abs(height).max()))
    np.testing.assert_allclose(used(contacts, "separation"), 0.0, atol=4 * spacing)


def test_wrong_arrays_are_refused(device: str) -> None:
    model, other = spheres_on_plane(2, 1, device), spheres_on_plane(3, 1, device)
    contacts = tc.create_contacts(model)
    poses = row_poses(2, 1, device)
    with pytest.raises(tc.ArrayError, match="expected 2 bodies, given 1"):
        tc.collide(model, poses[:1], contacts)
    with pytest.raises(tc.ArrayError, match="transform"):
        tc.collide(model, wp.zeros(2, dtype=wp.vec3, device=device), contacts)
    with pytest.raises(tc.ArrayError, match="another model"):
        tc.collide(model, poses, tc.create_contacts(other))
    with pytest.raises(tc.ArrayError, match="margin"):
        tc.collide(model, poses, contacts, margin=wp.zeros(2, dtype=wp.float32, device=device))
