"""Puts the cache of finders of this package under Isaac Lab's suite; copied there as ``conftest.py``."""

from __future__ import annotations

from typing import Any

import isaaclab.assets.asset_base

from tensorphys_assets.selection import FinderCache


class AssetBase:
    """What the suite of selectors asks of an asset, from the parts that assets of this package use."""

    _device: str

    @property
    def device(self) -> str:
        return self._device

    def _resolve_finder_indices(
        self, indices: Any, *, domain: str, as_proxy: bool, legacy_type: str, proxy_indices: Any = None
    ) -> Any:
        cache = self.__dict__.setdefault("_cache", FinderCache(self._device))
        if as_proxy:
            return cache.get(domain, indices if proxy_indices is None else proxy_indices)
        if legacy_type == "list":
            return list(indices)
        return FinderCache(self._device).get(domain, indices).torch

    def _clear_selector_cache(self) -> None:
        self.__dict__.pop("_cache", None)


isaaclab.assets.asset_base.AssetBase = AssetBase
