"""The simulation of a stage while it plays: built from USD, with views that callers may end, and kept state."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import warp as wp

import tensorphys_arrays
import tensorphys_usd
from tensorphys import RigidBodyView, SimulationView
from tensorphys.core import Core
from tensorphys_backend.carried import as_built
from tensorphys_backend.context import PhysicsContext
from tensorphys_backend.errors import PrimPathError
from tensorphys_backend.rows import name_rows
from tensorphys_backend.scene_view import SceneView
from tensorphys_engine import PathError, Simulation

__all__ = ["Body", "World", "build", "host_array", "to_numpy"]


class Body(NamedTuple):
    """Flat numbers of a rigid body.

    Attributes:
        path: Prim path of its link.
        link: Link.
        articulation: Articulation; a free body is one.
    """

    path: str
    link: int
    articulation: int


class World:
    """A simulation of a whole stage as one environment.

    Args:
        stage: The stage.
        context: Device and settings.
        frontend_name: Array library of the views.

    Attributes:
        simulation: The simulation.
        baseline: Parameters and targets as they were built, by name.
        rows: Names of rows.
        instances: Links that are no prims of the stage: instances of point instancers, and what is below them.

    Raises:
        StageError, BuildError: The stage cannot be simulated.
        FrontendDeviceError: The array library has no arrays on the device.
    """

    def __init__(self, stage: Any, context: PhysicsContext, frontend_name: str) -> None:
        self.stage = stage
        self.frontend = tensorphys_arrays.get_frontend(frontend_name)
        self.frontend.check_simulation_device(context.device)
        self.simulation = build(stage, context)
        self.rows = name_rows(self.simulation)
        # Asked for now: a prim that is removed later is no instance.
        links = self.simulation.directory.link_paths
        self.instances = frozenset(p for p in links if p.startswith("/") and not stage.GetPrimAtPath(p))
        self.baseline = as_built(self.simulation)
        self._core: Core = self._new_core()
        self._public: SimulationView | None = None
        self._shape_link: npt.NDArray[np.int32] = self.simulation.contact_model.shape_body.numpy()
        self.own = SimulationView(self._core)
        self._one_body: dict[str, RigidBodyView] = {}

    def _new_core(self) -> Core:
        return Core(self.simulation, self.frontend, conventions="runtime", stage=self.stage)

    @property
    def view(self) -> SimulationView:
        """The factory of batch views that callers see, made on first use after :meth:`end_views`."""
        if self._public is None:
            self._public = SceneView(self._new_core())
        return self._public

    @property
    def has_view(self) -> bool:
        """Whether a factory was handed out that was not ended."""
        return self._public is not None

    def end_views(self) -> None:
        """End the use of the factory and of all that it made."""
        if self._public is not None:
            self._public.invalidate()
            self._public = None

    def close(self) -> None:
        """End the use of everything."""
        self.end_views()
        self.own.invalidate()

    def body(self, path: str) -> Body:
        """The rigid body at a path; the root of an articulation stands for its root link.

        Raises:
            PrimPathError: There is none.
        """
        simulation = self.simulation
        try:
            entity = simulation.lookup(path)
        except PathError:
            raise PrimPathError(f"{path}: no prim of the simulation has this path") from None
        if entity.articulation is None:
            raise PrimPathError(f"{path}: the prim is no rigid body and no articulation")
        link = entity.link
        if link is None:
            info = simulation.articulation_info(entity.articulation)
            if info is None:
                raise PrimPathError(f"{path}: the prim is no rigid body and no articulation")
            link = info.link_start
        return Body(simulation.directory.link_path(link), link, entity.articulation)

    def one_body(self, path: str) -> RigidBodyView:
        """View of the one body at a path, which is kept."""
        view = self._one_body.get(path)
        if view is None:
            view = self._one_body[path] = self.own.create_rigid_body_view(path)
        return view

    @cached_property
    def read_paths(self) -> frozenset[str]:
        """Prims that the simulation was made from."""
        simulation = self.simulation
        paths = {path for path, _ in simulation.scene.read}
        paths.update(simulation.directory.link_paths, simulation.directory.shape_paths)
        paths.update(name.partition("#")[0] for name in self.rows.joint)
        if simulation.particles is not None:
            plan = simulation.particles.plan
            paths.update(plan.cloth_paths, plan.set_paths, plan.systems_of)
        if simulation.soft is not None:
            paths.update(simulation.soft.paths)
        return frozenset(paths)

    def shape_link(self, shape: int) -> int:
        """Link of a shape, -1 where it never moves."""
        return int(self._shape_link[shape])

    def owner_path(self, shape: int) -> str:
        """Path of the rigid body of a shape; of the shape itself where it never moves."""
        link = int(self._shape_link[shape])
        return (
            self.simulation.directory.shape_paths[shape]
            if link < 0
            else self.simulation.directory.link_paths[link]
        )

    def material_path(self, shape: int) -> str:
        """Path of the physics material of a shape, empty where none is bound."""
        return self._material_paths[shape]

    @cached_property
    def _material_paths(self) -> list[str]:
        numbering = self.simulation.directory.numbering
        scene, (prefix,) = numbering.scene, numbering.scene.environments.path
        paths = []
        for tables, rows, above in (
            (scene.templates[0], numbering.plans[0].shape_row, prefix),
            (scene.shared, numbering.shared_shape_row, ""),
        ):
            for material in tables.shapes.material[rows].tolist():
                paths.append(above + tables.materials.path[material] if material >= 0 else "")
        return paths

    def array(self, data: Any, shape: tuple[int, ...], *, host: bool = False) -> Any:
        """Numbers as a float32 array of the frontend.

        Args:
            data: Anything that has numbers.
            shape: Shape.
            host: Whether it is to lie on the CPU, as properties do, and not on the device of the simulation.
        """
        values = np.ascontiguousarray(to_numpy(data), np.float32).reshape(shape)
        if self.frontend.name != "torch":
            return values
        return wp.to_torch(
            wp.array(values, dtype=wp.float32, device="cpu" if host else self.simulation.device)
        )


def host_array(values: Any, frontend_name: str) -> Any:
    """Numbers as a float32 array of an array library, on the CPU."""
    numbers = np.ascontiguousarray(values, np.float32)
    return (
        numbers
        if frontend_name != "torch"
        else wp.to_torch(wp.array(numbers, dtype=wp.float32, device="cpu"))
    )


def to_numpy(data: Any) -> npt.NDArray[Any]:
    """Numbers of any array library on the host."""
    if hasattr(data, "detach"):
        return np.asarray(data.detach().cpu())
    return np.asarray(data.numpy() if hasattr(data, "numpy") else data)


def build(stage: Any, context: PhysicsContext) -> Simulation:
    """Simulate a stage with the settings of a context.

    Args:
        stage: The stage.
        context: Device, gravity and settings.
    """
    scene = tensorphys_usd.parse_stage(stage, require_scene=False)
    settings = scene.settings
    changed: dict[str, Any] = {}
    if context.gravity is not None:
        down = np.array([0.0, -1.0, 0.0]) if settings.up_axis == "Y" else np.array([0.0, 0.0, -1.0])
        pull = down * context.gravity / settings.meters_per_unit
        changed["gravity"] = tuple(float(value) for value in pull)
    if "enable_ccd" in context.settings:
        changed["ccd"] = bool(context.settings["enable_ccd"])
    if changed:
        scene = dataclasses.replace(scene, settings=dataclasses.replace(settings, **changed))
    return Simulation(scene, device=context.device, ignore_unsupported=True, sleeping=settings.sleeping)
