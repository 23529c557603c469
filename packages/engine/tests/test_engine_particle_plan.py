"""Particle prims of a scene become the description of particle systems."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_engine import BuildError
from tensorphys_engine.findings import Findings
from tensorphys_engine.particle_plan import plan_particles
from tensorphys_scene import Scene, Settings, SoftData, SoftKind, SoftPrims, Template, replicate

_POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
_TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)


def prim(kind: SoftKind, **given) -> tuple[SoftKind, SoftData]:
    values = {name.replace("__", ":"): value for name, value in given.pop("values", {}).items()}
    return kind, SoftData(values=values, **given)


def system(path="/System", **values):
    return {path: prim(SoftKind.PARTICLE_SYSTEM, values=values)}


def scene_of(prims: dict, transforms: dict | None = None, settings: Settings | None = None) -> Scene:
    transform = np.tile(np.eye(4), (len(prims), 1, 1))
    for row, path in enumerate(prims):
        if path in (transforms or {}):
            transform[row] = transforms[path]
    soft = SoftPrims(
        path=tuple(prims),
        kind=[int(kind) for kind, _ in prims.values()],
        transform=transform,
        data=tuple(data for _, data in prims.values()),
    )
    return Scene(settings=settings or Settings(), templates=(Template(prims=("", *prims), soft_prims=soft),))


def plan_of(scene: Scene):
    findings = Findings(raise_unsupported=True)
    return plan_particles(scene, findings), findings.entries


OWNER = {"physxParticle:particleSystem": ("/System",)}


def test_values_names_and_frames() -> None:
    shear = np.diag([2.0, 1.0, 1.0, 1.0])
    shear[:3, 3] = (0.0, 0.0, 5.0)
    prims = {
        **system(particleContactOffset=0.1, maxNeighborhood=32, wind=np.array([1.0, 2.0, 3.0])),
        "/Water": prim(SoftKind.PARTICLE_MATERIAL, values={"physxPBDMaterial__viscosity": 0.5}),
        "/Sheet": prim(
            SoftKind.PARTICLE_CLOTH,
            schemas=("PhysxParticleClothAPI", "PhysxAutoParticleClothAPI"),
            points=_POINTS,
            elements=_TRIANGLES,
            targets=OWNER,
            values={"physics__mass": 2.0, "physxAutoParticleCloth__springBendStiffness": 0.0},
        ),
        "/Drops": prim(
            SoftKind.PARTICLE_SET,
            points=_POINTS,
            targets=OWNER,
            material="/Water",
            values={
                "velocities": np.ones((4, 3)),
                "physxParticle__particleGroup": 3,
                "physics__density": 800.0,
            },
        ),
    }
    plan, entries = plan_of(scene_of(prims, {"/Drops": shear, "/Sheet": shear}))
    assert entries == ()
    (made,) = plan.systems
    assert (made.particle_contact_offset, made.max_neighborhood, made.wind) == (0.1, 32, (1.0, 2.0, 3.0))
    (drops,), (sheet,) = made.sets, made.cloths
    np.testing.assert_allclose(drops.positions, _POINTS * [2, 1, 1] + [0, 0, 5])
    np.testing.assert_allclose(drops.velocities, np.tile([2.0, 1.0, 1.0], (4, 1)))
    assert (drops.group, drops.material.viscosity, drops.material.density, drops.fluid) == (
        3,
        0.5,
        800.0,
        True,
    )
    assert sheet.masses == 0.5
    # Two sides of 2, two of 1, the diagonal and its counterpart across.
    assert sorted(sheet.mesh.springs.rest_lengths) == pytest.approx([1, 1, 2, 2, 5**0.5, 5**0.5])
    assert plan.systems_of == {"/System": [0]}
    # Sets are numbered before cloths, whatever the order of the prims.
    assert (plan.set_paths, plan.set_member, plan.cloth_paths, plan.cloth_member) == (
        ["/Drops"],
        [0],
        ["/Sheet"],
        [1],
    )
    assert plan.members_of == {"/Water": [0]}


def test_each_environment_has_a_system_of_its_own() -> None:
    drops = prim(SoftKind.PARTICLE_SET, points=_POINTS, targets=OWNER, material="/Water")
    water = prim(SoftKind.PARTICLE_MATERIAL)
    one = scene_of({**system(solverPositionIterationCount=7), "/Drops": drops, "/Water": water})
    plan, _ = plan_of(replicate(one, 3))
    assert [made.environment for made in plan.systems] == [0, 1, 2]
    assert plan.substeps == 7
    first = next(iter(plan.systems_of))
    assert first.endswith("/System") and len(plan.systems_of) == 3
    assert [plan.members_of[path] for path in plan.members_of] == [[0], [1], [2]]


def test_authored_springs_come_first() -> None:
    def cloth(**values):
        data = prim(
            SoftKind.PARTICLE_CLOTH, points=_POINTS, elements=_TRIANGLES, targets=OWNER, values=values
        )
        return scene_of({**system(), "/Sheet": data})

    given = {
        "physxParticle__springIndices": np.array([[0, 1], [1, 2]]),
        "physxParticle__springStiffnesses": np.array([5.0, 6.0]),
        "physxParticle__springDampings": np.array([0.5, 0.25]),
        "physxParticle__springRestLengths": np.array([0.9, 1.1]),
    }
    plan, _ = plan_of(cloth(**given))
    springs = plan.systems[0].cloths[0].mesh.springs
    assert springs.indices.tolist() == [[0, 1], [1, 2]]
    for values, expected in (
        (springs.stiffnesses, [5, 6]),
        (springs.dampings, [0.5, 0.25]),
        (springs.rest_lengths, [0.9, 1.1]),
    ):
        np.testing.assert_allclose(values, expected)
    with pytest.raises(BuildError, match=r"^/Sheet: springIndices reach 9"):
        plan_of(cloth(physxParticle__springIndices=np.array([[0, 9]])))
    with pytest.raises(BuildError, match=r"^/Sheet: 1 stiffnesses for 2 springs"):
        plan_of(cloth(**{**given, "physxParticle__springStiffnesses": np.array([5.0])}))


def test_densities_are_in_the_units_of_the_stage() -> None:
    """Without mass and density the particles are water, and a cloth is as thick as its particles."""
    drops = prim(SoftKind.PARTICLE_SET, points=_POINTS, targets=OWNER)
    sheet = prim(
        SoftKind.PARTICLE_CLOTH,
        schemas=("PhysxAutoParticleClothAPI",),
        points=_POINTS,
        elements=_TRIANGLES,
        targets=OWNER,
    )
    centimetres = Settings(meters_per_unit=0.01, kilograms_per_unit=0.001)
    plan, _ = plan_of(scene_of({**system(), "/Drops": drops, "/Sheet": sheet}, settings=centimetres))
    (made,) = plan.systems
    assert made.sets[0].material.density == pytest.approx(1.0)
    assert made.air_density == pytest.approx(0.001225)
    assert np.sum(made.cloths[0].masses) == pytest.approx(1.0 * 2 * made.offsets.solid_rest)


def test_what_is_left_out_is_said() -> None:
    drops = prim(SoftKind.PARTICLE_SET, points=_POINTS)
    off = prim(
        SoftKind.PARTICLE_SET, points=_POINTS, targets=OWNER, values={"physxParticle__particleEnabled": False}
    )
    nowhere = prim(SoftKind.PARTICLE_SET, points=_POINTS, targets={"physxParticle:particleSystem": ("/No",)})
    plan, entries = plan_of(scene_of({**system(), "/Drops": drops, "/Off": off, "/Nowhere": nowhere}))
    assert plan.systems == []
    assert dict(entries) == {
        "/Drops": "particles of no particle system",
        "/Off": "particleEnabled is false: left out",
        "/Nowhere": "no particle system at /No",
    }
    empty = prim(SoftKind.PARTICLE_SET, targets=OWNER)
    with pytest.raises(BuildError, match=r"^/Drops: a particle set without points"):
        plan_of(scene_of({**system(), "/Drops": empty}))
    some = prim(SoftKind.PARTICLE_SET, points=_POINTS, targets=OWNER)
    with pytest.raises(BuildError, match=r"^/System: rest_offset"):
        plan_of(scene_of({**system(restOffset=1.0), "/Drops": some}))
