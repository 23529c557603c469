"""Resets by setters, resumed runs and repeats with contacts, bit for bit, on every path of the solver.

"fused": one robot an environment. "newton": a robot, a crate and a platform, whose contacts are solved at once. "large": one
world of so many boxes that its contacts are solved in parallel inside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorphys
from tensorphys_engine.testing import pile_scene, walker_scene
from tensorphys_scene import Scene

DT = 1.0 / 120.0
LARGE = (7, 6, 7)


def scene_of(path: str, environments: int) -> Scene:
    if path == "large":
        assert environments == 1
        return pile_scene(LARGE)
    return walker_scene(environments, spacing=3.0, alone=path == "fused")


class World:
    """A simulation through its views, in the frames of the environments."""

    def __init__(self, path: str, device: str, environments: int = 1) -> None:
        frontend = "numpy" if device == "cpu" else "warp"
        self.sim = tensorphys.create_simulation_view(
            frontend, scene=scene_of(path, environments), device=device
        )
        solver = self.sim.simulation.solver
        assert solver.path == ("fused" if path == "fused" else "generic")
        assert (solver.parallel is not None) == (path == "large")
        self.path, self.environments, self._made = path, environments, frontend
        prefix = "/World/envs/env_*"
        self.sim.set_subspace_roots(prefix)
        self.robots = None if path == "large" else self.sim.create_articulation_view(f"{prefix}/walker")
        names = {"fused": [], "newton": ["crate", "platform"], "large": ["box*"]}[path]
        self.bodies = self.sim.create_rigid_body_view([f"{prefix}/{n}" for n in names]) if names else None
        sensors = ["box*"] if path == "large" else ["walker/*", "crate"][: 1 + (path == "newton")]
        self.contacts = self.sim.create_rigid_contact_view([f"{prefix}/{name}" for name in sensors])
        self.start = self.read()
        self.random = np.random.default_rng(7)
        self.touched = 0.0

    def host(self, array: Any) -> Any:
        return np.array(array.numpy() if hasattr(array, "numpy") else array)

    def make(self, values: Any) -> Any:
        import warp as wp

        values = np.asarray(values)
        kind = wp.int32 if values.dtype.kind == "i" else wp.float32
        if self._made == "numpy":
            return values.astype(np.int32 if kind is wp.int32 else np.float32)
        return wp.array(values, dtype=kind, device=self.sim.device)

    def read(self) -> dict[str, Any]:
        """All that setters can write."""
        found: dict[str, Any] = {}
        if self.robots is not None:
            for name in (
                "root_transforms",
                "root_velocities",
                "dof_positions",
                "dof_velocities",
                "dof_position_targets",
                "dof_velocity_targets",
                "dof_actuation_forces",
            ):
                found[name] = self.host(getattr(self.robots, f"get_{name}")())
        if self.bodies is not None:
            for name in ("transforms", "velocities"):
                found[f"body_{name}"] = self.host(getattr(self.bodies, f"get_{name}")())
        return found

    def results(self) -> dict[str, Any]:
        found = self.read()
        found["forces"] = self.host(self.contacts.get_net_contact_forces(DT))
        if self.robots is not None:
            found["links"] = self.host(self.robots.get_link_transforms())
            found["joint forces"] = self.host(self.robots.get_link_incoming_joint_force())
        return found

    def write_back(self, environments: Any) -> None:
        """Set some environments to their start."""
        chosen = np.asarray(environments, np.int64)
        if self.robots is not None:
            for name, values in self.start.items():
                if not name.startswith("body_"):
                    getattr(self.robots, f"set_{name}")(self.make(values), self.make(chosen))
        if self.bodies is not None:
            # rows stand by pattern, then by environment
            each = self.bodies.count // self.environments
            if self.path == "large":
                rows = np.arange(self.bodies.count)
            else:
                rows = (np.arange(each)[:, None] * self.environments + chosen).reshape(-1)
            for name in ("transforms", "velocities"):
                getattr(self.bodies, f"set_{name}")(self.make(self.start[f"body_{name}"]), self.make(rows))

    def act(self) -> None:
        """Something at random, the same in all environments."""
        if self.robots is not None:
            target = self.random.uniform(-0.5, 0.5, 4)
            self.robots.set_dof_position_targets(
                self.make(np.tile(target, (self.environments, 1))), self.make(np.arange(self.environments))
            )
        if self.bodies is not None:
            force = self.random.uniform(-2.0, 2.0, 3)
            self.bodies.apply_forces(
                self.make(np.tile(force, (self.bodies.count, 1))), self.make(np.arange(self.bodies.count))
            )

    def run(self, steps: int, *, acting: bool = True) -> World:
        for _ in range(steps):
            if acting:
                self.act()
            self.sim.step(DT)
            self.touched = max(
                self.touched, float(np.abs(self.host(self.contacts.get_net_contact_forces(DT))).max())
            )
        return self


def rows_of(world: World, found: dict[str, Any], environment: int) -> dict[str, bytes]:
    """Results of one environment."""
    result = {}
    for name, values in found.items():
        each = np.array_split(values, world.environments)
        if name.startswith("body_") and world.path == "newton":
            each = list(values.reshape(-1, world.environments, values.shape[-1]).swapaxes(0, 1))
        elif name == "forces" and world.path == "newton":
            robot, crate = np.split(values, [5 * world.environments])
            each = [np.concatenate((robot.reshape(world.environments, 5, 3)[e], crate[e : e + 1]))
                    for e in range(world.environments)]  # fmt: skip
        result[name] = each[environment].tobytes()
    return result


def same(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    return [name for name in first if first[name] != second[name]]


STEPS = {"fused": 90, "newton": 90, "large": 20}
ALL = pytest.mark.parametrize("path", ["fused", "newton", "large"])
SMALL = pytest.mark.parametrize("path", ["fused", "newton"])


@SMALL
def test_an_environment_reset_by_setters_equals_a_fresh_one(path: str, device: str) -> None:
    """Two of four environments go back in the middle of a run, and nothing is left of it; the others go on."""
    used, other = World(path, device, 4).run(STEPS[path]), World(path, device, 4).run(STEPS[path])
    assert used.touched > 1.0
    used.write_back([1, 3])
    fresh = World(path, device, 4)
    for moment in range(3):
        for world in (used, fresh, other):
            world.random = np.random.default_rng(moment)
            world.run(30)
        found, wanted, going = used.results(), fresh.results(), other.results()
        for environment in (1, 3):
            assert not same(rows_of(used, found, environment), rows_of(used, wanted, environment))
        for environment in (0, 2):
            assert not same(rows_of(used, found, environment), rows_of(used, going, environment))


def test_a_large_world_reset_by_setters_equals_a_fresh_one(device: str) -> None:
    used, fresh = World("large", device).run(STEPS["large"]), World("large", device)
    used.write_back([0])
    for world in (used, fresh):
        world.random = np.random.default_rng(3)
        world.run(STEPS["large"])
    assert used.touched > 1.0
    assert not same(rows_of(used, used.results(), 0), rows_of(fresh, fresh.results(), 0))


@ALL
def test_a_resumed_run_equals_the_uninterrupted_one(path: str, device: str) -> None:
    whole, resumed = (World(path, device, 1 if path == "large" else 3) for _ in range(2))
    whole.run(STEPS[path])
    saved = whole.sim.simulation.save_state()
    resumed.sim.simulation.load_state(saved)
    for world in (whole, resumed):
        world.random = np.random.default_rng(5)
        world.run(STEPS[path])
    first, second = whole.results(), resumed.results()
    assert resumed.touched > 1.0
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []


@ALL
def test_a_run_repeats(path: str, device: str) -> None:
    first, second = (World(path, device, 1 if path == "large" else 2).run(STEPS[path]) for _ in range(2))
    a, b = first.results(), second.results()
    assert [name for name in a if a[name].tobytes() != b[name].tobytes()] == []


@SMALL
def test_neither_place_nor_number_of_environments_matters(path: str, device: str) -> None:
    alone = World(path, device).run(STEPS[path])
    wanted = rows_of(alone, alone.results(), 0)
    assert alone.touched > 1.0
    for count in (2, 7):
        many = World(path, device, count).run(STEPS[path])
        found = many.results()
        for environment in range(count):
            assert not same(rows_of(many, found, environment), wanted), (count, environment)
