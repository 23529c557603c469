"""What `tools/bench --json` keeps of a run."""

from __future__ import annotations

import importlib.util
import pathlib

SCRIPT = pathlib.Path(__file__).parents[1] / "bench" / "__main__.py"


def test_no_place_of_a_machine_is_kept() -> None:
    spec = importlib.util.spec_from_file_location("bench_main", SCRIPT)
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    given = [
        "--models",
        "/home/somebody/models",
        "--site",
        "newton=/tmp/peers/newton",
        "--count",
        "16",
        "a/b",
    ]
    kept = ["--models", "models", "--site", "newton=newton", "--count", "16", "a/b"]
    assert bench.without_places(given) == kept
