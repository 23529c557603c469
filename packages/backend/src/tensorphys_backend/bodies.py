"""The part of the backend that deals with single bodies and batches of degrees of freedom."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from tensorphys_backend.errors import PrimPathError, StaleHandleError
from tensorphys_backend.interface import PhysicsBackend
from tensorphys_backend.live import LiveStage
from tensorphys_backend.world import Body, World, to_numpy

__all__ = ["BodyCalls"]


class BodyCalls(PhysicsBackend):
    """Sleep, forces, transforms and inputs; see ``PhysicsBackend``."""

    @property
    @abstractmethod
    def live(self) -> LiveStage:
        """The stage and its simulation."""

    # Inputs of many articulations.

    def set_dof_position_targets(self, view: Any, data: Any, indices: Any, cast: bool = False) -> None:
        """Set position targets; see ``PhysicsBackend``.

        Raises:
            StaleHandleError: The view is no longer valid.
            Exception: Whatever the view says of arrays that do not fit.
        """
        self._write(view, "dof_position_targets", data, indices, cast)

    def set_dof_velocity_targets(self, view: Any, data: Any, indices: Any, cast: bool = False) -> None:
        """Set velocity targets; see :meth:`set_dof_position_targets`."""
        self._write(view, "dof_velocity_targets", data, indices, cast)

    def set_dof_actuation_forces(self, view: Any, data: Any, indices: Any, cast: bool = False) -> None:
        """Set actuation forces; see :meth:`set_dof_position_targets`."""
        self._write(view, "dof_actuation_forces", data, indices, cast)

    def _write(self, view: Any, name: str, data: Any, indices: Any, cast: bool) -> None:
        """Give a view inputs, converted first where that is asked for."""
        world = self.live.require(f"set_{name}")
        if not view.check():
            raise StaleHandleError(f"set_{name}: the view is stale; make one of the present physics_sim_view")
        if cast:
            if hasattr(data, "detach"):
                data = data.detach().to(str(world.simulation.device)).float().contiguous()
            else:
                data = world.array(data, tuple(np.shape(data)))
            indices = np.ascontiguousarray(to_numpy(indices)).reshape(-1).astype(np.int32)
        getattr(view, f"set_{name}")(data, indices)

    # Transforms.

    def get_world_transform_with_scale(self, prim_path: str) -> Any:
        """Pose of a prim as it is now, with scale, ``Gf.Matrix4d`` for row vectors; authored while stopped.

        Raises:
            PrimPathError: The stage has no such prim.
        """
        return self.live.poses.world(prim_path)

    def get_local_transform_with_scale(self, prim_path: str) -> Any:
        """Pose of a prim in its parent as it is now, with scale; see :meth:`get_world_transform_with_scale`."""
        return self.live.poses.local(prim_path)

    # Sleep.

    def is_asleep(self, prim_path: str) -> bool:
        """Whether a body sleeps; a link does with its articulation.

        Raises:
            NotPlayingError: The simulation is stopped.
            PrimPathError: No body is there.
        """
        world, body = self._body("is_asleep", prim_path)
        sleep = world.simulation.sleep
        return sleep is not None and bool(sleep.asleep.numpy()[body.articulation] > 0)

    def wake(self, prim_path: str) -> None:
        """Wake a body, and in the next step all that touch it; errors as of :meth:`is_asleep`."""
        world, body = self._body("wake", prim_path)
        world.simulation.wake_up([body.articulation])

    def sleep(self, prim_path: str) -> None:
        """Have a body rest where it is; errors as of :meth:`is_asleep`.

        Beside cloth, other particles and deformables nothing sleeps: there its velocities become zero, and it moves on as
        forces have it.
        """
        world, body = self._body("sleep", prim_path)
        simulation = world.simulation
        if simulation.sleep is not None:
            simulation.put_to_sleep([body.articulation])
            return
        start = simulation.model.articulation_velocity_start.numpy()
        velocity = np.array(simulation.state.velocity.numpy())
        velocity[start[body.articulation] : start[body.articulation + 1]] = 0.0
        simulation.state.velocity.assign(velocity)
        fresh = np.array(simulation.state.fresh.numpy())
        fresh[body.articulation] = 1
        simulation.state.fresh.assign(fresh)
        simulation.refresh()

    # Forces.

    def apply_force_at_pos(self, prim_path: str, force: Any, pos: Any) -> None:
        """Push a body during the next physics step; calls add up. Errors as of :meth:`is_asleep`.

        Args:
            prim_path: The body.
            force: Force [N], world axes, shape [3].
            pos: Where it acts [m], world frame, shape [3].

        Raises:
            ValueError: Numbers are not three or not finite.
        """
        world, body = self._body("apply_force_at_pos", prim_path)
        self._push(world, body, _triple("force", force), None, _triple("pos", pos))

    def apply_torque(self, prim_path: str, torque: Any) -> None:
        """Turn a body during the next physics step; calls add up. Errors as of :meth:`apply_force_at_pos`.

        Args:
            prim_path: The body.
            torque: Torque [N m], world axes, shape [3].
        """
        world, body = self._body("apply_torque", prim_path)
        self._push(world, body, None, _triple("torque", torque), None)

    def _push(self, world: World, body: Body, force: Any, torque: Any, place: Any) -> None:
        view = world.one_body(body.path)
        pull, turn, at = (
            None if value is None else world.array(value, (1, 3)) for value in (force, torque, place)
        )
        view.apply_forces_and_torques_at_position(pull, turn, at, np.zeros(1, np.int32), True)
        world.simulation.wake_up([body.articulation])

    def _body(self, what: str, path: str) -> tuple[World, Body]:
        world = self.live.require(what)
        if not self.stage.GetPrimAtPath(path) and path not in world.instances:
            raise PrimPathError(f"{what}: the stage has no prim {path}")
        return world, world.body(path)


def _triple(name: str, value: Any) -> Any:
    vector = np.asarray(to_numpy(value), np.float32).reshape(-1)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ValueError(f"{name}: expected three finite numbers, given {vector.tolist()}")
    return vector
