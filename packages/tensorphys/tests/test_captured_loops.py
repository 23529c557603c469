"""Getters, setters and steps inside a graph of the user's own."""

from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import tensorphys


def _ants(
    stages: SimpleNamespace, device: str
) -> tuple[tensorphys.SimulationView, tensorphys.ArticulationView]:
    stage = stages.Author.new()
    stage.environments(3, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 5)), spacing=5.0)
    sim = tensorphys.create_simulation_view("warp", stage=stage.stage, environments="/envs/*", device=device)
    return sim, sim.create_articulation_view("/envs/*/ant/torso")


def _run(stages: SimpleNamespace, device: str, captured: bool) -> tuple[np.ndarray, np.ndarray]:
    """Link poses and joint velocities after three loops, called directly or replayed."""
    rng = np.random.default_rng(4)
    roots = np.zeros((3, 7), np.float32)
    roots[:, :3], roots[:, 6] = rng.uniform(-1, 1, (3, 3)), 1.0
    sim, view = _ants(stages, device)
    forces = wp.zeros((3, 8), dtype=wp.float32, device=device)
    rows = wp.zeros(1, dtype=wp.int32, device=device)
    poses = wp.array(roots, dtype=wp.float32, device=device)
    push = wp.full((3, 9, 3), 0.1, dtype=wp.float32, device=device)
    links, velocities = view.get_link_transforms(), view.get_dof_velocities()

    def loop() -> None:
        view.set_root_transforms(poses, rows)
        view.set_dof_actuation_forces(forces, None)
        view.apply_forces_and_torques_at_position(push, push, None, rows, True)
        sim.step(stages.DT)
        view.get_link_transforms()
        view.get_dof_velocities()

    loop()
    if captured:
        with wp.ScopedCapture(device=device) as capture:
            loop()
    for row in (0, 2, 1):
        forces.assign(rng.uniform(-0.3, 0.3, (3, 8)).astype(np.float32))
        rows.assign(np.array([row], np.int32))
        if captured:
            wp.capture_launch(capture.graph)
        else:
            loop()
    return links.numpy().copy(), velocities.numpy().copy()


def test_a_replayed_loop_equals_direct_calls(stages: SimpleNamespace, device: str) -> None:
    """The graph reads what the user writes into his arrays between two replays, indices included."""
    direct, replayed = (_run(stages, device, captured) for captured in (False, True))
    np.testing.assert_array_equal(direct[0], replayed[0])
    np.testing.assert_array_equal(direct[1], replayed[1])
    assert np.abs(direct[1]).max() > 0.01


def test_a_replay_fills_the_same_buffers(stages: SimpleNamespace, device: str) -> None:
    sim, view = _ants(stages, device)
    poses = view.get_root_transforms()
    sim.step(stages.DT)
    with wp.ScopedCapture(device=device) as capture:
        sim.step(stages.DT)
        view.get_root_transforms()
    heights = [poses.numpy()[0, 2].copy()]
    for _ in range(3):
        wp.capture_launch(capture.graph)
        heights.append(poses.numpy()[0, 2].copy())
    assert (np.diff(heights) < -1e-3).all()


def test_faults_of_device_arrays_are_told_at_the_next_host_access(
    stages: SimpleNamespace, device: str
) -> None:
    """What the host cannot see when a setter is called is left out and told later: always so in a graph."""
    sim, view = _ants(stages, device)
    rows = wp.array([0], dtype=wp.int32, device=device)
    poses = view.get_root_transforms()
    view.set_root_transforms(poses, rows)
    with wp.ScopedCapture(device=device) as capture:
        view.set_root_transforms(poses, rows)
    before = poses.numpy().copy()
    rows.assign(np.array([7], np.int32))
    wp.capture_launch(capture.graph)
    with pytest.raises(IndexError, match=r"given 1 outside of it \(7\)"):
        view.check()
    rows.assign(np.array([1], np.int32))
    bad = before.copy()
    bad[1] = 0.0
    poses.assign(bad)
    wp.capture_launch(capture.graph)
    with pytest.raises(tensorphys.DataError, match="row 1"):
        sim.check()
    assert sim.check()
    np.testing.assert_array_equal(view.get_root_transforms().numpy(), before)


def test_quantities_and_loads_in_a_graph(stages: SimpleNamespace, device: str) -> None:
    """What is evaluated on request is evaluated anew by each replay."""
    names = (
        "jacobians",
        "generalized_mass_matrices",
        "gravity_compensation_forces",
        "coriolis_and_centrifugal_compensation_forces",
        "articulation_mass_center",
        "articulation_centroidal_momentum",
        "link_accelerations",
        "link_incoming_joint_force",
        "dof_projected_joint_forces",
    )
    results = []
    for captured in (False, True):
        sim, view = _ants(stages, device)
        view.set_dof_actuation_forces(wp.full((3, 8), 0.1, dtype=wp.float32, device=device), None)

        def loop(sim: tensorphys.SimulationView = sim, view: tensorphys.ArticulationView = view) -> list:
            sim.step(stages.DT)
            return [getattr(view, f"get_{name}")() for name in names]

        arrays = loop()
        if captured:
            with wp.ScopedCapture(device=device) as capture:
                loop()
        for _ in range(3):
            before = [array.numpy().copy() for array in arrays]
            if captured:
                wp.capture_launch(capture.graph)
            else:
                loop()
        results.append([array.numpy().copy() for array in arrays])
    for name, old, direct, replayed in zip(names, before, *results, strict=True):
        np.testing.assert_array_equal(direct, replayed, err_msg=name)
        assert name == "gravity_compensation_forces" or (old != replayed).any(), name
