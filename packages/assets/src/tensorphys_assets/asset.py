"""What all assets have in common."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets._kernels.rows import (
    fill_chosen,
    fill_masked,
    store_chosen,
    store_from_full,
    store_masked,
)
from tensorphys_assets.errors import ConfigurationError, NotReadyError
from tensorphys_assets.names import match_names
from tensorphys_assets.scene import AssetScene, current_scene
from tensorphys_assets.selection import Axis, Choice, FinderCache, payload_numbers, payload_shape, plain_array

__all__ = ["AssetCore", "DataAsset"]


class AssetCore(ABC):
    """An object of a scene.

    Args:
        cfg: Configuration.
        scene: Scene; the current one where it is left out.
    """

    cfg: Any
    _check_shapes = True

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        self.cfg = cfg.copy() if hasattr(cfg, "copy") else cfg
        self._scene = current_scene() if scene is None else scene
        self._check_shapes = not bool(getattr(cfg, "disable_shape_checks", False))
        self._is_initialized = False
        self._device = ""
        self._spawn()
        self._scene.add(self)

    def __del__(self) -> None:  # noqa: B027
        """Nothing is subscribed to that would have to be left."""

    def _spawn(self) -> None:
        spawn = getattr(self.cfg, "spawn", None)
        if spawn is not None:
            state = self.cfg.init_state
            spawn.func(self.cfg.prim_path, spawn, translation=state.pos, orientation=state.rot)

    @abstractmethod
    def _initialize(self, scene: AssetScene) -> None:
        """Find the prims and make the views."""

    def _forget_replayed(self) -> None:  # noqa: B027
        """A graph was replayed that may have changed anything: what was fetched before is not true any more."""

    @property
    def is_initialized(self) -> bool:
        """Whether the scene was reset since the asset was made."""
        return self._is_initialized

    @property
    def device(self) -> str:
        """Warp device of all arrays."""
        return self._device

    @property
    def prim(self) -> Any:
        """Prim at the path of the configuration; the first that matches an expression."""
        stage = self._usd_stage()
        return stage.GetPrimAtPath(self._prim_paths()[0])

    @property
    def has_debug_vis_implementation(self) -> bool:
        """Nothing is drawn by this package."""
        return False

    def set_debug_vis(self, debug_vis: bool) -> bool:
        """Switch drawing on or off.

        Returns:
            False: nothing can be drawn.
        """
        return False

    def set_visibility(self, visible: bool, env_ids: Sequence[int] | None = None) -> None:
        """Show or hide the prims in the stage.

        Args:
            visible: Whether they are shown.
            env_ids: Instances, ``None`` for all.
        """
        paths = self._prim_paths()
        for row in range(len(paths)) if env_ids is None else env_ids:
            prim = self._usd_stage().GetPrimAtPath(paths[int(row)])
            prim.GetAttribute("visibility").Set("inherited" if visible else "invisible")

    def _usd_stage(self) -> Any:
        stage = self._scene.view._core.stage
        if stage is None:
            raise ConfigurationError(f"{self.cfg.prim_path}: the scene was not made from a stage")
        return stage

    @abstractmethod
    def _prim_paths(self) -> list[str]:
        """Prims of the asset, one an environment."""


class DataAsset(AssetCore):
    """An asset with a view, a data object and writers.

    Subclasses fill ``_axes`` (by the words ``env``, ``joint``, ``body``, ``fixed_tendon``, ``spatial_tendon``) and
    ``_pushes``: the setter of each quantity that can be written.
    """

    _data: Any
    _view: Any

    def __init__(self, cfg: Any, *, scene: AssetScene | None = None) -> None:
        self._axes: dict[str, Axis] = {}
        self._pushes: dict[str, Callable[[Choice], None]] = {}
        super().__init__(cfg, scene=scene)

    def _require(self, what: str) -> None:
        if not self._is_initialized:
            raise NotReadyError(f"{type(self).__name__}.{what}: the scene was not reset yet")

    @property
    def data(self) -> Any:
        """State and properties.

        Raises:
            NotReadyError: Before the scene was reset.
        """
        self._require("data")
        return self._data

    @property
    def root_view(self) -> Any:
        """View of the tensor API; after writing through it, call ``data.invalidate_all()``.

        Raises:
            NotReadyError: Before the scene was reset.
        """
        self._require("root_view")
        return self._view

    @property
    def num_instances(self) -> int:
        """Number of instances."""
        self._require("num_instances")
        return self._axes["env"].count

    def update(self, dt: float) -> None:
        """Tell the data that time has passed.

        Args:
            dt: Time [s].
        """
        self._data.update(dt)

    def _forget_replayed(self) -> None:
        self._data.invalidate_state()

    # Finding.

    def _find(
        self,
        kind: str,
        keys: Any,
        names: Sequence[str],
        preserve_order: bool,
        as_proxy: bool,
        within: Any = None,
    ) -> tuple[Any, list[str]]:
        """Places and names that expressions match; with ``within`` plain places are those in it, proxies are not."""
        if within is None:
            places, found = match_names(keys, names, preserve_order)
            return (self._finders.get(kind, places) if as_proxy else places), found
        places, found = match_names(keys, within, preserve_order)
        if as_proxy:
            return self._finders.get(kind, [list(names).index(name) for name in found]), found
        return places, found

    @property
    def _finders(self) -> FinderCache:
        cache = self.__dict__.get("_finder_cache")
        if cache is None:
            cache = self.__dict__["_finder_cache"] = FinderCache(self._device)
        return cache

    # Checks of payloads, as subclasses and users call them.

    def assert_shape_and_dtype(
        self, tensor: Any, shape: tuple[int, ...], dtype: type, name: str = "", *, axis_sizes: Any = None
    ) -> None:
        """Check a payload; numbers that stand for all entries pass.

        Args:
            tensor: Tensor, Warp array, proxy or number.
            shape: Expected shape in elements.
            dtype: Warp type of an element; a tensor has its numbers on trailing axes.
            name: Name for messages.
            axis_sizes: Lengths that are taken as well (those of the selectors).

        Raises:
            AssertionError: Shape or type are others.
        """
        if not self._check_shapes or isinstance(tensor, (int, float)):
            return
        inner = getattr(dtype, "_shape_", ())
        given, kind = payload_shape(plain_array(tensor))
        expected = {(*shape, *inner), (*(axis_sizes or shape), *inner)}
        scalar = getattr(dtype, "_wp_scalar_type_", dtype).__name__
        # AssertionError is what code written against this interface catches.
        if given not in expected:
            raise AssertionError(
                f"{name}: expected the shape {' or '.join(map(str, expected))}, given {given}"
            )
        if kind != scalar:
            raise AssertionError(f"{name}: expected {scalar}, given {kind}")

    def assert_shape_and_dtype_mask(
        self,
        tensor: Any,
        masks: tuple[Any, ...],
        dtype: type,
        name: str = "",
        trailing_dims: tuple[int, ...] = (),
    ) -> None:
        """Check a payload of a masked writer, which has all entries.

        Args:
            tensor: Tensor, Warp array, proxy or number.
            masks: A mask for each leading axis.
            dtype: Warp type of an element.
            name: Name for messages.
            trailing_dims: Further axes.

        Raises:
            AssertionError: Shape or type are others.
        """
        shape = (*(int(mask.shape[0]) for mask in masks), *trailing_dims)
        self.assert_shape_and_dtype(tensor, shape, dtype, name)

    # Writing.

    def _choose(self, selectors: Mapping[str, Any], items: str) -> tuple[Choice, Choice | None]:
        """Instances and items that the arguments of a writer mean."""
        rows = self._axes["env"].choose(selectors.get("env_ids"), selectors.get("env_mask"))
        if not items:
            return rows, None
        chosen = self._axes[items].choose(selectors.get(f"{items}_ids"), selectors.get(f"{items}_mask"))
        return rows, chosen

    def _store(
        self, target: wp.array, value: Any, rows: Choice, items: Choice, what: str, *, full: bool = False
    ) -> None:
        """Write a payload or a number into chosen rows and items of an array [rows, items, numbers]."""
        width = target.shape[2]
        if rows.count == 0 or items.count == 0 or width == 0:
            return
        masked = rows.mask is not None or items.mask is not None
        dim = (rows.count, items.count, width)
        if masked:
            choosers = [
                rows.mask if rows.mask is not None else self._axes["env"].mask,
                items.mask if items.mask is not None else self._all_true(items.count),
            ]
        else:
            choosers = [rows.ids, items.ids]
        if isinstance(value, (int, float)):
            kernel = fill_masked if masked else fill_chosen
            wp.launch(kernel, dim, [float(value), *choosers], [target], device=self._device)
            return
        shape = (target.shape[0], target.shape[1], width) if full and not masked else dim
        numbers = payload_numbers(value, shape, self._device, what)
        kernel = store_masked if masked else (store_from_full if full else store_chosen)
        wp.launch(kernel, dim, [numbers, *choosers], [target], device=self._device)

    def _check_payload(
        self, value: Any, dtype: Any, rows: Choice, items: Choice | None, trailing: tuple[int, ...], what: str
    ) -> None:
        shape = (rows.count, *((items.count,) if items is not None else ()), *trailing)
        self.assert_shape_and_dtype(value, shape, dtype, what)

    def _write(
        self, quantity: str, value: Any, rows: Choice, items: Choice | None, what: str, *, full: bool = False
    ) -> None:
        """Write a payload into a buffer and hand the rows to the engine; buffers that it refuses are fetched again."""
        data = self._data
        array = data.array(quantity)
        trailing = tuple(array.shape[2:])
        if full:
            self.assert_shape_and_dtype(value, tuple(array.shape), array.dtype, what)
        else:
            self._check_payload(value, array.dtype, rows, items, trailing, what)
        one = self._one if items is None else items
        self._store(data.numbers(quantity), value, rows, one, what, full=full)
        self._push(quantity, rows)

    def _push(self, quantity: str, rows: Choice) -> None:
        """Hand rows of a buffer to the engine; a buffer that it refuses is fetched again."""
        push = self._pushes.get(quantity)
        if push is None:
            return
        try:
            with self._data.writing(quantity):
                push(rows)
        except Exception:
            self._data.invalidate((quantity,), themselves=True)
            raise

    def _all_true(self, count: int) -> wp.array:
        """Mask that leaves nothing out."""
        masks = self.__dict__.setdefault("_true_masks", {})
        if count not in masks:
            masks[count] = wp.full(count, True, dtype=wp.bool, device=self._device)
        return masks[count]

    @property
    def _one(self) -> Choice:
        axis = self._axes.get("one")
        if axis is None:
            axis = self._axes["one"] = Axis(1, self._device, "item")
        return axis.choose()

    def _write_state(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, skip: bool, what: str
    ) -> None:
        self._require(what)
        rows, chosen = self._choose(selectors, items)
        self._write(quantity, value, rows, chosen, what)
        if not skip:
            self._data.invalidate((quantity,))

    def _write_property(
        self, quantity: str, value: Any, selectors: Mapping[str, Any], items: str, what: str
    ) -> None:
        self._require(what)
        rows, chosen = self._choose(selectors, items)
        self._write(quantity, value, rows, chosen, what)
        self._data.invalidate((quantity,))

    def _host_rows(self, rows: Choice) -> wp.array | None:
        """Rows for setters of properties, which live in host memory."""
        if rows.everything:
            return None
        return wp.array(rows.host(), dtype=wp.int32, device="cpu")


def broadcast_initial(values: Sequence[float], count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """One row for each instance, float32."""
    row = np.asarray(values, dtype=np.float32)
    if not all(math.isfinite(number) for number in row.tolist()):
        raise ConfigurationError(f"init_state: expected finite numbers, given {list(values)}")
    return np.tile(row, (count, 1))
