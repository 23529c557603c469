"""The Panda closes its fingers on the soft cube, lifts it and holds it: python examples/soft_cube/lift.py [--out lift.png]"""

from __future__ import annotations

import argparse
import pathlib

import numpy as np

import tensorphys

STAGE = pathlib.Path(__file__).with_name("soft_cube.usda")
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
SIDES = np.array(
    [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
    ]
    + [(1, 5, 7), (1, 7, 3)]
)
# The hand points down over the cube, its fingers open along y.
READY = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.785, 0.04, 0.04], np.float32)


def rotate(q: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Turn points by a quaternion xyzw."""
    first = 2.0 * np.cross(q[:3], points)
    return points + q[3] * first + np.cross(q[:3], first)


def draw(path: str, sim: tensorphys.SimulationView, cube: np.ndarray) -> None:
    """Hand, fingers and cube, which is coloured by the height that it was pressed to."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    simulation = sim.simulation
    template = simulation.scene.templates[0]
    robot = sim.create_articulation_view("/panda/Geometry/panda_link0")
    names = [str(path).rsplit("/", 1)[-1] for path in robot.link_paths[0]]
    poses = robot.get_link_transforms()[0].astype(float)
    figure = plt.figure(figsize=(6, 5.5))
    axes = figure.add_subplot(projection="3d")
    shapes = template.shapes
    for row in range(shapes.count):
        body = shapes.body[row]
        name = template.bodies.path[body].rsplit("/", 1)[-1] if body >= 0 else ""
        if name not in ("panda_hand", "panda_leftfinger", "panda_rightfinger"):
            continue
        if shapes.mesh[row] >= 0:
            mesh = template.meshes[shapes.mesh[row]]
            points, triangles = mesh.points * shapes.size[row], mesh.triangles
        else:
            points, triangles = CORNERS * shapes.size[row], SIDES
        local, link = shapes.pose[row], poses[names.index(name)]
        points = rotate(local[3:], points) + local[:3]
        points = rotate(link[3:], points) + link[:3]
        axes.plot_trisurf(*points.T, triangles=triangles, color="#b9bec6", alpha=0.3, linewidth=0.0)
    surface = simulation.soft.bodies[0].triangles
    axes.plot_trisurf(*cube.T, triangles=surface, cmap="viridis", edgecolor="#20343f", linewidth=0.3)
    centre = cube.mean(axis=0) + [0.0, 0.0, 0.03]
    for letter, middle in zip("xyz", centre, strict=True):
        getattr(axes, f"set_{letter}lim")(middle - 0.1, middle + 0.1)
        getattr(axes, f"set_{letter}label")(f"{letter} [m]")
        getattr(axes, f"{letter}axis").set_major_locator(mpl.ticker.MaxNLocator(4))
    axes.view_init(elev=12, azim=-18)
    figure.savefig(path, dpi=110, bbox_inches="tight")


def main() -> None:
    """Lift, hold for two seconds, say how far the cube slipped, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="lift.png")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    sim = tensorphys.create_simulation_view("numpy", stage=str(STAGE))
    robot = sim.create_articulation_view("/panda/Geometry/panda_link0")
    cube = sim.create_volume_deformable_body_view("/cube")
    root = robot.link_paths[0]
    hand = sim.create_rigid_body_view(next(str(path) for path in root if str(path).endswith("panda_hand")))
    every = np.zeros(1, np.int32)

    def row(values: list[float] | np.ndarray) -> np.ndarray:
        return np.asarray(values, np.float32)[None]

    robot.set_dof_positions(row(READY), every)
    material = robot.get_material_properties().copy()
    material[..., :2] = 0.7
    robot.set_material_properties(material, every)
    held = None
    for step in range(round(options.seconds * 60)):
        time = (step + 1) / 60.0
        target = READY.copy()
        target[7:] = 0.0 if time > 0.1 else 0.04
        target[1] -= 0.1 * float(np.clip((time - 0.4) / 0.4, 0.0, 1.0))
        robot.set_dof_position_targets(row(target), every)
        sim.step(1.0 / 60.0)
        if held is None and time >= 1.2:
            held = cube.get_simulation_nodal_positions()[0] - hand.get_transforms()[0, :3]
    now = cube.get_simulation_nodal_positions()[0].copy()
    slip = np.linalg.norm(now - hand.get_transforms()[0, :3] - held, axis=1).max()
    print(f"lowest node {now[:, 2].min():.3f} m, largest slip {1000.0 * slip:.2f} mm")
    draw(options.out, sim, now.astype(float))


if __name__ == "__main__":
    main()
