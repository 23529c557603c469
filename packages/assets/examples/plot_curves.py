"""Draws the learning curves that train_cartpole.py and train_ant.py write."""

from __future__ import annotations

import argparse
import json
import pathlib

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt


def main() -> None:
    """Return or speed over time, a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--of", choices=("return", "speed"), default="return")
    parser.add_argument("--labels", nargs="*", default=[], help="names of the lines, for a legend")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("curve.png"))
    options = parser.parse_args()
    figure, axes = plt.subplots(figsize=(6, 3), dpi=110)
    goal = 1.0
    for number, file in enumerate(options.files):
        record = json.loads(file.read_text(encoding="utf-8"))
        goal = 0.95 * record["most"] if options.of == "return" else 1.0
        line = [(entry["seconds"], entry[options.of]) for entry in record["curve"]]
        label = options.labels[number] if number < len(options.labels) else None
        axes.plot(*zip(*line, strict=True), linewidth=1, label=label)
    axes.axhline(goal, color="grey", linestyle="--", linewidth=1)
    axes.set_xlabel("time of one core [s]" if options.of == "return" else "time [s]")
    axes.set_ylabel("mean return" if options.of == "return" else "mean speed [m/s]")
    axes.spines[["top", "right"]].set_visible(False)
    if options.labels:
        axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(options.out)


if __name__ == "__main__":
    main()
