"""Mimic joints on the fused path, against the generic one; closed forms are in `test_loops_and_tendons.py`."""

from dataclasses import replace

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics import JointModel, ModelError, Solver, fused
from tensorphys_dynamics.testing import SpheresOnPlane, model_of, random_state, random_tree
from tensorphys_dynamics.testing.two_paths import differences_of_single_steps, random_columns, rough_columns

# As in `test_fused.py`.
BOUND = {"cpu": 1e-3, "cuda:0": 2e-3}

LAWS = {
    "rigid": {},
    "soft": {"natural_frequency": 15.0, "damping_ratio": 0.4},
    "mixed": {"natural_frequency": [0.0, 15.0, 30.0], "damping_ratio": [0.0, 0.4, 1.0]},
}


def group_source(monkeypatch):
    """Make the CPU run the source of CUDA, with groups of one lane and little room for contacts."""
    choose = fused.choose_size_class

    def one_lane(*given, cuda):
        size = choose(*given, cuda=True)
        return replace(size, lanes=1, pool=min(size.pool, 256))

    monkeypatch.setattr(fused, "choose_size_class", one_lane)


def mimic_columns(tree, law, count, copies):
    """The last degrees of freedom follow the first ones."""
    dofs = len(tree.dof_link)
    pairs = [(dofs - 1 - k, k) for k in range(count)]
    first = np.repeat(np.arange(copies) * dofs, count)
    columns = {
        "dof": np.tile([a for a, _ in pairs], copies) + first,
        "reference": np.tile([b for _, b in pairs], copies) + first,
        "gearing": np.tile([-1.0, 0.5, 1.5][:count], copies),
        "offset": np.tile([0.1, -0.2, 0.0][:count], copies),
        "enabled": np.tile([1, 1, 0][:count] if law == "mixed" else np.ones(count, int), copies),
    }
    return columns | {
        name: np.tile(np.broadcast_to(v, 3)[:count], copies).astype(float) for name, v in LAWS[law].items()
    }


def scene(device, path, *, seed, links, fixed_base, law="rigid", count=1, spheres=0, rough=False):
    tree = random_tree(seed, links, fixed_base=fixed_base)
    rng = np.random.default_rng(seed)
    columns = (rough_columns if rough else random_columns)(rng, len(tree.dof_link))
    copies = 2
    model, state, control = model_of(tree, device, copies=copies, **columns)
    joints = JointModel(model, mimic=mimic_columns(tree, law, count, copies))
    starts = [random_state(seed * 10 + i, tree) for i in range(copies)]
    for root, _, _ in starts:
        root[2] = 0.3
    state.set_initial(
        root_pose=np.array([s[0] for s in starts]),
        dof_position=np.concatenate([s[1] for s in starts]),
        velocity=np.concatenate([s[2] for s in starts]),
    )
    control.position_target.assign(np.tile(rng.normal(size=len(tree.dof_link)) * 0.5, copies).astype("f"))
    contacts = None
    if spheres:
        contacts = SpheresOnPlane(
            model,
            link=rng.integers(0, len(tree.parent), spheres),
            center=rng.normal(size=(spheres, 3)) * 0.1,
            radius=np.full(spheres, 0.15),
            reach=0.05,
            restitution=0.3,
        )
    solver = Solver(
        model, state, control, contacts, joints=joints, path=path, velocity_passes=2, time_step=1 / 60
    )
    solver.update_kinematics()
    return solver


def pairs_of(device, **options):
    return [scene(device, path, **options) for path in ("generic", "fused")]


@pytest.mark.parametrize("source", ["own", "group"])
@pytest.mark.parametrize("fixed_base", [True, False])
@pytest.mark.parametrize(("law", "count"), [("rigid", 1), ("soft", 1), ("mixed", 3)])
def test_mimic_joints_equal_the_generic_path(device, source, fixed_base, law, count, monkeypatch):
    if source == "group":
        if device != "cpu":
            pytest.skip("CUDA runs that source anyway")
        group_source(monkeypatch)
    for seed in (1, 3) if source == "own" else (3,):
        pair = pairs_of(device, seed=seed, links=7, fixed_base=fixed_base, law=law, count=count)
        errors = differences_of_single_steps(*pair, 12)
        assert pair[1].path == "fused"
        assert pair[1].launch_count == 1
        assert max(errors) < 2e-5
        assert np.median(errors) < 1e-5
        impulses = [solver.joints.rows.row_total.numpy() for solver in pair]
        assert np.abs(impulses[0]).max() > 1e-3
        np.testing.assert_allclose(impulses[1], impulses[0], atol=1e-4 * np.abs(impulses[0]).max())


@pytest.mark.parametrize(
    ("source", "fixed_base", "rough"),
    [("own", True, True), ("own", False, False), ("own", False, True), ("group", False, True)],
)
def test_beside_contacts_and_friction_they_equal_the_generic_path(
    device, source, fixed_base, rough, monkeypatch
):
    if source == "group":
        if device != "cpu":
            pytest.skip("CUDA runs that source anyway")
        group_source(monkeypatch)
    errors, loads = [], []
    for seed in (1, 3, 4) if source == "own" else (3,):
        options = {"law": "rigid", "count": 2, "spheres": 8, "rough": rough}
        pair = pairs_of(device, seed=seed, links=7, fixed_base=fixed_base, **options)
        errors += differences_of_single_steps(*pair, 20, loads)
    # as in `test_fused.py`: whether passes repeat, and whether a joint rests, turns on a bound
    assert max(loads) > 2
    assert np.median(errors) < 5e-5
    assert np.quantile(errors, 0.9) < BOUND[device]


@pytest.mark.parametrize("path", ["generic", "fused"])
def test_momentum_is_kept(device, path):
    """A floating tree without gravity, once its joints have come together: what mimic joints exert is inside."""
    solver = scene(device, path, seed=4, links=6, fixed_base=False)
    solver.model.gravity.zero_()
    for name in ("drive_type", "passive_stiffness", "passive_damping"):
        getattr(solver.model, f"dof_{name}").zero_()
    solver.model.dof_lower.fill_(-1e6)
    solver.model.dof_upper.fill_(1e6)
    links = solver.model.link_count // 2
    mass = solver.model.link_mass.numpy().astype(float)[:links]

    def momentum():
        velocity = solver.state.link_velocity.numpy().astype(float)[:links]
        return (mass[:, None] * velocity[:, :3]).sum(axis=0)

    for _ in range(15):
        solver.step()
    before = momentum()
    for _ in range(60):
        solver.step()
    assert np.linalg.norm(momentum() - before) < 2e-6 * np.linalg.norm(before)


def test_parameters_may_be_written_between_steps(device):
    """What is switched off does not act, and an offset that is written holds from the next step on."""
    solver = scene(device, "fused", seed=2, links=5, fixed_base=True)
    dofs = solver.model.dof_count // 2

    def error():
        q = solver.state.dof_position.numpy().astype(float).reshape(2, dofs)
        return q[:, -1] - q[:, 0]

    for _ in range(60):
        solver.step()
    np.testing.assert_allclose(error(), -0.1, atol=1e-4)
    solver.joints.mimic_offset.fill_(-0.05)
    for _ in range(60):
        solver.step()
    np.testing.assert_allclose(error(), 0.05, atol=1e-4)
    solver.joints.mimic_enabled.zero_()
    solver.step()
    assert not solver.joints.rows.row_total.numpy().any()


def test_what_the_kernel_does_not_hold_takes_the_generic_path(device):
    tree = random_tree(1, 5, fixed_base=True)
    model, state, control = model_of(tree, device, copies=2)
    different = {"dof": [2, 6], "reference": [0, 4], "gearing": [1.0, 2.0]}
    dofs = model.dof_count // 2
    different["dof"][1], different["reference"][1] = dofs + 2, dofs
    joints = JointModel(model, mimic=different)
    assert fused.supports(model, None, joints) == "environments have different mimic joints"
    assert Solver(model, state, control, joints=joints).path == "generic"
    with pytest.raises(ModelError, match="environments have different mimic joints"):
        Solver(model, state, control, joints=joints, path="fused")
    axis = {"tendon": [0], "dof": [0], "gearing": [1.0]}
    tendon = JointModel(model, fixed_tendon={"stiffness": [1.0]}, fixed_tendon_axis=axis)
    assert "tendons" in fused.supports(model, None, tendon)


def test_few_substeps_take_the_generic_path_unless_asked(device):
    tree = random_tree(1, 5, fixed_base=True)
    model, state, control = model_of(tree, device)
    joints = JointModel(model, mimic=mimic_columns(tree, "rigid", 1, 1))
    paths = [Solver(model, state, control, joints=joints, substeps=count).path for count in (1, 3, 4)]
    assert paths == ["generic", "generic", "fused"]
    assert Solver(model, state, control, joints=joints, substeps=1, path="fused").path == "fused"
    assert Solver(model, state, control, substeps=1).path == "fused"


def test_a_class_without_mimic_joints_has_no_place_for_them():
    tree = random_tree(1, 5, fixed_base=True)
    model = model_of(tree, "cpu")[0]
    bare, with_two = (fused.choose_size_class(model.types[0], 0, count, cuda=True) for count in (0, 2))
    assert bare == replace(with_two, mimics=0)
    assert bare.scratch_floats < with_two.scratch_floats
    assert wp.get_device("cpu") == model.device
