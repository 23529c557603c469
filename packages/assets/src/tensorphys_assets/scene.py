"""A stage, the assets and sensors in it, and the simulation that moves them."""

from __future__ import annotations

import contextvars
import re
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from tensorphys.metatype import unique_names
from tensorphys_assets.errors import ConfigurationError, NotReadyError, PrimError

if TYPE_CHECKING:
    import tensorphys

__all__ = ["AssetScene", "current_scene", "glob_of"]

_CURRENT: contextvars.ContextVar[AssetScene | None] = contextvars.ContextVar(
    "tensorphys_assets_scene", default=None
)
_PARTS = re.compile(r"\[\^/\]\*|\.\*|\.\+")


def glob_of(expression: str) -> str:
    """Pattern of the tensor API for a path expression: ``.*`` and ``[^/]*`` match within one name."""
    return _PARTS.sub("*", expression)


def current_scene() -> AssetScene:
    """The scene that was entered last.

    Raises:
        NotReadyError: There is none.
    """
    scene = _CURRENT.get()
    if scene is None:
        raise NotReadyError("no scene: give one (scene=...), or make assets inside of `with AssetScene(...)`")
    return scene


class AssetScene:
    """Assets and sensors over one simulation.

    Assets are made from configurations while the scene is current (``with scene:``) or with ``scene=``. ``reset`` builds
    the simulation from the stage and makes them ready; it may be called again to start from the stage as it then is.

    Args:
        stage: A ``Usd.Stage``, or the path of a file.
        environments: Path expression of the environments (``/World/envs/env_.*``); without it the stage is one world.
        replicate: Copies of the whole stage instead, all at one place, under ``/World/envs/env_N``.
        scene: A :class:`tensorphys_scene.Scene` instead of a stage.
        device: Warp device; default CUDA where there is one.
        dt: Time of a step [s].
        gravity: Gravity [m/s²] instead of the stage's.
    """

    def __init__(
        self,
        stage: Any = None,
        *,
        environments: str | None = None,
        replicate: int | None = None,
        scene: Any = None,
        device: str | None = None,
        dt: float = 1.0 / 120.0,
        gravity: tuple[float, float, float] | None = None,
    ) -> None:
        if not dt > 0.0:
            raise ConfigurationError(f"AssetScene.dt: expected a positive number of seconds, given {dt}")
        self.stage = stage
        self.dt = float(dt)
        self._options: dict[str, Any] = {"replicate": replicate, "device": device}
        self._scene = scene
        self._environments = environments
        self._gravity = gravity
        self._members: list[Any] = []
        self._tokens: list[contextvars.Token[AssetScene | None]] = []
        self._view: tensorphys.SimulationView | None = None

    def __enter__(self) -> AssetScene:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.reset(self._tokens.pop())

    def add(self, member: Any) -> None:
        """Take in an asset or sensor; their constructors call this."""
        self._members.append(member)

    @property
    def members(self) -> list[Any]:
        """Assets and sensors, in the order in which they were made."""
        return list(self._members)

    @property
    def view(self) -> tensorphys.SimulationView:
        """Simulation view with the frontend ``warp``.

        Raises:
            NotReadyError: Before the first reset.
        """
        if self._view is None:
            raise NotReadyError("the scene has no simulation yet: call AssetScene.reset() first")
        return self._view

    @property
    def simulation(self) -> Any:
        """The simulation behind the view."""
        return self.view.simulation

    @property
    def device(self) -> str:
        """Warp device of the simulation."""
        return str(self.simulation.device)

    @property
    def num_envs(self) -> int:
        """Number of environments."""
        return int(self.simulation.environment_count)

    @property
    def env_origins(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Translation of each environment in the world [m], shape [environments, 3]."""
        return np.array(self.simulation.environment_origin)

    def reset(self) -> None:
        """Build the simulation and make all assets and sensors ready."""
        import tensorphys

        environments = glob_of(self._environments) if self._environments else None
        self._view = tensorphys.create_simulation_view(
            "warp", stage=self.stage, scene=self._scene, environments=environments, **self._options
        )
        # Before anybody can capture a graph: writers leave kinematics to the first read.
        self._view.simulation.one_refresh.lazy = True
        if self._gravity is not None:
            self._view.set_gravity(self._gravity)
        for member in self._members:
            member._initialize(self)

    def one_pass(self) -> AbstractContextManager[Any]:
        """``with scene.one_pass():`` writes that are captured in a graph share one pass of kinematics at the end of the block.

        Outside of graphs the pass is made by the first read that needs it, with or without such a block.
        """
        once: AbstractContextManager[Any] = self.simulation.one_refresh
        return once

    def replay(self, graph: Any) -> None:
        """Launch a graph that was captured over this scene, and have all that may have changed fetched anew.

        What :meth:`step` and :meth:`update` do on the device is in the graph: neither is to be called for it again.

        Args:
            graph: Graph of a ``wp.ScopedCapture`` in which assets were written or read, or the scene stepped.
        """
        wp.capture_launch(graph)
        for member in self._members:
            member._forget_replayed()

    def step(self, count: int = 1) -> None:
        """Write what is pending, simulate, and update all assets and sensors.

        Args:
            count: Steps of ``dt``.
        """
        for _ in range(count):
            for member in self._members:
                member.write_data_to_sim()
            self.view.step(self.dt)
            self.update(self.dt)

    def update(self, dt: float) -> None:
        """Tell all assets and sensors that time has passed.

        Args:
            dt: Time [s].
        """
        for member in self._members:
            member.update(dt)

    def write_data_to_sim(self) -> None:
        """Write what is pending in all assets."""
        for member in self._members:
            member.write_data_to_sim()

    # For assets.

    def environments_of(self, view: Any) -> list[int]:
        """Environment of each row of a view of articulations or rigid bodies."""
        rows = view._backend.layout.articulations
        numbers: list[int] = view._core.catalog.articulation_environment[rows].tolist()
        return numbers

    def tendon_names(self, view: Any, kind: str) -> list[str]:
        """Names of the tendons of the first row of a view of articulations: of the joints or links that carry them.

        Where a stage has tendons that are left out of the simulation, their names are numbers.

        Args:
            view: The view.
            kind: ``"fixed"`` or ``"spatial"``.
        """
        slots = view._backend.layout.slots[f"{kind}_tendon"]
        if slots.shape[1] == 0:
            return []
        simulation = self.simulation
        environment = self.environments_of(view)[0]
        layout = getattr(simulation.joints, f"{kind}_tendons")
        template = simulation.scene.templates[int(simulation.scene.environments.template[environment])]
        paths = getattr(template, f"{kind}_tendons").path
        first, end = int(layout.start[environment]), int(layout.start[environment + 1])
        if end - first != len(paths):
            return [f"{kind}_tendon_{place}" for place in range(slots.shape[1])]
        return unique_names(paths[slot - first].rpartition("/")[2] for slot in slots[0].tolist())

    def bodies(self, expression: str) -> list[list[str]]:
        """Paths of rigid bodies that an expression names, by environment, in the order of the stage.

        Args:
            expression: Regular expression over paths; ``.*`` and ``.+`` stay within one name.

        Raises:
            PrimError: It names none, or not as many in each environment where there are some.
        """
        catalog = self.view._core.catalog
        pattern = re.compile(expression.replace(".*", "[^/]*").replace(".+", "[^/]+").rstrip("/"))
        found: dict[int, list[str]] = {}
        environment = catalog.articulation_environment[catalog.link_articulation].tolist()
        for path, number in zip(catalog.directory.link_paths, environment, strict=True):
            if pattern.fullmatch(path):
                found.setdefault(number, []).append(path)
        if not found:
            raise PrimError(f"{expression}: there is no rigid body of such a path")
        counts = {len(paths) for paths in found.values()}
        if len(counts) > 1:
            raise PrimError(
                f"{expression}: expected equally many bodies in each environment, found {sorted(counts)}"
            )
        return [found[number] for number in sorted(found)]

    def articulation_roots(self, expression: str, explicit: str | None) -> list[str]:
        """Paths of articulation roots, one for each prim that an expression names.

        Args:
            expression: Path expression of the prims.
            explicit: Path of the root below each of them; ``None`` to look for the only one.

        Raises:
            PrimError: There is none, or there are several below one prim.
        """
        if explicit is not None:
            expression = expression.rstrip("/") + explicit
        catalog = self.view._core.catalog
        authored = [
            a for a in range(len(catalog.link_start)) if self.simulation.articulation_info(a) is not None
        ]
        pattern = re.compile("[^/]*".join(map(re.escape, glob_of(expression).split("*"))))
        found: dict[str, list[str]] = {}
        for path in catalog.paths(np.asarray(authored, dtype=np.int32)) if authored else []:
            match = pattern.match(path)
            if match and (path[match.end() :] == "" or path[match.end()] == "/"):
                found.setdefault(match.group(), []).append(path)
        if not found:
            raise PrimError(
                f"{expression}: there is no articulation at or below the prims of this expression"
            )
        for prim, paths in found.items():
            if len(paths) > 1:
                raise PrimError(
                    f"{prim}: expected one articulation root, found {len(paths)} ({', '.join(paths)}); "
                    "set articulation_root_prim_path"
                )
        return [path for paths in found.values() for path in paths]
