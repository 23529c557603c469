"""Against what an open-source PhysX SDK read from the same stages (recorded in data/oracle/recorded.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorphys_scene import Template
from tensorphys_spatial import inertia_from_principal
from tensorphys_usd import parse_stage

_FOLDER = Path(__file__).parent / "data" / "oracle"
_RECORDED = json.loads((_FOLDER / "recorded.json").read_text())


@pytest.fixture(params=sorted(_RECORDED))
def run(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Template]:
    record = _RECORDED[request.param]
    scene = parse_stage(_FOLDER / f"{request.param}.usda")
    np.testing.assert_allclose(scene.settings.gravity, record["gravity"], atol=1e-5)
    return record, scene.templates[0]


def _axes_in_link_order(template: Template, articulation: int) -> list[int]:
    rows = []
    for link in np.flatnonzero(template.links.articulation == articulation):
        first = template.links.joint[link]
        for joint in range(first, first + template.links.joint_count[link]):
            rows += np.flatnonzero(template.axes.joint == joint).tolist()
    return rows


def test_masses(run: tuple[dict[str, Any], Template]) -> None:
    record, template = run
    for path, expected in record["mass"].items():
        row = template.bodies.row(path)
        inertia = inertia_from_principal(expected["com"][3:], expected["inertia"])
        assert template.bodies.mass[row] == pytest.approx(expected["mass"], rel=1e-5)
        np.testing.assert_allclose(template.bodies.com[row], expected["com"][:3], atol=1e-5)
        np.testing.assert_allclose(template.bodies.inertia[row], inertia, atol=2e-4 * np.abs(inertia).max())


def test_links_and_degrees_of_freedom(run: tuple[dict[str, Any], Template]) -> None:
    record, template = run
    owner = template.links.articulation
    links = [
        [path for path, index in zip(template.links.path, owner, strict=True) if index == k]
        for k in range(len(record["links"]))
    ]
    assert links == record["links"]
    dofs = [
        [template.axes.path[row] for row in _axes_in_link_order(template, k)]
        for k in range(len(record["dofs"]))
    ]
    assert dofs == record["dofs"]
    assert template.articulations.fixed_base.tolist() == record["fixed_base"]


def test_initial_state(run: tuple[dict[str, Any], Template]) -> None:
    record, template = run
    rows = [row for k in range(template.articulations.count) for row in _axes_in_link_order(template, k)]
    np.testing.assert_allclose(template.axes.position[rows], record.get("dof_pos", []), atol=1e-5)
    np.testing.assert_allclose(template.axes.velocity[rows], record.get("dof_vel", []), atol=1e-5)
    for index, path in enumerate(record["bodies"]):
        row = template.bodies.row(path)
        np.testing.assert_allclose(template.bodies.pose[row], record["body_pose"][index], atol=1e-5)
        velocity = np.concatenate(
            (template.bodies.linear_velocity[row], template.bodies.angular_velocity[row])
        )
        np.testing.assert_allclose(velocity, record["body_vel"][index], atol=1e-5)
