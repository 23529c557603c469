"""Making simulation views."""

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tensorphys.errors import FrontendError, MissingPackageError, StageSelectionError

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys.simulation_view import SimulationView
    from tensorphys_scene import Scene

__all__ = ["TensorApi", "acquire_tensor_api", "create_simulation_view", "reset"]

# Distributions that are not called like their modules.
_DISTRIBUTIONS = {"warp": "warp-lang", "pxr": "usd-core"}
_TORCH_HINT = "pip install torch, or use the frontend 'numpy' or 'warp'"


class TensorApi:
    """All simulation views of this process that are still in use; ``acquire_tensor_api`` returns the one."""

    def __init__(self) -> None:
        self._views: weakref.WeakSet[SimulationView] = weakref.WeakSet()

    def create_simulation_view(
        self, frontend_name: str, stage_id: int = -1, **options: Any
    ) -> SimulationView:
        """Make a view; see ``create_simulation_view``."""
        view = _create(frontend_name, stage_id, **options)
        self._views.add(view)
        return view

    def reset(self) -> None:
        """Invalidate all views; see ``reset``."""
        for view in list(self._views):
            view.invalidate()
        self._views.clear()


_API = TensorApi()


def acquire_tensor_api(plugin_name: str | None = None, library_path: str | None = None) -> TensorApi:
    """The entry point behind the functions of this module.

    Args:
        plugin_name, library_path: Taken for compatibility; there is one implementation and no plugin.

    Returns:
        The same object on each call.
    """
    return _API


def reset() -> None:
    """End the use of all simulation views; new ones start from the stages as they then are."""
    _API.reset()


def create_simulation_view(
    frontend_name: str,
    stage_id: int = -1,
    *,
    stage: Any = None,
    scene: Scene | None = None,
    environments: str | None = None,
    replicate: int | None = None,
    device: Any = None,
    conventions: Literal["documentation", "runtime"] = "documentation",
    on_overflow: Literal["grow", "raise", "warn"] = "grow",
    sleeping: bool | None = None,
) -> SimulationView:
    """Build a simulation and return its view. Each call makes a simulation of its own.

    Args:
        frontend_name: Array library: ``"numpy"``, ``"torch"`` or ``"warp"`` (or ``"np"``, ``"pytorch"``,
            ``"wp"``).
        stage_id: Id of a stage in ``UsdUtils.StageCache``; -1 for the only one that is there.
        stage: A ``Usd.Stage``, or the path of a file, instead of an id.
        scene: A :class:`tensorphys_scene.Scene` instead of a stage.
        environments: Pattern of the prims that are environments, which never interact; without it the whole
            stage is one world.
        replicate: Number of copies of the whole scene, each an environment at the origin under
            ``/World/envs/env_N``; for other placements use :func:`tensorphys_scene.replicate`.
        device: Warp device of the simulation; default ``"cuda:0"`` where there is one and the frontend can
            serve it, else ``"cpu"``.
        conventions: Which side holds where the documentation of the known API and its runtime differ.
        on_overflow: What happens when contacts outgrow their buffers, which hold all possible ones where that
            fits a budget: ``"grow"``, ``"raise"``, or ``"warn"`` and keep the deepest. On the CPU every step is
            looked at, on CUDA the next ``check()``.
        sleeping: Whether bodies at rest may fall asleep, by their authored thresholds; default in one world, as
            the stage says, and not with several environments.

    Returns:
        The view.

    Raises:
        FrontendError: There is no such frontend, or it has no arrays on the device.
        ImportError: The library of the frontend is not installed.
        MissingPackageError: usd-core or Warp is needed and not installed.
        StageSelectionError: No stage or scene is given, several are, or the id or an option is unknown.
        StageError: The stage cannot be simulated (``tensorphys_usd``).
        BuildError, UnsupportedError: The scene cannot be simulated (``tensorphys_engine``).
    """
    return _API.create_simulation_view(
        frontend_name,
        stage_id,
        stage=stage,
        scene=scene,
        environments=environments,
        replicate=replicate,
        device=device,
        conventions=conventions,
        on_overflow=on_overflow,
        sleeping=sleeping,
    )


def _create(
    frontend_name: str,
    stage_id: int,
    *,
    stage: Any = None,
    scene: Scene | None = None,
    environments: str | None = None,
    replicate: int | None = None,
    device: Any = None,
    conventions: Literal["documentation", "runtime"] = "documentation",
    on_overflow: Literal["grow", "raise", "warn"] = "grow",
    sleeping: bool | None = None,
) -> SimulationView:
    _check_choice("conventions", conventions, ("documentation", "runtime"))
    _check_choice("on_overflow", on_overflow, ("grow", "raise", "warn"))
    try:
        return _build(
            frontend_name,
            stage_id,
            stage,
            scene,
            environments,
            replicate,
            device,
            conventions,
            on_overflow,
            sleeping,
        )
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if not module:
            raise
        package = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
        raise MissingPackageError("create_simulation_view", package, f"pip install {package}") from error


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise StageSelectionError(f"{name}: expected one of {', '.join(map(repr, choices))}, given {value!r}")


def _build(
    frontend_name: str,
    stage_id: int,
    stage: Any,
    scene: Scene | None,
    environments: str | None,
    replicate: int | None,
    device: Any,
    conventions: Literal["documentation", "runtime"],
    on_overflow: Literal["grow", "raise", "warn"],
    sleeping: bool | None,
) -> SimulationView:
    if frontend_name in ("torch", "pytorch") and importlib.util.find_spec("torch") is None:
        # Asked before anything else, so that the answer names what the caller named.
        raise MissingPackageError("the torch frontend", "torch", _TORCH_HINT)

    import tensorphys_arrays
    import tensorphys_scene

    try:
        frontend = tensorphys_arrays.get_frontend(frontend_name)
        chosen = _device(frontend, device)
        frontend.check_simulation_device(chosen)
    except (tensorphys_arrays.UnknownFrontendError, tensorphys_arrays.FrontendDeviceError) as error:
        raise FrontendError(str(error)) from error

    import tensorphys_engine
    from tensorphys.core import Core
    from tensorphys.simulation_view import SimulationView

    if scene is not None:
        if stage is not None or stage_id != -1 or environments is not None:
            raise StageSelectionError(
                "scene: a scene is complete; stage, stage_id and environments go without it"
            )
    else:
        import tensorphys_usd

        stage = _stage(stage, stage_id)
        scene = tensorphys_usd.parse_stage(stage, environments=environments)
    if replicate is not None:
        scene = tensorphys_scene.replicate(scene, replicate)
    simulation = tensorphys_engine.Simulation(
        scene, device=chosen, on_overflow=on_overflow, sleeping=sleeping
    )
    core = Core(simulation, frontend, conventions=conventions, stage=stage)
    if stage is not None:
        core.watch = _watch(core, stage)
    return SimulationView(core)


def _watch(core: Core, stage: Any) -> Any:
    """Ends the use of all views once a simulated prim leaves the stage, for as long as the core lives."""
    import tensorphys_usd

    known = weakref.ref(core)

    def removed(paths: Sequence[str]) -> None:
        alive = known()
        if alive is not None and alive.valid and alive.catalog.holds_any(paths):
            alive.valid = False

    return tensorphys_usd.StageWatch(stage, removed)


def _device(frontend: Any, device: Any) -> str:
    """Alias of the device that was asked for, else of the best one that the frontend serves."""
    import warp as wp

    wp.init()
    if device is not None:
        try:
            return str(wp.get_device(str(device)))
        except (RuntimeError, ValueError) as error:
            names = ", ".join(str(known) for known in wp.get_devices())
            raise FrontendError(f"device: there is no {device!r}; expected one of {names}") from error
    if frontend.name != "numpy" and wp.get_cuda_device_count() > 0:
        return "cuda:0"
    return "cpu"


def _stage(stage: Any, stage_id: int) -> Any:
    """The stage that was given, opened, or that the cache holds."""
    import tensorphys_usd

    if stage is not None:
        if stage_id != -1:
            raise StageSelectionError("give stage or stage_id, not both")
        return (
            tensorphys_usd.open_stage(stage)
            if isinstance(stage, str) or hasattr(stage, "__fspath__")
            else stage
        )
    from pxr import Usd, UsdUtils

    cache = UsdUtils.StageCache.Get()
    known = cache.GetAllStages()
    ids = ", ".join(str(cache.GetId(each).ToLongInt()) for each in known) or "none"
    if stage_id == -1:
        if len(known) != 1:
            raise StageSelectionError(
                f"stage_id=-1 means the only stage in UsdUtils.StageCache, which holds {len(known)} (ids: {ids}): "
                "give stage, stage_id or scene"
            )
        return known[0]
    found = cache.Find(Usd.StageCache.Id.FromLongInt(stage_id))
    if not found:
        raise StageSelectionError(f"stage_id: UsdUtils.StageCache has no stage {stage_id} (ids: {ids})")
    return found
