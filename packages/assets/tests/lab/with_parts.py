"""Puts classes of this package in the place of Isaac Lab's; copied beside its suites as ``conftest.py``."""

from __future__ import annotations

import isaaclab.utils.warp
import isaaclab.utils.warp.proxy_array
import isaaclab.utils.wrench_composer

import tensorphys_assets as ta
from tensorphys_assets import proxy

isaaclab.utils.warp.ProxyArray = isaaclab.utils.warp.proxy_array.ProxyArray = proxy._Proxy
isaaclab.utils.wrench_composer.WrenchComposer = ta.WrenchComposer
