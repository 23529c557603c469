"""``tensorphys inspect``: what is on a stage."""

from __future__ import annotations

import json
import warnings

from tensorphys.cli.arguments import Arguments
from tensorphys.cli.loading import build, chosen_device, load
from tensorphys.cli.report import scene_lines
from tensorphys.cli.stage_data import scene_data
from tensorphys_engine import EngineError, UnsupportedWarning


def inspect_stage(chosen: Arguments) -> int:
    """Print a report of a stage.

    Returns:
        0.

    Raises:
        StageError: If the stage cannot be read.
        BuildError: If no simulation can be built of it, after the report.
    """
    _, scene = load(chosen)
    findings, failure = scene.findings, None
    try:
        with warnings.catch_warnings():
            # The findings say the same, prim by prim.
            warnings.simplefilter("ignore", UnsupportedWarning)
            findings = build(scene, chosen_device("cpu"), ignore_unsupported=True).findings
    except EngineError as error:
        failure = error
    data = scene_data(scene, findings)
    if chosen.json:
        print(json.dumps({"stage": chosen.stage, **data}, indent=1, allow_nan=False, ensure_ascii=False))
    else:
        print("\n".join(scene_lines(data, chosen.stage, details=True)))
    if failure is not None:
        raise failure
    return 0
