"""Puts the map of names of this package under Isaac Lab's suite of orders; copied there as ``conftest.py``."""

from __future__ import annotations

import sys

import isaaclab.assets.articulation.ordering

from tensorphys_assets import ordering

# Imported after this, Isaac Lab's articulations build their maps with it as well.
isaaclab.assets.articulation.ordering.build_articulation_name_map = ordering.build_name_map
# The suite puts a stand-in under Isaac Lab's articulations before they are imported, which this package has done already.
for name in [name for name in sys.modules if name.startswith(("isaaclab.assets.asset_base", "isaaclab.sim"))]:
    del sys.modules[name]
for name in ("base_articulation", "base_articulation_data", "articulation_cfg"):
    sys.modules.pop(f"isaaclab.assets.articulation.{name}", None)
