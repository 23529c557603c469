"""Puts the map of names of this package under Isaac Lab's suite of orders; copied there as ``conftest.py``."""

from __future__ import annotations

import isaaclab.assets.articulation.ordering

from tensorphys_assets import ordering

# Imported after this, Isaac Lab's articulations build their maps with it as well.
isaaclab.assets.articulation.ordering.build_articulation_name_map = ordering.build_name_map
