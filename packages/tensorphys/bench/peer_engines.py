"""The engines of the comparison behind one interface; each imports its library when it is made."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
STEPS, WAYPOINTS, DT, SAMPLES = 10, 8, 0.005, 256


class Engine(Protocol):
    """What the driver asks of an engine.

    Attributes:
        count: Environments.
        is_cuda: Whether it runs on CUDA.
    """

    count: int
    is_cuda: bool

    def step(self) -> None:
        """Advance by one step; launches only."""

    def aim(self, waypoint: int) -> None:
        """Give all drives their targets of one waypoint."""

    def poses(self) -> Array:
        """Poses of bodies of some environments, [environments, bodies, 7]."""

    def is_finite(self) -> bool:
        """Whether the state of all environments is finite."""

    def contacts(self) -> float:
        """Contacts of an environment, mean."""

    def overflow(self) -> int:
        """Worlds whose contacts did not fit."""


def targets(robot: dict[str, Any], count: int) -> Array:
    """Targets of the driven axes, the same for every engine, shape [waypoints, count, driven]."""
    driven = robot["driven"]
    start, lower, upper = (np.array(robot[name])[driven] for name in ("start", "lower", "upper"))
    way = np.random.default_rng(7).uniform(-1.0, 1.0, (WAYPOINTS, count, len(driven)))
    return np.clip(start + robot["amplitude"] * way, lower, upper).astype(np.float32)


def sampled(count: int) -> Array:
    """Environments that are looked at."""
    return np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).astype(int))


class Ours:
    """This library, default settings but for substeps where they are asked for."""

    def __init__(
        self,
        folder: Path,
        robot: dict[str, Any],
        count: int,
        device: str,
        threads: int,
        substeps: int | None = None,
    ) -> None:
        import warp as wp

        from tensorphys_engine import Simulation
        from tensorphys_scene import replicate

        scene = pickle.loads((folder / f"{robot['name']}.pickle").read_bytes())
        options: dict[str, Any] = {"substeps": substeps, "threads": threads}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.simulation = Simulation(
                replicate(scene, count), device=device, ignore_unsupported=True, **options
            )
        self.count, self.is_cuda = count, self.simulation.device.is_cuda
        sim = self.simulation
        info = sim.articulation_info(0)
        names = [] if info is None else list(info.labels.dof_names)
        columns = [names.index(name) for name in robot["axes"]]
        size = sim.state.dof_position.shape[0] // count
        start = np.zeros((count, size), np.float32)
        start[:, columns] = np.array(robot["start"])
        sim.state.dof_position.assign(start.ravel())
        sim.control.position_target.assign(start.ravel())
        sim.state.fresh.fill_(1)
        sim.refresh()
        bank = np.repeat(start[None], WAYPOINTS, axis=0)
        bank[:, :, [columns[k] for k in robot["driven"]]] = targets(robot, count)
        self._bank = [wp.array(row.ravel(), dtype=wp.float32, device=device) for row in bank]
        self._wp = wp
        self._bodies = len(robot["bodies"])
        self._order = self._link_rows(info, robot)

    def _link_rows(self, info: Any, robot: dict[str, Any]) -> list[int]:
        bodies = list(self.simulation.scene.templates[0].bodies.path)
        return (
            [list(info.labels.link_paths).index(path) for path in bodies]
            if info
            else list(range(self._bodies))
        )

    def step(self) -> None:
        """Advance by one step."""

        self.simulation.step(DT)

    def aim(self, waypoint: int) -> None:
        """Give all drives their targets of one waypoint."""

        self._wp.copy(self.simulation.control.position_target, self._bank[waypoint])

    def poses(self) -> Array:
        """Poses of bodies of some environments."""

        poses = self.simulation.state.link_pose.numpy().reshape(self.count, self._bodies, 7)
        return np.asarray(poses[sampled(self.count)][:, self._order], float)

    def is_finite(self) -> bool:
        """Whether the state of all environments is finite."""

        state = self.simulation.state
        return all(np.isfinite(a.numpy()).all() for a in (state.link_pose, state.velocity)) and not bool(
            state.diverged.numpy().any()
        )

    def contacts(self) -> float:
        """Contacts of an environment, mean."""

        return float(self.simulation.contacts.count.numpy().mean())

    def overflow(self) -> int:
        """Worlds whose contacts did not fit."""

        return int((self.simulation.contacts.overflow.numpy() != 0).sum())

    def has_grown(self) -> bool:
        """Look after the contacts, as a user's access does; whether their buffers grew, so that a graph is recorded anew."""

        before = self.simulation.contacts
        self.simulation.check_contacts()
        return self.simulation.contacts is not before

    def about(self) -> dict[str, Any]:
        """What can be told of this library alone."""
        sim = self.simulation
        arrays = list(sim._stepped.values())
        moved = sum(2 * a.capacity for a in arrays) + sim.control.position_target.capacity
        return {
            "path": sim.solver.path,
            "launches": sim.launch_count,
            "state_bytes": moved / self.count,
            "substeps": sim.substeps,
        }


class Mujoco:
    """MuJoCo's C library: one environment after the other, one thread."""

    is_cuda = False

    def __init__(self, folder: Path, robot: dict[str, Any], count: int, device: str) -> None:
        import mujoco

        del device
        self._mujoco = mujoco
        self._model = mujoco.MjModel.from_xml_path(str(folder / f"{robot['name']}.xml"))
        self._model.opt.timestep = DT
        self.count = count
        start = np.array(mujoco.MjData(self._model).qpos)
        for name, q in zip(robot["axes"], robot["start"], strict=True):
            start[self._model.joint(name).qposadr[0]] = q
        self._data = [mujoco.MjData(self._model) for _ in range(count)]
        for data in self._data:
            data.qpos[:] = start
            mujoco.mj_forward(self._model, data)
        names = [robot["axes"][k] for k in robot["driven"]]
        order = [self._model.actuator(name).id for name in names]
        self._bank = np.zeros((WAYPOINTS, count, self._model.nu))
        self._bank[:, :, order] = targets(robot, count)

    def step(self) -> None:
        """Advance by one step."""

        step, model = self._mujoco.mj_step, self._model
        for data in self._data:
            step(model, data)

    def aim(self, waypoint: int) -> None:
        """Give all drives their targets of one waypoint."""

        for data, row in zip(self._data, self._bank[waypoint], strict=True):
            data.ctrl[:] = row

    def poses(self) -> Array:
        """Poses of bodies of some environments."""

        rows = [self._data[k] for k in sampled(self.count)]
        return np.array([np.hstack((d.xpos[1:], np.roll(d.xquat[1:], -1, axis=1))) for d in rows])

    def is_finite(self) -> bool:
        """Whether the state of all environments is finite."""

        bad = self._mujoco.mjtWarning.mjWARN_BADQACC
        return all(np.isfinite(d.qpos).all() and d.warning[bad].number == 0 for d in self._data)

    def contacts(self) -> float:
        """Contacts of an environment, mean."""

        return float(np.mean([d.ncon for d in self._data]))

    def overflow(self) -> int:
        """Worlds whose contacts did not fit."""

        return 0


class MujocoWarp:
    """MuJoCo Warp, options of the model file: Newton's method, pyramids, implicitfast, 100 iterations at most."""

    def __init__(self, folder: Path, robot: dict[str, Any], count: int, device: str) -> None:
        import mujoco
        import mujoco_warp
        import warp as wp

        self._wp, self._library = wp, mujoco_warp
        wp.set_device(device)
        model = mujoco.MjModel.from_xml_path(str(folder / f"{robot['name']}.xml"))
        model.opt.timestep = DT
        data = mujoco.MjData(model)
        for name, q in zip(robot["axes"], robot["start"], strict=True):
            data.qpos[model.joint(name).qposadr[0]] = q
        mujoco.mj_forward(model, data)
        self.count, self.is_cuda = count, wp.get_device(device).is_cuda
        self._model = mujoco_warp.put_model(model)
        self._data = mujoco_warp.put_data(
            model, data, nworld=count, nconmax=robot["contacts"], njmax=robot["rows"]
        )
        order = [model.actuator(robot["axes"][k]).id for k in robot["driven"]]
        bank = np.zeros((WAYPOINTS, count, model.nu), np.float32)
        bank[:, :, order] = targets(robot, count)
        self._bank = [wp.array(row, dtype=wp.float32, device=device) for row in bank]

    def step(self) -> None:
        """Advance by one step."""

        self._library.step(self._model, self._data)

    def aim(self, waypoint: int) -> None:
        """Give all drives their targets of one waypoint."""

        self._wp.copy(self._data.ctrl, self._bank[waypoint])

    def poses(self) -> Array:
        """Poses of bodies of some environments."""

        rows = sampled(self.count)
        position, turn = self._data.xpos.numpy()[rows, 1:], self._data.xquat.numpy()[rows, 1:]
        return np.concatenate((position, np.roll(turn, -1, axis=-1)), axis=-1).astype(float)

    def is_finite(self) -> bool:
        """Whether the state of all environments is finite."""

        return bool(np.isfinite(self._data.qpos.numpy()).all() and np.isfinite(self._data.qvel.numpy()).all())

    def contacts(self) -> float:
        """Contacts of an environment, mean."""

        return float(self._data.nacon.numpy()[0]) / self.count

    def overflow(self) -> int:
        """Worlds whose contacts did not fit."""

        return int((self._data.overflow.numpy() != 0).sum()) if hasattr(self._data, "overflow") else 0


class Newton:
    """Newton with one of its solvers; options of the peer's own benchmark where it has any."""

    def __init__(self, folder: Path, robot: dict[str, Any], count: int, device: str, solver: str) -> None:
        import newton
        import warp as wp

        self._wp, self._newton = wp, newton
        wp.set_device(device)
        single = newton.ModelBuilder()
        single.default_shape_cfg.mu = 1.0
        newton.solvers.SolverMuJoCo.register_custom_attributes(single)
        text = (folder / f"{robot['name']}.xml").read_text("utf-8")
        single.add_mjcf(text, ignore_names=["floor"], parse_visuals=False, enable_self_collisions=False)
        self._single = single
        self._place_start(single, robot)
        builder = newton.ModelBuilder()
        builder.replicate(single, count)
        builder.default_shape_cfg.mu = 1.0
        if robot["has_ground"]:
            builder.add_ground_plane()
        self.model = builder.finalize(device=device)
        self.count, self.is_cuda = count, self.model.device.is_cuda
        self._contacts: Any = None
        self._pipeline: Any = None
        self.solver: Any
        if solver == "mujoco":
            self.solver = newton.solvers.SolverMuJoCo(
                self.model, solver="newton", integrator="implicitfast", cone="pyramidal", iterations=100,
                ls_iterations=50, njmax=robot["rows"], nconmax=robot["contacts"],
            )  # fmt: skip
        else:
            self.solver = newton.solvers.SolverXPBD(self.model)
            if robot["has_ground"]:
                self._pipeline = newton.CollisionPipeline(self.model)
                self._contacts = self._pipeline.contacts()
        self._control = self.model.control()
        self._states = [self.model.state(), self.model.state()]
        newton.eval_fk(self.model, self.model.joint_q, self.model.joint_qd, self._states[0])
        size = self.model.joint_target_q.shape[0] // count
        bank = np.repeat(self.model.joint_target_q.numpy().reshape(1, count, size), WAYPOINTS, axis=0)
        bank[:, :, [self._columns[k] for k in robot["driven"]]] = targets(robot, count)
        self._bank = [wp.array(row.ravel(), dtype=wp.float32, device=device) for row in bank]
        labels = [label.rpartition("/")[2] for label in single.body_label]
        self._order = [labels.index(body) for body in robot["bodies"]]

    def _place_start(self, builder: Any, robot: dict[str, Any]) -> None:
        """Write the start, and find the coordinate of each axis: joints of one body are one joint here."""
        starts, self._columns = list(builder.joint_q_start), [0] * len(robot["axes"])
        first = 7 * int(robot["free_base"])
        labels = [label.rpartition("/")[2] for label in builder.joint_label]
        column = first
        for joint in range(len(starts)):
            names = [name for name in robot["axes"] if name in _parts(labels[joint], robot["axes"])]
            end = starts[joint + 1] if joint + 1 < len(starts) else len(builder.joint_q)
            if starts[joint] < first and robot["free_base"]:
                continue
            if end - starts[joint] != len(names):
                raise ValueError(f"{labels[joint]}: {end - starts[joint]} coordinates, found {names}")
            ordered = sorted(names, key=lambda n: labels[joint].index(n))
            for offset, name in enumerate(ordered):
                self._columns[robot["axes"].index(name)] = starts[joint] + offset
                column += 1
        for column, q in zip(self._columns, robot["start"], strict=True):
            builder.joint_q[column] = q
            builder.joint_target_q[column] = q

    def step(self) -> None:
        """Advance by one step."""

        before, after = self._states
        before.clear_forces()
        if self._pipeline is not None:
            self._pipeline.collide(before, self._contacts)
        self.solver.step(before, after, self._control, self._contacts, DT)
        self._states = [after, before]

    def aim(self, waypoint: int) -> None:
        """Give all drives their targets of one waypoint."""

        self._wp.copy(self._control.joint_target_q, self._bank[waypoint])

    def poses(self) -> Array:
        """Poses of bodies of some environments."""

        poses = self._states[0].body_q.numpy().reshape(self.count, -1, 7)
        return np.asarray(poses[sampled(self.count)][:, self._order], float)

    def is_finite(self) -> bool:
        """Whether the state of all environments is finite."""

        state = self._states[0]
        return bool(np.isfinite(state.body_q.numpy()).all() and np.isfinite(state.body_qd.numpy()).all())

    def contacts(self) -> float:
        """Contacts of an environment, mean."""

        if self._contacts is not None:
            return float(self._contacts.rigid_contact_count.numpy()[0]) / self.count
        data = getattr(self.solver, "mjw_data", None)
        return 0.0 if data is None else float(data.nacon.numpy()[0]) / self.count

    def overflow(self) -> int:
        """Worlds whose contacts did not fit."""

        data = getattr(self.solver, "mjw_data", None)
        if data is None:
            return 0
        bits = getattr(data, "overflow", None)
        if bits is not None:
            return int((bits.numpy() != 0).sum())
        return int((data.nefc.numpy() > data.njmax).sum()) + int(data.nacon.numpy()[0] > data.naconmax)


def _parts(label: str, names: list[str]) -> list[str]:
    """Names of axes in the label of a joint, which joins those of one body by underscores."""
    return [name for name in names if label == name or name in label]


def make(engine: str, folder: Path, robot_name: str, count: int, device: str, threads: int = 1) -> Any:
    """Build one engine with one robot.

    Args:
        engine: ``ours``, ``ours_N`` with N substeps, ``mujoco``, ``mujoco_warp``, ``newton_mujoco`` or ``newton_xpbd``.
        folder: What `peer_mjcf.write` wrote.
        robot_name: Name of the robot.
        count: Environments.
        device: Warp device.
        threads: Threads of ours on the CPU.
    """
    robot = json.loads((folder / f"{robot_name}.json").read_text("utf-8"))
    if engine.startswith("ours"):
        substeps = int(engine.partition("_")[2] or 0) or None
        return Ours(folder, robot, count, device, threads, substeps)
    if engine == "mujoco":
        return Mujoco(folder, robot, count, device)
    if engine == "mujoco_warp":
        return MujocoWarp(folder, robot, count, device)
    return Newton(folder, robot, count, device, engine.partition("_")[2])
