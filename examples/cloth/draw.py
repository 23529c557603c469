"""Let the cloth fall over the ball and draw it: python examples/cloth/draw.py [--out cloth.png] [--seconds 2]"""

from __future__ import annotations

import argparse
import pathlib

import numpy as np

import tensorphys

STAGE = pathlib.Path(__file__).with_name("cloth_over_sphere.usda")


def main() -> None:
    """Simulate, say how the cloth hangs, and draw."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="cloth.png")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    sim = tensorphys.create_simulation_view("numpy", stage=str(STAGE))
    cloth = sim.create_particle_cloth_view("/World/Cloth")
    triangles = sim.simulation.particles.plan.systems[0].cloths[0].mesh.triangles
    for _ in range(round(options.seconds * 60)):
        sim.step(1.0 / 60.0)
    points = cloth.get_positions().reshape(-1, 3)
    inside = 0.3 - np.linalg.norm(points - [0.0, 0.0, 0.5], axis=1)
    print(f"lowest point {points[:, 2].min():.3f} m, deepest in the ball {inside.max():.4f} m")
    figure = plt.figure(figsize=(6, 5))
    axes = figure.add_subplot(projection="3d")
    axes.plot_trisurf(*points.T, triangles=triangles, color="#7aa6c2", edgecolor="#35566b", linewidth=0.15)
    axes.set_box_aspect((1.0, 1.0, 0.7))
    axes.set(
        xlim=(-0.6, 0.6), ylim=(-0.6, 0.6), zlim=(0.0, 0.84), xlabel="x [m]", ylabel="y [m]", zlabel="z [m]"
    )
    axes.view_init(elev=22, azim=-52)
    figure.savefig(options.out, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
