"""Contacts, joints and gravity make mass times acceleration of every link, from what the views say alone."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

DT = 1.0 / 120.0
G = 9.81
ARMS = (("left", 1), ("right", -1))


def author_crab(stage: Any, path: str, position: tuple[float, float, float]) -> None:
    """A torso with two arms of two links each, on hinges with drives, everything with colliders."""
    stage.xform(path, position)
    torso = f"{path}/torso"
    stage.body(torso, mass=2.0, inertia=(0.02, 0.02, 0.02))
    stage.collider(f"{torso}/Col", "cube", 0.2)
    stage.articulation(torso)
    for name, side in ARMS:
        upper, lower = f"{path}/{name}_upper", f"{path}/{name}_lower"
        stage.body(upper, (0, 0.25 * side, 0), mass=0.3, inertia=(0.002, 0.002, 0.002))
        stage.body(lower, (0, 0.45 * side, 0), mass=0.2, inertia=(0.001, 0.001, 0.001))
        stage.collider(f"{upper}/Col", "sphere", 0.05)
        stage.collider(f"{lower}/Col", "sphere", 0.05)
        drive = {"stiffness": 5.0, "damping": 0.2}
        stage.joint(
            f"{path}/joints/{name}_shoulder", "revolute", torso, upper,
            axis="X", at0=(0, 0.15 * side, 0), at1=(0, -0.1 * side, 0), drive=drive, flipped=side < 0,
        )  # fmt: skip
        stage.joint(
            f"{path}/joints/{name}_elbow", "revolute", upper, lower,
            axis="Z", at0=(0, 0.1 * side, 0), at1=(0, -0.1 * side, 0), limits=(-60.0, 60.0),
        )  # fmt: skip


def rotation(q: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions xyzw, shape [..., 3, 3]."""
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def contact_forces(contact: Any, host: Any) -> np.ndarray:
    """Normal forces and friction on each sensor."""
    result = host(contact.get_net_contact_forces(DT)).astype(float)
    force, _, counts, starts = (host(values) for values in contact.get_friction_data(DT))
    for sensor, (rows, firsts) in enumerate(zip(counts, starts, strict=True)):
        for rows_of_filter, first in zip(rows, firsts, strict=True):
            result[sensor] += force[first : first + rows_of_filter].astype(float).sum(0)
    return result


@pytest.mark.parametrize("beside", ["boxes", "nothing"])
def test_forces_on_every_link_add_up(stages: SimpleNamespace, arrays: Any, beside: str) -> None:
    """Crabs are thrown onto the ground, and onto a box each that gives way; the joints turn by a few degrees a step, so
    the wrench of a joint, a mean in its own frame, is taken at the middle of the step."""
    count = 3

    def fill(path: str, number: int) -> None:
        author_crab(stage, f"{path}/crab", (0, 0, 0.55))
        if beside == "boxes":
            stage.solid(f"{path}/box", (0.05 * number, 0.1, 0.15), "cube", 0.3)

    stage = stages.Author.new()
    stage.ground()
    stage.environments(count, fill, spacing=4.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view, host = sim.create_articulation_view("/envs/*/crab/torso"), arrays.host
    others = ["/World/Ground", *(["/envs/env{}/box"] if beside == "boxes" else [])]
    contacts = [
        sim.create_rigid_contact_view(paths, [[name.format(k) for name in others]] * len(paths), 400)
        for k, paths in enumerate(view.link_paths)
    ]
    rng = np.random.default_rng(5)
    twist = np.concatenate(
        (rng.uniform(-1, 1, (count, 3)) - [0, 0, 2], rng.uniform(-3, 3, (count, 3))), axis=1
    )
    view.set_root_velocities(arrays.make(twist), None)
    view.set_dof_velocities(arrays.make(rng.uniform(-3, 3, (count, 4))), None)
    masses = host(view.get_masses()).astype(float)
    meta = view.shared_metatype
    parents = np.array([meta.link_names.index(p) if p in meta.link_names else -1 for p in meta.link_parents])
    flipped = np.array([False, *(name.startswith("right_upper") for name in meta.link_names[1:])])
    touched = [0, 0]
    for number in range(120):
        start = rotation(host(view.get_link_transforms())[..., 3:].astype(float))
        sim.step(DT)
        end = rotation(host(view.get_link_transforms())[..., 3:].astype(float))
        middle = 0.5 * (start + end)
        wrench = host(view.get_link_incoming_joint_force()).astype(float)[..., :3]
        # frames of all joints stand as their links; that of a flipped joint is its parent's, and says what the parent got
        frame = np.where(flipped[:, None, None], middle[:, parents], middle)
        held = np.einsum("elij,elj->eli", frame, wrench) * np.where(flipped, -1.0, 1.0)[:, None]
        passed_on = np.zeros_like(held)
        for link in range(1, len(parents)):
            passed_on[:, parents[link]] += held[:, link]
        touch = np.array([contact_forces(contact, host) for contact in contacts])
        acceleration = host(view.get_link_accelerations()).astype(float)[..., :3]
        inertial = masses[..., None] * acceleration
        missing = inertial - (held - passed_on + touch - masses[..., None] * [0, 0, G])
        largest = max(np.abs(part).max() for part in (inertial, held, touch, masses * G))
        turn = np.abs(end - start).max()
        # of second order in the turn of half a step
        assert np.abs(missing).max() < (1e-3 + turn**2) * largest, (number, turn)
        # joints cancel over an articulation: this needs none of their frames
        whole = inertial.sum(1) - touch.sum(1) + masses.sum(1)[:, None] * [0, 0, G]
        assert np.abs(whole).max() < 1e-3 * largest, number
        touched = [touched[0] + (np.abs(touch).max() > 0), touched[1] + (np.abs(touch[:, 1:]).max() > 0)]
    assert min(touched) > 10
