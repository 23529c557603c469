"""Deformable objects on the CPU: nodes are read, written, held and let fall."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from asset_stages import ENVS, Stage, here, host, make, soft_cfg, to

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")

DT = 0.01


@pytest.fixture
def softs() -> tuple[ta.AssetScene, ta.DeformableObject]:
    return make(Stage(2).softs(), soft_cfg(), dt=DT)


def test_what_it_is(softs: tuple[ta.AssetScene, ta.DeformableObject]) -> None:
    _, soft = softs
    assert (soft.num_instances, soft.num_bodies, soft.max_sim_vertices_per_body) == (2, 1, 27)
    assert soft.max_sim_elements_per_body == 48
    np.testing.assert_allclose(host(soft.data.root_pos_w), [[0, 0, 1], [2, 0, 1]], atol=1e-6)
    np.testing.assert_array_equal(host(soft.data.default_nodal_state_w), host(soft.data.nodal_state_w))
    assert (host(soft.data.nodal_kinematic_target)[..., 3] == 1.0).all()
    assert soft.is_initialized
    materials = soft.material_physx_view
    assert materials.count == 2
    with pytest.warns(DeprecationWarning, match="use root_view"):
        assert soft.root_physx_view is soft.root_view


def test_free_fall(softs: tuple[ta.AssetScene, ta.DeformableObject]) -> None:
    scene, soft = softs
    start = host(soft.data.nodal_pos_w)
    fills = soft.data.fill_count("root_pos_w")
    scene.step(10)
    fall = host(soft.data.nodal_pos_w) - start
    np.testing.assert_allclose(fall[..., 2], -0.5 * 9.81 * (10 * DT) ** 2, rtol=0.12)
    np.testing.assert_allclose(host(soft.data.root_vel_w), [[0, 0, -0.981]] * 2, rtol=1e-3, atol=1e-5)
    soft.data.root_pos_w, soft.data.root_pos_w  # noqa: B018
    assert soft.data.fill_count("root_pos_w") == fills + 1


def test_nodes_are_written_by_index_mask_and_in_full(
    softs: tuple[ta.AssetScene, ta.DeformableObject], library: str
) -> None:
    _, soft = softs
    start = host(soft.data.nodal_pos_w)
    moved = start + np.array([0, 0.5, 0], np.float32)
    soft.write_nodal_pos_to_sim_index(to(library, moved[1:]), env_ids=[1])
    np.testing.assert_array_equal(host(soft.data.nodal_pos_w)[0], start[0])
    np.testing.assert_array_equal(host(soft.data.nodal_pos_w)[1], moved[1])
    np.testing.assert_allclose(host(soft.data.root_pos_w)[1], [2, 0.5, 1], atol=1e-5)
    soft.data.invalidate_all()
    np.testing.assert_allclose(host(soft.data.nodal_pos_w)[1], moved[1], atol=1e-6)
    soft.write_nodal_pos_to_sim_index(to(library, moved), env_ids=[0], full_data=True)
    np.testing.assert_allclose(host(soft.data.nodal_pos_w), moved, atol=1e-6)
    velocity = np.ones((2, 27, 3), np.float32)
    soft.write_nodal_velocity_to_sim_mask(
        to(library, velocity), env_mask=to(library, [False, True], dtype=np.bool_)
    )
    soft.data.invalidate_all()
    np.testing.assert_array_equal(host(soft.data.nodal_vel_w)[:, 0, 0], [0, 1])
    state = np.concatenate((start, 0 * velocity), axis=-1)
    soft.write_nodal_state_to_sim_index(to(library, state))
    soft.data.invalidate_all()
    np.testing.assert_allclose(host(soft.data.nodal_state_w), state, atol=1e-6)
    with pytest.raises(AssertionError):
        soft.write_nodal_pos_to_sim_index(to(library, moved[:, :5]))
    with pytest.warns(DeprecationWarning, match="_index"):
        soft.write_nodal_pos_to_sim(to(library, start))


def test_held_nodes_stay_and_the_other_body_falls(softs: tuple[ta.AssetScene, ta.DeformableObject]) -> None:
    scene, soft = softs
    start = host(soft.data.nodal_pos_w)
    targets = np.concatenate((start, np.ones((2, 27, 1), np.float32)), axis=-1)
    top = start[0, :, 2] > 1.05
    targets[0, top, 3] = 0.0
    soft.write_nodal_kinematic_target_to_sim_index(targets[:1], env_ids=[0])
    np.testing.assert_array_equal(host(soft.data.nodal_kinematic_target)[0], targets[0])
    scene.step(20)
    now = host(soft.data.nodal_pos_w)
    np.testing.assert_allclose(now[0, top], start[0, top], atol=1e-5)
    assert now[0, ~top, 2].max() < start[0, ~top, 2].max()
    assert host(soft.data.root_pos_w)[1, 2] < 0.85
    mask = wp.array([True, False], dtype=wp.bool, device=here())
    targets[..., 3] = 1.0
    soft.write_nodal_kinematic_target_to_sim_mask(targets, env_mask=mask)
    scene.step(20)
    assert host(soft.data.root_pos_w)[0, 2] < 0.9


def test_prims_that_are_no_deformables_are_refused() -> None:
    with pytest.raises(ta.PrimError, match="deformable"):
        make(Stage(1).softs().cubes(at=(0, 0, 3)), ta.DeformableObjectCfg(prim_path=f"{ENVS}/Cube"))
