"""Environments in their own frames, subspaces, and world positions that are rounded once."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

import tensorphys
import tensorphys_scene
import tensorphys_usd
from tensorphys._kernels.gather import gather_poses
from tensorphys.rows import offset_pair

POSITION = st.floats(-64.0, 64.0, width=32)
OFFSET = st.floats(-4096.0, 4096.0)


@given(
    local=st.lists(st.tuples(POSITION, POSITION, POSITION), min_size=1, max_size=20),
    offset=st.tuples(OFFSET, OFFSET, OFFSET),
)
def test_world_positions_are_rounded_once(
    local: list[tuple[float, float, float]], offset: tuple[float, float, float]
) -> None:
    poses = np.zeros((len(local), 7), np.float32)
    poses[:, :3], poses[:, 6] = local, 1.0
    offsets = np.tile(np.array(offset), (len(local), 1))
    result = wp.zeros((len(local), 1, 7), dtype=wp.float32, device="cpu")
    slots = wp.array(np.arange(len(local), dtype=np.int32)[:, None], dtype=wp.int32, device="cpu")
    wp.launch(
        gather_poses,
        (len(local), 1),
        [wp.array(poses, dtype=wp.transform, device="cpu"), slots, *offset_pair(offsets, "cpu")],
        [result],
        device="cpu",
    )
    exact = poses[:, :3].astype(np.float64) + offsets
    error = np.abs(result.numpy()[:, 0, :3] - exact)
    # Half a unit in the last place, and what the pair of float32 numbers leaves of the offset.
    assert (error <= 0.5001 * np.spacing(np.abs(exact).astype(np.float32)) + 2.0**-48 * np.abs(offsets)).all()


def _ants(stages: SimpleNamespace, count: int, spacing: float = 2.0) -> Any:
    stage = stages.Author.new()
    stage.ant("/World/ant", (0.1, 0.2, 0.7))
    scene = tensorphys_usd.parse_stage(stage.stage)
    return tensorphys_scene.replicate(scene, count, spacing=spacing) if count > 1 else scene


def _push(view: Any, count: int, row: int) -> None:
    """Drive one row hard and leave the others alone."""
    forces = np.zeros((count, 8), np.float32)
    forces[row] = np.linspace(-0.2, 0.3, 8)
    view.set_dof_actuation_forces(forces, [row])


@pytest.mark.parametrize(("count", "row"), [(7, 3), (4096, 4095)])
def test_an_environment_equals_a_single_one(stages: SimpleNamespace, count: int, row: int) -> None:
    alone = tensorphys.create_simulation_view("numpy", scene=_ants(stages, 1), device="cpu")
    single = alone.create_articulation_view("/World/ant/torso")
    scene = _ants(stages, count)
    crowd = tensorphys.create_simulation_view("numpy", scene=scene, device="cpu")
    world = crowd.create_articulation_view("/World/envs/*/World/ant/torso")
    crowd.set_subspace_roots("/World/envs/*")
    local = crowd.create_articulation_view("/World/envs/*/World/ant/torso")
    assert (world.count, local.count) == (count, count)
    _push(single, 1, 0)
    _push(local, count, row)
    for _ in range(12 if count == 7 else 3):
        alone.step(stages.DT)
        crowd.step(stages.DT)
    for name in ("link_transforms", "link_velocities", "dof_positions", "dof_velocities", "root_transforms"):
        expected = getattr(single, f"get_{name}")()[0]
        np.testing.assert_array_equal(getattr(local, f"get_{name}")()[row], expected)
    links = single.get_link_transforms()[0]
    expected = links[:, :3].astype(np.float64) + scene.environments.origin[row]
    there = world.get_link_transforms()[row]
    assert (np.abs(there[:, :3] - expected) <= 0.51 * np.spacing(np.abs(expected).astype(np.float32))).all()
    np.testing.assert_array_equal(there[:, 3:], links[:, 3:])
    assert np.abs(single.get_dof_velocities()).max() > 0.1


def test_writes_go_through_the_frame_of_the_view(stages: SimpleNamespace, arrays: Any) -> None:
    scene = _ants(stages, 3, spacing=5.0)
    sim = tensorphys.create_simulation_view(arrays.name, scene=scene, device=arrays.device)
    pattern = "/World/envs/*/World/ant/torso"
    world = sim.create_articulation_view(pattern)
    sim.set_subspace_roots("/World/envs/env_[12]")
    some = sim.create_articulation_view(pattern)
    sim.set_subspace_roots("/")
    again = sim.create_rigid_body_view(pattern)
    place = np.float32([0.1, 0.2, 0.7])
    origin = scene.environments.origin.astype(np.float32)
    np.testing.assert_allclose(arrays.host(world.get_root_transforms())[:, :3], place + origin, atol=1e-6)
    np.testing.assert_array_equal(arrays.host(some.get_root_transforms())[1:, :3], [place, place])
    poses = np.zeros((3, 7), np.float32)
    poses[:, :3], poses[:, 6] = [1, 2, 3], 1
    some.set_root_transforms(arrays.make(poses), arrays.rows([0, 2]))
    np.testing.assert_array_equal(arrays.host(some.get_root_transforms())[[0, 2]], poses[:2])
    expected = np.array([[1, 2, 3], place + origin[1], np.float32([1, 2, 3]) + origin[2]])
    for view in (world.get_root_transforms, again.get_transforms):
        np.testing.assert_allclose(arrays.host(view())[:, :3], expected, atol=1e-6)
    # Links follow in the same frame; velocities have none.
    np.testing.assert_array_equal(
        arrays.host(some.get_link_transforms())[:, 0], arrays.host(some.get_root_transforms())
    )


def test_positions_of_forces_are_in_the_world(stages: SimpleNamespace, arrays: Any) -> None:
    """Whatever the subspace: a force at the world position of the centre of mass turns nothing."""
    stage = stages.Author.new(gravity=0.0)
    stage.environments(
        2, lambda path, _: stage.body(f"{path}/ball", (1, 0, 0), inertia=(0.1, 0.1, 0.1)), spacing=6.0
    )
    sim = stages.view(arrays, stage, environments="/envs/*")
    sim.set_subspace_roots("/envs/*")
    view = sim.create_rigid_body_view("/envs/*/ball")
    force, point = arrays.make([[0, 0, 1.0]] * 2), arrays.make([[1, 0, 0], [7, 0.5, 0]])
    view.apply_forces_and_torques_at_position(force, None, point, None, True)
    sim.step(1e-3)
    spin = arrays.host(view.get_velocities())[:, 3:] / 1e-3
    np.testing.assert_allclose(spin, [[0, 0, 0], [5, 0, 0]], atol=1e-4)


def test_any_prim_of_a_stage_can_be_a_subspace(stages: SimpleNamespace, arrays: Any) -> None:
    """One world without environments: translations come from the stage, those of bodies from the simulation."""
    stage = stages.Author.new()
    stage.environments(2, lambda path, _: stage.body(f"{path}/ball", (0, 0, 4)), spacing=3.0)
    stage.xform("/envs/env1/ball/tool", (0, 0, 0.5))
    sim = stages.view(arrays, stage)
    sim.set_subspace_roots("/envs/*")
    view = sim.create_rigid_body_view("/envs/*/ball")
    np.testing.assert_array_equal(arrays.host(view.get_transforms())[:, :3], [[0, 0, 4]] * 2)
    for _ in range(60):
        sim.step(stages.DT)
    sim.set_subspace_roots(["/envs/env1/ball", "/envs/env0"])
    rest = sim.create_rigid_body_view("/envs/*/ball")
    height = 4 - 0.5 * 9.81
    np.testing.assert_allclose(arrays.host(rest.get_transforms())[:, 2], [height, 0.0], atol=2e-2)
    np.testing.assert_array_equal(arrays.host(rest.get_transforms())[1, :3], [0, 0, 0])
    with pytest.raises(tensorphys.NoMatchError):
        sim.set_subspace_roots("/envs/nothing*")
    with pytest.raises(tensorphys.ViewError, match="moves with the rigid body /envs/env1/ball"):
        sim.set_subspace_roots("/envs/env1/ball/tool")


def test_a_scene_without_a_stage_knows_environments_and_bodies(stages: SimpleNamespace) -> None:
    scene = _ants(stages, 2)
    sim = tensorphys.create_simulation_view("numpy", scene=scene, device="cpu")
    sim.set_subspace_roots(["/World/envs/env_0", "/World/envs/env_1/World/ant/torso"])
    view = sim.create_articulation_view("/World/envs/*/World/ant/torso")
    np.testing.assert_allclose(view.get_root_transforms()[:, :3], [[0.1, 0.2, 0.7], [0, 0, 0]], atol=1e-7)
    with pytest.raises(
        tensorphys.ViewError, match="a scene holds no transform of /World/envs/env_0/World/ant"
    ):
        sim.set_subspace_roots("/World/envs/env_0/World/ant")
