"""CPU time of recording frames: a Panda, the links of many ants, a mesh of 10,000 points.

Usage: ``python packages/usd/bench/recording.py [ENVIRONMENTS] [--frames 60]``

The time of the calls of `record` and that of writing the file at the end are given apart, both for one frame.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene, replicate
from tensorphys_usd import Recorder, parse_stage

_SIDE = 100
# Motion of a pose in one frame; quaternions need not be of unit length.
_DRIFT = np.array([0.01, 0.02, -0.01, 0.01, 0.0, 0.01, 0.02])


def author_chain(path: Path, links: int) -> None:
    """A chain of links, each with a revolute joint to the one before."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/scene")
    for index in range(links):
        link = UsdGeom.Xform.Define(stage, f"/robot/link{index}")
        link.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.25 * index))
        UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
        if index:
            joint = UsdPhysics.RevoluteJoint.Define(stage, f"/robot/joint{index}")
            joint.CreateBody0Rel().SetTargets([f"/robot/link{index - 1}"])
            joint.CreateBody1Rel().SetTargets([f"/robot/link{index}"])
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath("/robot/link0"))
    mesh = UsdGeom.Mesh.Define(stage, "/cloth")
    mesh.CreatePointsAttr(np.zeros((_SIDE * _SIDE, 3), np.float32))
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    stage.GetRootLayer().Save()


def measure(
    name: str, folder: Path, scene: Scene, frames: int, values: Callable[[int], dict[str, Any]]
) -> None:
    """Record frames in both formats and print the time of one."""
    for suffix in ("usda", "usdc"):
        start = time.process_time()
        recorder = Recorder(folder / f"out.{suffix}", folder / "source.usda", scene)
        recorder.record(0.0, **values(0))  # authors the attributes
        made = time.process_time() - start
        start = time.process_time()
        for index in range(1, frames + 1):
            recorder.record(index / 60.0, **values(index))
        recorded = (time.process_time() - start) / frames
        start = time.process_time()
        recorder.close()
        written = (time.process_time() - start) / (frames + 1)
        size = (folder / f"out.{suffix}").stat().st_size / (frames + 1)
        print(
            f"{name}, .{suffix}: {1e3 * recorded:.3g} ms to record and {1e3 * written:.3g} ms to write a frame "
            f"({size / 1e3:.3g} kB), {made:.2f} s to open"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environments", type=int, nargs="?", default=4096)
    parser.add_argument("--frames", type=int, default=60)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)

    def poses(*shape: int) -> np.ndarray:
        result = random.normal(size=(*shape, 7))
        result[..., 3:] /= np.linalg.norm(result[..., 3:], axis=-1, keepdims=True)
        return result

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        author_chain(folder / "source.usda", 12)
        scene = parse_stage(folder / "source.usda")
        panda, angles = poses(1, 12), random.normal(size=11)
        measure("12 links", folder, scene, arguments.frames, lambda frame: {"poses": panda + _DRIFT * frame})
        measure(
            "12 links and 11 joint states",
            folder,
            scene,
            arguments.frames,
            lambda frame: {
                "poses": panda + _DRIFT * frame,
                "joint_positions": angles + 0.01 * frame,
                "joint_velocities": angles - 0.01 * frame,
            },
        )
        cloth = random.normal(size=(_SIDE * _SIDE, 3))
        measure(
            f"mesh of {_SIDE * _SIDE} points",
            folder,
            scene,
            arguments.frames,
            lambda frame: {"points": {"/cloth": cloth + 0.01 * frame}},
        )
        author_chain(folder / "source.usda", 9)
        many = replicate(parse_stage(folder / "source.usda"), arguments.environments, spacing=4.0)
        ants = poses(arguments.environments, 9)
        measure(
            f"{arguments.environments} times 9 links",
            folder,
            many,
            max(1, arguments.frames // 10),
            lambda frame: {"poses": ants + _DRIFT * frame},
        )


if __name__ == "__main__":
    main()
