"""Draws the learning curves that train_cartpole.py writes."""

from __future__ import annotations

import argparse
import json
import pathlib

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt


def main() -> None:
    """Return over the time of the CPU, a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("curve.png"))
    options = parser.parse_args()
    figure, axes = plt.subplots(figsize=(6, 3), dpi=110)
    most = 0.0
    for file in options.files:
        record = json.loads(file.read_text(encoding="utf-8"))
        most = record["most"]
        line = [(entry["seconds"], entry["return"]) for entry in record["curve"]]
        axes.plot(*zip(*line, strict=True), linewidth=1)
    axes.axhline(0.95 * most, color="grey", linestyle="--", linewidth=1)
    axes.set_xlabel("time of one core [s]")
    axes.set_ylabel(f"mean return, at most {most:.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(options.out)


if __name__ == "__main__":
    main()
