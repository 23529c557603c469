"""A picture of a run: joint positions, base height, contact forces."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys.cli.frames import Frames
from tensorphys.cli.ground import up_index
from tensorphys_engine import Simulation

Array = npt.NDArray[Any]

# Curves of one row; of more, the ones that move or carry most are drawn.
_MOST_CURVES = 32
_MOST_FORCES = 8
_LEGEND_ROWS = 16


class _Row:
    """One quantity: its curves and how they are called."""

    def __init__(self, label: str, names: list[str], values: Array, *, empty: str = "") -> None:
        self.label, self.names, self.values, self.empty = label, names, values, empty


def draw(path: pathlib.Path, frames: Frames, simulation: Simulation, *, environment: int, title: str) -> None:
    """Draw one environment into a file, one row a quantity, in SI units.

    Args:
        path: File; its suffix says the format.
        frames: What was recorded.
        simulation: The simulation.
        environment: Environment to draw.
        title: Title of the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    arrays, description = frames.arrays(), frames.description()
    rows = _rows(arrays, description, simulation, environment)
    # As high as the legend beside it needs.
    heights = [max(2.2, 0.4 + 0.22 * min(len(row.names), _LEGEND_ROWS)) for row in rows]
    figure = Figure(figsize=(12.0, sum(heights) + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axis, row in zip(axes, rows, strict=True):
        _draw_row(axis, arrays["time"], row)
    axes[-1].set_xlabel("time [s]")
    figure.savefig(path, dpi=130)


def _rows(
    arrays: dict[str, Array], description: dict[str, Array], simulation: Simulation, e: int
) -> list[_Row]:
    settings = simulation.scene.settings
    meter = settings.meters_per_unit
    newton = settings.kilograms_per_unit * meter
    template = int(description["environment_template"][e])
    count = int((description["dof_name"][template] != "").sum())
    names = [str(name) for name in description["dof_name"][template, :count]]
    rotational = description["dof_rotational"][template, :count]
    position = arrays["dof_position"][:, e, :count]
    rows = []
    for label, chosen, unit in (
        ("joint positions [rad]", rotational, 1.0),
        ("joint positions [m]", ~rotational, meter),
    ):
        if chosen.any():
            rows.append(_strongest(label, names, position * unit, np.flatnonzero(chosen), _MOST_CURVES))
    rows.append(_base_heights(arrays, simulation, template, e))
    force = np.linalg.norm(arrays["contact_force"][:, e], axis=-1) * newton
    touching = np.flatnonzero(np.nan_to_num(force).max(axis=0, initial=0.0) > 0.0)
    labels = [_leaf(str(link)) for link in description["link_path"][template]]
    row = _strongest("net contact force [N]", labels, force, touching, _MOST_FORCES, by_size=True)
    row.empty = "no contact forces"
    return [*rows, row]


def _strongest(
    label: str, names: list[str], values: Array, chosen: Array, most: int, *, by_size: bool = False
) -> _Row:
    """The chosen columns, at most so many: those that change most, or are largest."""
    if len(chosen) > most:
        columns = np.nan_to_num(values[:, chosen])
        measure = columns.max(axis=0) if by_size else np.ptp(columns, axis=0)
        keep = np.sort(np.argsort(-measure, kind="stable")[:most])
        label = f"{label}\n{most} of {len(chosen)}"
        chosen = chosen[keep]
    return _Row(label, [names[column] for column in chosen], values[:, chosen])


def _base_heights(arrays: dict[str, Array], simulation: Simulation, template: int, e: int) -> _Row:
    """Heights in the world of root links and free bodies."""
    numbering = simulation.directory.numbering
    plan, scene = numbering.plans[template], simulation.scene
    up = up_index(scene)
    roots = np.flatnonzero(plan.link_parent < 0)
    names = []
    for root in roots:
        fixed = " (fixed)" if plan.link_immovable[root] else ""
        names.append(_leaf(plan.link_path(scene.templates[template], int(root))) + fixed)
    height = arrays["link_pose"][:, e][:, roots, up] + scene.environments.origin[e, up]
    height = height * scene.settings.meters_per_unit
    return _strongest("base height [m]", names, height, np.arange(len(roots)), _MOST_FORCES)


def _leaf(path: str) -> str:
    return path.rpartition("/")[2] or "/"


def _draw_row(axis: Any, time: Array, row: _Row) -> None:
    from matplotlib import colormaps

    axis.set_ylabel(row.label)
    axis.grid(True, alpha=0.3)
    axis.margins(x=0.0)
    if not row.names:
        axis.text(0.5, 0.5, row.empty, transform=axis.transAxes, ha="center", va="center", color="0.4")
        axis.set_yticks([])
        return
    colors = colormaps["tab10"](range(10))
    styles = ("-", "--", ":", "-.")
    for k, name in enumerate(row.names):
        style = styles[k // len(colors) % len(styles)]
        # A name that begins with an underscore would be left out of the legend.
        label = f" {name}" if name.startswith("_") else name
        axis.plot(time, row.values[:, k], style, color=colors[k % len(colors)], linewidth=1.3, label=label)
    values = row.values[np.isfinite(row.values)]
    if values.size and np.ptp(values) < 1e-6:  # a flat line in the middle of sensible ticks
        middle = float(values.mean())
        axis.set_ylim(middle - 0.5, middle + 0.5)
    columns = -(-len(row.names) // _LEGEND_ROWS)
    axis.legend(
        loc="upper left", bbox_to_anchor=(1.005, 1.0), fontsize="x-small", ncols=columns, borderaxespad=0.0
    )
