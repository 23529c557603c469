"""The scenes of the collision pipeline in one run: robots on a plane, a pile of boxes, rays at a mesh, nuts on bolts.

python tools/bench scenes --device cpu --peers coal,newton,mujoco_warp,trimesh,embree
"""

from __future__ import annotations

import json
import os
import pathlib
import runpy
import sys
import tempfile
from typing import Any

from timing import arguments

HERE = pathlib.Path(__file__).resolve().parent
SCENES = {
    "quadrupeds": ("coal", "newton", "mujoco_warp"),
    "pile": ("coal", "newton"),
    "rays": ("coal", "trimesh", "embree"),
    "threads": (),
}
"""Scripts, and the peers that each can run."""


def run(script: str, extra: list[str]) -> dict[str, Any]:
    """What a script measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "result.json"
        before = sys.argv
        sys.argv = [script, *extra, "--json", str(path)]
        try:
            runpy.run_path(str(HERE / f"{script}.py"), run_name="__main__")
        finally:
            sys.argv = before
        return dict(json.loads(path.read_text(encoding="utf-8")))


def main() -> None:
    """Run the scripts one after another, and keep what they measured together."""
    parser = arguments(__doc__)
    parser.add_argument("--scenes", default=",".join(SCENES), help="some of them, comma-separated")
    parser.add_argument("--small", action="store_true", help="a hundredth of each, to see that it runs")
    options = parser.parse_args()
    wanted = set(filter(None, options.peers.split(",")))
    small = {
        "quadrupeds": ["--environments", "82"],
        "pile": ["--boxes", "200"],
        "rays": ["--rays", "10000", "--cells", "22"],
        "threads": ["--resolution", "32"],
    }
    results = []
    for script in options.scenes.split(","):
        peers = [name for name in SCENES[script] if name in wanted]
        extra = ["--device", options.device, "--repeat", str(options.repeat), "--peers", ",".join(peers)]
        try:
            results.append(run(script, extra + (small[script] if options.small else [])))
        except ModuleNotFoundError as error:  # what the extras bring, in an environment of a peer
            results.append({"scene": script, "failed": str(error)})
    kept = options.json or os.environ.get("TENSORPHYS_BENCH_JSON")
    if kept:
        pathlib.Path(kept).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
