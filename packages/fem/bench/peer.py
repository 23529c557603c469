"""A step beside Newton's VBD on the same mesh, material, masses and start, to the residual that VBD reaches.

    python packages/fem/bench/peer.py --device cuda:0                 1 body of 20,480 tetrahedra, 1024 bodies of 320
    python packages/fem/bench/peer.py --scene tiny --replays 3        what a CPU can do
    python packages/fem/bench/peer.py --device cuda:0 --profile       and where our time goes, by kernel

Blocks of 0.1 m cells (five tetrahedra each) hang from their left face: μ = λ = 1e5 Pa, 1000 kg/m³, no damping, h = 1/600 s.
Both solve m (x − x0 − h v0) / h² = m g + f(x). Its residual is taken in float64 on the host, from what each of the two
makes of the same float32 states, and given as a part of the weight. VBD makes 10 iterations, its default here. Ours is run
at several tolerances; the fastest whose residual is not above that of VBD is the one that is compared. Times are medians
over replays of a CUDA graph of 10 steps (on the CPU: processor time). Needs `newton` (1.8.0 was used).
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

import tensorphys_fem as tf

Array = npt.NDArray[np.float64]

SHEAR = BULK = 1e5
DENSITY = 1e3
CELL = 0.1
STEP = 1.0 / 600.0
GRAVITY = np.array((0.0, 0.0, -9.81), dtype=np.float32).astype(float)
HEIGHT = 3.0
STEPS_PER_GRAPH = 10
ITERATIONS = 10
TOLERANCES = (3e-1, 1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4)
SCENES = {
    "peer-20k": (1, (16, 16, 16)),
    "peer-320": (1024, (4, 4, 4)),
    "tiny": (4, (3, 3, 3)),
}


@dataclasses.dataclass(frozen=True)
class Scene:
    """What both solvers are given, one body; `count` copies stand at the same place."""

    name: str
    count: int
    mesh: tf.TetMesh
    fixed: npt.NDArray[np.bool_]
    mass: Array


def grid_builder(cells: tuple[int, int, int]) -> Any:
    """Newton's grid of a block, five tetrahedra in each cell."""
    import newton

    builder = newton.ModelBuilder()
    builder.add_soft_grid(
        pos=wp.vec3(0.0, 0.0, HEIGHT),
        rot=wp.quat_identity(),
        vel=wp.vec3(0.0, 0.0, 0.0),
        **dict(zip(("dim_x", "dim_y", "dim_z"), cells, strict=True)),
        **dict.fromkeys(("cell_x", "cell_y", "cell_z"), CELL),
        density=DENSITY,
        k_mu=SHEAR,
        k_lambda=BULK,
        k_damp=0.0,
        fix_left=True,
        add_surface_mesh_edges=False,
    )
    return builder


def make_scene(name: str) -> Scene:
    """Mesh and lumped masses from the grid of the peer."""
    count, cells = SCENES[name]
    builder = grid_builder(cells)
    points = np.array([tuple(q) for q in builder.particle_q], dtype=np.float32).astype(float)
    tets = np.array(builder.tet_indices).reshape(-1, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mesh = tf.TetMesh.from_arrays(points, tets)
    share = np.repeat(0.25 * DENSITY * mesh.volumes, 4)
    mass = np.bincount(mesh.tets.reshape(-1), weights=share, minlength=len(points))
    return Scene(name, count, mesh, points[:, 0] < 1e-6, mass)


class Residual:
    """The residual of a step of backward Euler, in float64 on the host."""

    def __init__(self, scene: Scene) -> None:
        """Gradients of the shape functions and volumes of the float32 rest shape."""
        corners = scene.mesh.points[scene.mesh.tets]
        edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
        self.scene, self.inverse = scene, np.linalg.inv(edges)
        self.volume = np.linalg.det(edges) / 6.0
        self.weight = float(np.linalg.norm(scene.mass[~scene.fixed]) * np.linalg.norm(GRAVITY))

    def forces(self, x: Array) -> Array:
        """Elastic forces on the nodes, ψ = μ/2 (‖F‖² − 3) − μ (J − 1) + (λ + μ)/2 (J − 1)²."""
        tets = self.scene.mesh.tets
        corners = x[tets]
        f = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2) @ self.inverse
        columns = [f[:, :, i] for i in range(3)]
        cof = np.stack([np.cross(columns[i - 2], columns[i - 1]) for i in range(3)], axis=2)
        j = np.einsum("ei,ei->e", columns[0], cof[:, :, 0])
        stress = SHEAR * f + ((SHEAR + BULK) * (j - 1.0) - SHEAR)[:, None, None] * cof
        h = -self.volume[:, None, None] * stress @ np.swapaxes(self.inverse, 1, 2)
        result = np.zeros_like(x)
        for i in range(3):
            np.add.at(result, tets[:, i + 1], h[:, :, i])
        np.add.at(result, tets[:, 0], -h.sum(axis=2))
        return result

    def of(self, start: Array, velocity: Array, end: Array) -> float:
        """Norm of the residual at free nodes over that of the weight, of one body."""
        m = self.scene.mass[:, None]
        left = m * (end - start - STEP * velocity) / STEP**2 - m * GRAVITY - self.forces(end)
        return float(np.linalg.norm(left[~self.scene.fixed])) / self.weight

    def worst(self, start: Array, velocity: Array, end: Array) -> float:
        """The largest over up to four of the bodies; they are equal."""
        size = len(self.scene.mass)
        bodies = range(0, self.scene.count, max(1, self.scene.count // 4))
        parts = [slice(b * size, (b + 1) * size) for b in bodies]
        return max(self.of(start[p], velocity[p], end[p]) for p in parts)


class Peer:
    """Newton's VBD."""

    def __init__(self, scene: Scene, device: str, *, tile: bool, collide: bool) -> None:
        """Build the model; masses are the lumped ones of the mesh."""
        import newton

        one = grid_builder(SCENES[scene.name][1])
        one.particle_mass[:] = [0.0 if f else float(m) for f, m in zip(scene.fixed, scene.mass, strict=True)]
        one.color()
        builder = one
        if scene.count > 1:
            builder = newton.ModelBuilder()
            builder.replicate(one, scene.count)
        builder.add_ground_plane()
        with wp.ScopedDevice(device):
            self.model = builder.finalize()
            self.solver = newton.solvers.SolverVBD(
                self.model,
                iterations=ITERATIONS,
                particle_enable_self_contact=False,
                particle_enable_tile_solve=tile,
            )
            self.states = [self.model.state(), self.model.state()]
            self.control = self.model.control()
            self.pipeline = newton.CollisionPipeline(self.model) if collide else None
            self.contacts = self.pipeline.contacts() if self.pipeline else None

    def step(self) -> None:
        """One step of states[0]."""
        first, second = self.states
        first.clear_forces()
        if self.pipeline is not None:
            self.pipeline.collide(first, self.contacts)
        self.solver.step(first, second, self.control, self.contacts, STEP)
        self.states = [second, first]

    def read(self) -> tuple[Array, Array]:
        """Positions and velocities as they are held, in float64."""
        state = self.states[0]
        return state.particle_q.numpy().astype(float), state.particle_qd.numpy().astype(float)


class Ours:
    """The solver of this package in the damped scheme, backward Euler."""

    def __init__(self, scene: Scene, device: str, tolerance: float, path: Any) -> None:
        """Build the model; nodes of the left face are driven to where they are."""
        poisson = BULK / (2.0 * (BULK + SHEAR))
        youngs = 2.0 * SHEAR * (1.0 + poisson)
        material = tf.Material(youngs, poisson, DENSITY, elasticity=tf.Elasticity.NEO_HOOKEAN)
        bodies = [tf.Body(scene.mesh, material, environment=i) for i in range(scene.count)]
        self.model = tf.FemModel(bodies, device=device)
        self.state, self.control = tf.FemState(self.model), tf.FemControl(self.model, gravity=GRAVITY)
        target = np.ones((scene.count, len(scene.mass), 4), dtype=np.float32)
        target[:, scene.fixed, :3] = scene.mesh.points[scene.fixed]
        target[:, scene.fixed, 3] = 0.0
        self.control.target.assign(target.reshape(-1, 4))
        settings = tf.SolverSettings(
            tolerance=tolerance, linear_tolerance=min(max(tolerance, 1e-2), 0.3), newton_iterations=4
        )
        self.solver = tf.FemSolver(self.model, settings, path=path)
        self.dt = wp.full(1, STEP, dtype=wp.float32, device=device)

    def step(self) -> None:
        """One step."""
        self.solver.step(self.state, self.control, self.dt)

    def write(self, positions: Array, velocities: Array) -> None:
        """Start from a state."""
        device = self.model.device
        self.state.set_positions(wp.array(positions.astype(np.float32), dtype=wp.vec3, device=device))
        self.state.set_velocities(wp.array(velocities.astype(np.float32), dtype=wp.vec3, device=device))

    def end(self) -> Array:
        """Positions in float64."""
        return np.asarray(self.state.position.numpy(), dtype=np.float64)


def time_steps(step: Callable[[], None], device: str, replays: int) -> float:
    """Median time of a step [s]."""
    samples = []
    if not wp.get_device(device).is_cuda:
        for _ in range(replays):
            start = time.process_time()
            step()
            samples.append(time.process_time() - start)
        return statistics.median(samples)
    with wp.ScopedDevice(device), wp.ScopedCapture() as capture:
        for _ in range(STEPS_PER_GRAPH):
            step()
    first, last = (wp.Event(device, enable_timing=True) for _ in range(2))
    for replay in range(replays + 3):
        wp.record_event(first)
        wp.capture_launch(capture.graph)
        wp.record_event(last)
        elapsed = wp.get_event_elapsed_time(first, last)
        if replay >= 3:
            samples.append(1e-3 * elapsed / STEPS_PER_GRAPH)
    return statistics.median(samples)


def probe_peer(peer: Peer, residual: Residual, probes: int) -> tuple[list[tuple[Array, Array]], list[float]]:
    """States along a run of the peer, every 20 steps, and its residual in the step that follows."""
    states, found = [], []
    for _ in range(probes):
        for _ in range(20):
            peer.step()
        states.append(peer.read())
        peer.step()
        found.append(residual.worst(*states[-1], peer.read()[0]))
    return states, found


def probe_ours(ours: Ours, states: list[tuple[Array, Array]], residual: Residual) -> list[float]:
    """Residual of a step from each of the states."""
    found = []
    for positions, velocities in states:
        ours.write(positions, velocities)
        ours.step()
        found.append(residual.worst(positions, velocities, ours.end()))
    return found


def profile(ours: Ours, steps: int = 3) -> None:
    """Print the time of each kernel in a step, launched one by one."""
    parallel = ours.solver._parallel
    if parallel is not None:
        parallel.solve = lambda control, limits: parallel.run(control.loads(), limits)  # type: ignore[method-assign]
    ours.step()
    wp.timing_begin(cuda_filter=wp.TIMING_KERNEL | wp.TIMING_MEMCPY | wp.TIMING_MEMSET)
    for _ in range(steps):
        ours.step()
    totals: dict[str, list[float]] = collections.defaultdict(lambda: [0.0, 0.0])
    for record in wp.timing_end():
        totals[record.name][0] += record.elapsed / steps
        totals[record.name][1] += 1.0 / steps
    for name, (elapsed, launches) in sorted(totals.items(), key=lambda item: -item[1][0]):
        print(f"    {1e3 * elapsed:9.1f} µs {launches:6.1f} x  {name}", flush=True)
    print(
        f"    {1e3 * sum(t for t, _ in totals.values()):9.1f} µs, {sum(n for _, n in totals.values()):.0f} launches"
    )


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Both solvers on one scene."""
    device = options.device
    scene = make_scene(name)
    residual = Residual(scene)
    tiles = (True, False) if wp.get_device(device).is_cuda and options.tile else (False,)
    row: dict[str, Any] = {"scene": name, "tets": scene.count * len(scene.mesh.tets), "peer_us": {}}
    states: list[tuple[Array, Array]] = []
    for tile in tiles:
        for collide in (False, True):
            peer = Peer(scene, device, tile=tile, collide=collide)
            if not states:
                states, row["peer_residual"] = probe_peer(peer, residual, options.probes)
                rest = [residual.worst(x, v, x + STEP * v + STEP**2 * GRAVITY) for x, v in states]
                print(name, "residual of a step without elasticity", _shown(rest), flush=True)
            else:
                peer.step()
            label = ("tile" if tile else "plain") + (", collide" if collide else "")
            row["peer_us"][label] = 1e6 * time_steps(peer.step, device, options.replays)
            print(name, "VBD", label, f"{row['peer_us'][label]:.0f} µs", flush=True)
    print(name, "VBD residual", _shown(row["peer_residual"]), flush=True)
    row["ours"] = [compare(scene, states, residual, t, options) for t in TOLERANCES]
    reached = [
        r
        for r in row["ours"]
        if all(a <= b for a, b in zip(r["residual"], row["peer_residual"], strict=True))
    ]
    if reached:
        best = min(reached, key=lambda r: r["us"])
        row["ratio"] = {k: best["us"] / us for k, us in row["peer_us"].items()}
        print(name, f"ours {best['us']:.0f} µs at tolerance {best['tolerance']:g}; over VBD:", row["ratio"])
    else:
        print(name, "the residual of VBD was not reached")
    return row


def compare(
    scene: Scene,
    states: list[tuple[Array, Array]],
    residual: Residual,
    tolerance: float,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Residual and time of this package at a tolerance."""
    ours = Ours(scene, options.device, tolerance, options.path)
    found = probe_ours(ours, states, residual)
    ours.write(*states[0])
    taken = 1e6 * time_steps(ours.step, options.device, options.replays)
    newton, linear = ours.solver.newton_count.numpy().mean(), ours.solver.linear_count.numpy().mean()
    unsolved = int(np.count_nonzero(ours.solver.status.numpy()))
    print(
        scene.name,
        f"ours, tolerance {tolerance:g}: {taken:.0f} µs, residual {_shown(found)}, Newton {newton:.2f}, "
        f"conjugate gradients {linear:.1f}, unsolved {unsolved}",
        flush=True,
    )
    if options.profile and tolerance == options.profile_tolerance:
        profile(ours)
    return {
        "tolerance": tolerance,
        "residual": found,
        "us": taken,
        "newton": float(newton),
        "linear": float(linear),
    }


def _shown(values: list[float]) -> str:
    return " ".join(f"{v:.2e}" for v in values)


def main() -> None:
    """Measure the scenes and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scene", action="append", choices=sorted(SCENES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--path", default="auto", choices=("auto", "body", "parallel"))
    parser.add_argument("--replays", type=int, default=15)
    parser.add_argument("--probes", type=int, default=3)
    parser.add_argument("--no-tile", dest="tile", action="store_false")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--profile-tolerance", type=float, default=1e-2)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    wp.config.log_level = wp.LOG_WARNING
    wp.config.enable_backward = False
    rows = [measure(name, options) for name in options.scene or ("peer-20k", "peer-320")]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
