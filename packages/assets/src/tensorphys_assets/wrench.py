"""Forces and torques that users put on bodies, gathered until the next step."""

from __future__ import annotations

import warnings
from typing import Any

import warp as wp

from tensorphys_assets._kernels import wrench as kernels
from tensorphys_assets.errors import ConfigurationError
from tensorphys_assets.proxy import ProxyArray
from tensorphys_assets.selection import Axis, Choice, payload_numbers

__all__ = ["WrenchComposer"]

_FORCE, _TORQUE, _POSITION, _GLOBAL = 1, 2, 4, 8


def _deprecated(name: str, target: str) -> None:
    warnings.warn(f"WrenchComposer.{name} is deprecated; use {target}", DeprecationWarning, stacklevel=3)


class WrenchComposer:
    """Sum of forces and torques on each body, in world and in link axes.

    What is given in world axes stays so while bodies turn, and a force with a position in the world stays at that
    position. A force without a position acts at the centre of mass.

    Args:
        asset: Asset; needed are ``num_instances``, ``num_bodies``, ``device``, and of its data ``body_com_pos_w`` and
            ``body_link_quat_w``.
        supports_world_at_com: Whether whoever asks takes world axes, too: then wrenches that are all in world axes and
            without positions need no poses.
    """

    def __init__(self, asset: Any, *, supports_world_at_com: bool = False) -> None:
        self.num_envs: int = asset.num_instances
        self.num_bodies: int = asset.num_bodies
        self.device = str(asset.device)
        self._asset = asset
        self._world = supports_world_at_com
        self._rows = Axis(self.num_envs, self.device, "env")
        self._bodies = Axis(self.num_bodies, self.device, "body")
        shape = (self.num_envs, self.num_bodies)

        def zeros() -> wp.array:
            return wp.zeros(shape, dtype=wp.vec3f, device=self.device)

        self.global_force_w, self.global_torque_w, self.global_force_at_com_w = zeros(), zeros(), zeros()
        self.local_force_b, self.local_torque_b = zeros(), zeros()
        self._out_force, self._out_torque = ProxyArray(zeros()), ProxyArray(zeros())
        self._active = self._dirty = False
        self._kinds = (
            0  # bits of what was added since the last full reset: 1 local, 2 in the world, 4 at positions
        )
        self._nothing = wp.zeros((0, 0, 0), dtype=wp.float32, device=self.device)

    @property
    def active(self) -> bool:
        """Whether something was given since the last full reset."""
        return self._active

    @property
    def out_force_b(self) -> Any:
        """Total force [N] at the centre of mass, link axes, shape [N, B] of vec3f."""
        if self._dirty:
            self.compose_to_body_frame()
        return self._out_force

    @property
    def out_torque_b(self) -> Any:
        """Total torque [N m] about the centre of mass, link axes, shape [N, B] of vec3f."""
        if self._dirty:
            self.compose_to_body_frame()
        return self._out_torque

    @property
    def composed_force(self) -> Any:
        """Deprecated; use ``out_force_b``."""
        _deprecated("composed_force", "out_force_b")
        return self.out_force_b

    @property
    def composed_torque(self) -> Any:
        """Deprecated; use ``out_torque_b``."""
        _deprecated("composed_torque", "out_torque_b")
        return self.out_torque_b

    @property
    def _inputs(self) -> list[wp.array]:
        return [
            self.global_force_w, self.global_torque_w, self.global_force_at_com_w, self.local_force_b,
            self.local_torque_b,
        ]  # fmt: skip

    # Giving.

    def add_forces_and_torques_index(
        self,
        forces: Any = None,
        torques: Any = None,
        positions: Any = None,
        body_ids: Any = None,
        env_ids: Any = None,
        is_global: bool = False,
    ) -> None:
        """Add to what acts on chosen bodies.

        Args:
            forces: Forces [N], shape [chosen instances, chosen bodies, 3].
            torques: Torques [N m], likewise.
            positions: Where forces act [m], likewise: points in the world, or offsets from the centre of mass in link axes.
            body_ids, env_ids: Bodies and instances, ``None`` for all.
            is_global: Whether all is in world axes.
        """
        self._add(
            forces, torques, positions, self._rows.choose(env_ids), self._bodies.choose(body_ids), is_global
        )

    def set_forces_and_torques_index(
        self,
        forces: Any = None,
        torques: Any = None,
        positions: Any = None,
        body_ids: Any = None,
        env_ids: Any = None,
        is_global: bool = False,
    ) -> None:
        """Drop what acts on all bodies of chosen instances, then add; arguments as of the method that adds."""
        rows = self._rows.choose(env_ids)
        self._clear(rows)
        self._add(forces, torques, positions, rows, self._bodies.choose(body_ids), is_global)

    def add_forces_and_torques_mask(
        self,
        forces: Any = None,
        torques: Any = None,
        positions: Any = None,
        body_mask: Any = None,
        env_mask: Any = None,
        is_global: bool = False,
    ) -> None:
        """As ``add_forces_and_torques_index``, with arrays of all bodies and masks that choose."""
        rows, bodies = self._rows.choose(mask=env_mask), self._bodies.choose(mask=body_mask)
        self._add(forces, torques, positions, rows, bodies, is_global)

    def set_forces_and_torques_mask(
        self,
        forces: Any = None,
        torques: Any = None,
        positions: Any = None,
        body_mask: Any = None,
        env_mask: Any = None,
        is_global: bool = False,
    ) -> None:
        """As ``set_forces_and_torques_index``, with arrays of all bodies and masks that choose."""
        rows, bodies = self._rows.choose(mask=env_mask), self._bodies.choose(mask=body_mask)
        self._clear(rows)
        self._add(forces, torques, positions, rows, bodies, is_global)

    def add_forces_and_torques(
        self,
        forces: Any = None,
        torques: Any = None,
        positions: Any = None,
        body_ids: Any = None,
        env_ids: Any = None,
        is_global: bool = False,
    ) -> None:
        """Deprecated; use ``add_forces_and_torques_index``."""
        _deprecated("add_forces_and_torques", "add_forces_and_torques_index")
        self.add_forces_and_torques_index(forces, torques, positions, body_ids, env_ids, is_global)

    def set_forces_and_torques(
        self,
        forces: Any = None,
        torques: Any = None,
        positions: Any = None,
        body_ids: Any = None,
        env_ids: Any = None,
        is_global: bool = False,
    ) -> None:
        """Deprecated; use ``set_forces_and_torques_index``."""
        _deprecated("set_forces_and_torques", "set_forces_and_torques_index")
        self.set_forces_and_torques_index(forces, torques, positions, body_ids, env_ids, is_global)

    def _add(
        self, forces: Any, torques: Any, positions: Any, rows: Choice, bodies: Choice, is_global: bool
    ) -> None:
        if forces is None and torques is None:
            if positions is not None:
                raise ConfigurationError("WrenchComposer: positions say where forces act, but there are none")
            return
        if forces is None:
            positions = None  # a torque acts nowhere in particular
        shape = (rows.count, bodies.count, 3)
        given = {"forces": forces, "torques": torques, "positions": positions}
        arrays = [
            self._nothing
            if value is None
            else payload_numbers(value, shape, self.device, f"WrenchComposer({name})")
            for name, value in given.items()
        ]
        bits = (_FORCE, _TORQUE, _POSITION)
        flags = sum(bit for bit, value in zip(bits, given.values(), strict=True) if value is not None)
        flags |= _GLOBAL if is_global else 0
        self._active = self._dirty = True
        self._kinds |= (2 if is_global else 1) | (4 if is_global and positions is not None else 0)
        row_mask = rows.mask if rows.mask is not None else self._rows.mask
        body_mask = bodies.mask if bodies.mask is not None else self._bodies.mask
        wp.launch(
            kernels.add_wrenches,
            shape[:2],
            [*arrays, flags, rows.ids, bodies.ids, row_mask, body_mask],
            self._inputs,
            device=self.device,
        )

    def add_raw_buffers_from(self, other: WrenchComposer) -> None:
        """Add everything that another composer of the same shape holds.

        Raises:
            ConfigurationError: Its shape is another.
        """
        if not other.active:
            return
        if (other.num_envs, other.num_bodies) != (self.num_envs, self.num_bodies):
            raise ConfigurationError(
                f"WrenchComposer: expected wrenches of {(self.num_envs, self.num_bodies)} bodies, "
                f"given {(other.num_envs, other.num_bodies)}"
            )
        for mine, theirs in zip(self._inputs, other._inputs, strict=True):
            wp.launch(kernels.add_arrays, mine.shape, [theirs], [mine], device=self.device)
        self._active = self._dirty = True
        self._kinds |= other._kinds

    # Taking.

    def compose_to_body_frame(self) -> None:
        """Bring everything into link axes, about centres of mass, by the poses of now."""
        data = self._asset.data
        poses = [getattr(data, name).warp for name in ("body_com_pos_w", "body_link_quat_w")]
        wp.launch(
            kernels.compose_wrenches,
            (self.num_envs, self.num_bodies),
            [*self._inputs, *poses],
            [self._out_force.warp, self._out_torque.warp],
            device=self.device,
        )
        self._dirty = False

    def get_forces_and_torques(self) -> tuple[wp.array, wp.array, bool]:
        """Total wrenches about centres of mass.

        Returns:
            Forces [N] and torques [N m], shape [N, B] of vec3f, and whether they are in world axes; otherwise they are in
            link axes. The arrays are the composer's own.
        """
        if not self._kinds & 2:
            return self.local_force_b, self.local_torque_b, False
        if self._world and self._kinds == 2:
            return self.global_force_at_com_w, self.global_torque_w, True
        # What is in world axes turns with the poses, so that this is done even if nothing was added.
        self.compose_to_body_frame()
        return self._out_force.warp, self._out_torque.warp, False

    def reset(self, env_ids: Any = None, env_mask: Any = None) -> None:
        """Drop everything; of chosen instances alone the composer stays active.

        Args:
            env_ids: Instances, ``None`` for all.
            env_mask: Mask of them, which wins.
        """
        rows = self._rows.choose(env_ids, env_mask)
        if rows.everything:
            for array in (*self._inputs, self._out_force.warp, self._out_torque.warp):
                array.zero_()
            self._active = self._dirty = False
            self._kinds = 0
            return
        self._clear(rows)

    def _clear(self, rows: Choice) -> None:
        mask = rows.mask if rows.mask is not None else self._rows.mask
        for array in (*self._inputs, self._out_force.warp, self._out_torque.warp):
            wp.launch(
                kernels.clear_chosen,
                (rows.count, self.num_bodies),
                [rows.ids, mask],
                [array],
                device=self.device,
            )
