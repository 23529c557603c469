"""Matrices, forces and accelerations of articulations at their present state, evaluated on request."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels import dense, quantities, quantities_base
from tensorphys_dynamics._kernels.arrays import Scratch
from tensorphys_dynamics._kernels.terms import ACCELERATION, GRAVITY, VELOCITY, WRENCH
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.model import Model
from tensorphys_dynamics.solver import Solver, create_scratch
from tensorphys_dynamics.state import State

_GRAVITY, _VELOCITY = int(GRAVITY), int(VELOCITY)
_ACCELERATION, _WRENCH = int(ACCELERATION), int(WRENCH)


class Quantities:
    """Quantities of selected articulations.

    Each method launches one kernel and returns an array that it owns and refills on the next call; what is never
    asked for is never allocated. A row of a matrix belongs to one of the selected articulations and is padded
    with zeros to the largest of them. Vectors are flat like the state: generalized ones have one number for each
    generalized velocity of the model ([root linear at the centre of mass, root angular, degrees of freedom] of
    each articulation), link quantities one row for each link; those of articulations that were not selected stay
    zero. All is in environment axes. Generalized forces are those that *counteract* the named effect: applied,
    they cancel it. Drives, passive springs, dampings, limits and contacts take no part.

    Attributes:
        articulations: Selected articulations, shape [row_count].
        row_count: Their number.
        max_velocities, max_links, max_dofs: Sizes of the largest of them.
        solver: Solver of the state, whose sums the gravity compensation takes: what it holds stays where it is to the
            last bit. Without one, steps of the fused path round apart from it.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        articulations: npt.ArrayLike | None = None,
        *,
        scratch: Scratch | None = None,
        solver: Solver | None = None,
    ) -> None:
        """Choose the articulations.

        Args:
            model: Constants.
            state: State that the quantities belong to.
            articulations: Different articulations in the order of the rows; None for all.
            scratch: Working memory of `Quantities.create_scratch`, which several may share; None for one of its
                own.
            solver: Solver of the state, see `solver`.

        Raises:
            ModelError: If an articulation does not exist or is named twice, or the solver is of another state.
        """
        everything = np.arange(model.articulation_count)
        chosen = np.asarray(everything if articulations is None else articulations).astype(np.int32).ravel()
        if chosen.size and (chosen.min() < 0 or chosen.max() >= model.articulation_count):
            raise ModelError(
                f"articulations: expected 0 to {model.articulation_count - 1}, given {chosen.min()} to {chosen.max()}"
            )
        if len(np.unique(chosen)) != len(chosen):
            raise ModelError("articulations: one is named twice")
        if solver is not None and solver.state is not state:
            raise ModelError("the solver is of another state")
        self._model, self._state, self.solver = model, state, solver
        self._scratch = create_scratch(model) if scratch is None else scratch
        self._rows = wp.array(chosen, dtype=wp.int32, device=model.device)
        self.articulations: npt.NDArray[np.int32] = chosen
        self.row_count = len(chosen)
        types = [model.types[k] for k in np.unique(model.articulation_type.numpy()[chosen])]
        self.max_velocities = max((t.velocity_count for t in types), default=0)
        self.max_links = max((t.link_count for t in types), default=0)
        self.max_dofs = max((t.dof_count for t in types), default=0)
        self._buffers: dict[str, wp.array] = {}
        self._no_velocity = wp.zeros(0, dtype=wp.float32, device=model.device)
        self._no_wrench = wp.zeros(0, dtype=wp.vec3, device=model.device)

    @staticmethod
    def create_scratch(model: Model) -> Scratch:
        """Working memory for quantities of a model."""
        return create_scratch(model)

    def _buffer(self, name: str, shape: tuple[int, ...], dtype: Any = wp.float32) -> wp.array:
        if name not in self._buffers:
            self._buffers[name] = wp.zeros(shape, dtype=dtype, device=self._model.device)
        return self._buffers[name]

    def _fill(self, kernel: Any, result: wp.array, *inputs: Any) -> wp.array:
        m = self._model
        if result.size and self.row_count:
            wp.launch(
                kernel,
                dim=self.row_count,
                inputs=[self._rows, m.tables, m.data, self._state.data, *inputs],
                outputs=[self._scratch, result],
                device=m.device,
            )
        return result

    def mass_matrix(self, *, armature: bool = True) -> wp.array:
        """Generalized mass matrices M with M dv/dt = force, by composite inertias [Featherstone 2008, §6.2].

        Args:
            armature: Whether the armature stands on the diagonal, as in the equation of motion.

        Returns:
            float32, shape [row_count, max_velocities, max_velocities].
        """
        size = self.max_velocities
        result = self._buffer("mass_matrix", (self.row_count, size, size))
        return self._fill(dense.dense_mass_matrix, result, int(armature))

    def jacobian(self, *, root: bool = True) -> wp.array:
        """Jacobians J with [linear velocity of the centre of mass, angular velocity] = J v.

        Args:
            root: Whether link 0 has a row; the Jacobian of a fixed one is zero.

        Returns:
            float32, shape [row_count, max_links, 6, max_velocities], one link less without the root.
        """
        first = 0 if root else 1
        shape = (self.row_count, self.max_links - first, 6, self.max_velocities)
        return self._fill(dense.dense_jacobian, self._buffer(f"jacobian{first}", shape), first)

    def gravity_compensation(self) -> wp.array:
        """Generalized forces that hold the links against gravity [N, N m], shape [velocity_count]."""
        held = self._held("gravity")
        return self._inverse("gravity", _GRAVITY) if held is None else held

    def coriolis_compensation(self) -> wp.array:
        """Generalized forces that cancel Coriolis and centrifugal effects [N, N m], shape [velocity_count]."""
        return self._inverse("coriolis", _VELOCITY)

    def inverse_dynamics(
        self,
        acceleration: wp.array,
        link_force: wp.array | None = None,
        link_torque: wp.array | None = None,
    ) -> wp.array:
        """Generalized forces that give a generalized acceleration [Featherstone 2008, §5.3].

        Args:
            acceleration: dv/dt, float32, shape [velocity_count].
            link_force, link_torque: External wrench on each link about its centre of mass [N, N m], vec3,
                shape [link_count]; None for none.

        Returns:
            float32, shape [velocity_count], armature included.
        """
        terms = _GRAVITY + _VELOCITY + _ACCELERATION
        return self._inverse("inverse_dynamics", terms, acceleration, link_force, link_torque)

    def forward_dynamics(
        self,
        force: wp.array,
        link_force: wp.array | None = None,
        link_torque: wp.array | None = None,
    ) -> wp.array:
        """Generalized accelerations under generalized forces, free of contacts, drives and limits.

        Args:
            force: Generalized force [N, N m], float32, shape [velocity_count].
            link_force, link_torque: As for `inverse_dynamics`.

        Returns:
            dv/dt, float32, shape [velocity_count], by the factors M = Lᵀ D L [Featherstone 2008, §6.5].
        """
        result = self._buffer("forward_dynamics", (self._model.velocity_count,))
        wrench, terms = self._wrench(link_force, link_torque)
        self._check("force", force, wp.float32, self._model.velocity_count)
        return self._fill(quantities.forward_dynamics, result, force, *wrench, terms + _GRAVITY + _VELOCITY)

    def link_accelerations(self, acceleration: wp.array) -> wp.array:
        """Accelerations of links that a generalized acceleration gives.

        Args:
            acceleration: dv/dt, float32, shape [velocity_count].

        Returns:
            Time derivative of [linear velocity of the centre of mass, angular velocity], spatial_vector,
            shape [link_count].
        """
        self._check("acceleration", acceleration, wp.float32, self._model.velocity_count)
        result = self._buffer("link_accelerations", (self._model.link_count,), wp.spatial_vector)
        return self._fill(quantities.link_accelerations, result, acceleration)

    def joint_wrenches(
        self,
        acceleration: wp.array,
        link_force: wp.array | None = None,
        link_torque: wp.array | None = None,
    ) -> wp.array:
        """Wrenches that links get from their parents while the articulation accelerates.

        Args:
            acceleration: dv/dt, float32, shape [velocity_count].
            link_force, link_torque: As for `inverse_dynamics`.

        Returns:
            [force, torque about the link's centre of mass], spatial_vector, shape [link_count]. The root of a
            fixed base gets that of its support; that of a floating one is what is missing for the acceleration.
        """
        self._check("acceleration", acceleration, wp.float32, self._model.velocity_count)
        result = self._buffer("joint_wrenches", (self._model.link_count,), wp.spatial_vector)
        wrench, terms = self._wrench(link_force, link_torque)
        terms += _GRAVITY + _VELOCITY + _ACCELERATION
        return self._fill(quantities.joint_wrenches, result, acceleration, *wrench, terms)

    def projected_joint_forces(self, wrench: wp.array) -> wp.array:
        """Components of joint wrenches along the free axes: torque about a rotation's, force along a translation's.

        Args:
            wrench: As of `joint_wrenches`, spatial_vector, shape [link_count].

        Returns:
            float32, shape [velocity_count], zero for roots. The share of the armature is not in it.
        """
        self._check("wrench", wrench, wp.spatial_vector, self._model.link_count)
        result = self._buffer("projected_joint_forces", (self._model.velocity_count,))
        return self._fill(quantities.projected_wrenches, result, wrench)

    def mass_centre(self, *, local_frame: bool = False) -> wp.array:
        """Centres of mass of articulations [m].

        Args:
            local_frame: Whether they are given in the frame of the root link, else in that of the environment.

        Returns:
            vec3, shape [row_count].
        """
        result = self._buffer("mass_centre", (self.row_count,), wp.vec3)
        return self._fill(quantities_base.mass_centres, result, int(local_frame))

    def centroidal_momentum(self) -> wp.array:
        """Centroidal momentum matrices A and their rates [Orin et al. 2013].

        A v is the momentum [linear, angular about the centre of mass of the articulation], environment axes.

        Returns:
            float32, shape [row_count, 6, max_velocities + 1]; the last column is dA/dt v.
        """
        result = self._buffer("centroidal", (self.row_count, 6, self.max_velocities + 1))
        return self._fill(quantities_base.centroidal_momentum, result, self._no_velocity)

    def free_base_gravity_compensation(self) -> wp.array:
        """Joint forces that keep the joints from accelerating under gravity, shape [dof_count].

        No force acts on a floating root: it falls. For a fixed base the joints' part of `gravity_compensation`.
        """
        held = None if any(kind.root_count for kind in self._model.types) else self._held("free_gravity")
        return self._free_base("free_gravity", _GRAVITY) if held is None else held

    def free_base_coriolis_compensation(self) -> wp.array:
        """Joint forces that cancel Coriolis and centrifugal effects, no force on a floating root, [dof_count]."""
        return self._free_base("free_coriolis", _VELOCITY)

    def free_base_mass_matrix(self, *, armature: bool = True) -> wp.array:
        """Mass matrices of the joints with no force on a floating root: M_dd − M_dr M_rr⁻¹ M_rd.

        Args:
            armature: Whether the armature stands on the diagonal.

        Returns:
            float32, shape [row_count, max_dofs, max_dofs].
        """
        size = self.max_dofs
        result = self._buffer("free_mass_matrix", (self.row_count, size, size))
        return self._fill(quantities_base.free_base_mass_matrix, result, int(armature))

    def _held(self, name: str) -> wp.array | None:
        """Gravity compensation by the sums of the solver; None where they are those of the kernels here."""
        result = self._buffer(name, (self._model.velocity_count,))
        return result if self.solver is not None and self.solver.hold(self._rows, result) else None

    def _free_base(self, name: str, terms: int) -> wp.array:
        result = self._buffer(name, (self._model.dof_count,))
        inputs = [self._no_velocity, self._no_wrench, terms]
        return self._fill(quantities_base.free_base_forces, result, *inputs)

    def _inverse(
        self,
        name: str,
        terms: int,
        acceleration: wp.array | None = None,
        link_force: wp.array | None = None,
        link_torque: wp.array | None = None,
    ) -> wp.array:
        result = self._buffer(name, (self._model.velocity_count,))
        wrench, more = self._wrench(link_force, link_torque)
        if acceleration is None:
            acceleration = self._no_velocity
        else:
            self._check("acceleration", acceleration, wp.float32, self._model.velocity_count)
        return self._fill(quantities.inverse_dynamics, result, acceleration, *wrench, terms + more)

    def _wrench(self, force: wp.array | None, torque: wp.array | None) -> tuple[list[wp.array], int]:
        """Both parts of an external wrench, and the term to add for it."""
        if force is None and torque is None:
            return [self._no_wrench, self._no_wrench], 0
        for name, array in (("link_force", force), ("link_torque", torque)):
            if array is not None:
                self._check(name, array, wp.vec3, self._model.link_count)
        zero = self._buffer("no_wrench", (self._model.link_count,), wp.vec3)
        return [zero if force is None else force, zero if torque is None else torque], _WRENCH

    def _check(self, name: str, array: wp.array, dtype: Any, count: int) -> None:
        if array.dtype is not dtype or array.shape != (count,) or array.device != self._model.device:
            raise ModelError(
                f"{name}: expected {dtype.__name__} of shape {(count,)} on {self._model.device}, "
                f"given {array.dtype.__name__} of shape {array.shape} on {array.device}"
            )
