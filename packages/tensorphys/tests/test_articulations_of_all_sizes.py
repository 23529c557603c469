"""Articulations of no joint, of one link and of a hundred, and several of different kinds in one environment."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

STATE = ("link_transforms", "link_velocities", "dof_positions", "dof_velocities")
FORCES = ("gravity_compensation_forces", "coriolis_and_centrifugal_compensation_forces")
MATRICES = ("jacobians", "generalized_mass_matrices")


def author_chain(stage: Any, path: str, links: int, length: float, mass: float = 0.1) -> None:
    """A fixed base and links that hang below one another on hinges about X and Y by turns."""
    stage.xform(path)
    stage.articulation(path)
    stage.body(f"{path}/base", (0, 0, 0))
    stage.joint(f"{path}/tie", "fixed", None, f"{path}/base")
    before = f"{path}/base"
    for k in range(links):
        link = f"{path}/link{k}"
        inertia = (1e-4, 1e-4, 2e-5)
        stage.body(link, (0, 0, -length * k), mass=mass, inertia=inertia, com=(0, 0, -length / 2))
        at = (0, 0, 0 if k == 0 else -length)
        stage.joint(f"{path}/joint{k}", "revolute", before, link, axis="XY"[k % 2], at0=at)
        before = link


def test_a_chain_of_a_hundred_and_twenty_links(stages: SimpleNamespace, arrays: Any) -> None:
    count, length, mass = 120, 0.1, 0.1
    stage = stages.Author.new()
    author_chain(stage, "/chain", count, length, mass)
    sim = stages.view(arrays, stage)
    view = sim.create_articulation_view("/chain")
    assert (view.max_links, view.max_dofs) == (count + 1, count)
    assert view.jacobian_shape == (6 * count, count)
    host = arrays.host
    # at rest each joint carries the weight below it
    sim.step(1e-3)
    below = mass * 9.81 * np.arange(count, 0, -1)
    np.testing.assert_allclose(host(view.get_link_incoming_joint_force())[0, 1:, 2], below, rtol=1e-4)
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-0.3, 0.3, (1, count)), rng.uniform(-1, 1, (1, count))
    view.set_dof_positions(arrays.make(q), None)
    view.set_dof_velocities(arrays.make(v), None)
    jacobian, links = host(view.get_jacobians())[0].astype(float), host(view.get_link_velocities())[0]
    np.testing.assert_allclose(jacobian @ v[0], links[1:], atol=2e-5 * np.abs(links).max())
    matrix = host(view.get_generalized_mass_matrices())[0].astype(float)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-6 * np.abs(matrix).max())
    poses = host(view.get_link_transforms())[0, 1:].astype(float)
    x, y, z, w = poses[:, 3:].T
    axis = np.stack((2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)), axis=1)
    spin = links[1:, 3:].astype(float)
    along = (spin * axis).sum(axis=1)
    energy = 0.5 * mass * (links[1:, :3].astype(float) ** 2).sum()
    energy += 0.5 * (1e-4 * ((spin**2).sum(axis=1) - along**2) + 2e-5 * along**2).sum()
    assert 0.5 * v[0] @ matrix @ v[0] == pytest.approx(energy, rel=1e-4)
    # gravity compensation is the change of the potential energy with each joint
    weight = mass * np.array([0, 0, 9.81])
    expected = np.einsum("kij,i->j", jacobian[:, :3], weight)
    np.testing.assert_allclose(
        host(view.get_gravity_compensation_forces())[0], expected, atol=1e-5 * np.abs(expected).max()
    )
    for _ in range(60):
        sim.step(1 / 240)
    assert np.isfinite(host(view.get_link_transforms())).all()
    # the links still hang together
    poses = host(view.get_link_transforms())[0, 1:].astype(float)
    x, y, z, w = poses[:, 3:].T
    axis = np.stack((2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)), axis=1)
    np.testing.assert_allclose(poses[1:, :3], poses[:-1, :3] - length * axis[:-1], atol=2e-5)


def test_a_floating_tree_of_a_hundred_and_twenty_one_links(stages: SimpleNamespace, arrays: Any) -> None:
    """Three children at each link, four levels down: what falls is the common centre, whatever the branches do."""
    stage = stages.Author.new()
    stage.xform("/tree")
    names, level, height = ["/tree/root"], ["/tree/root"], 0.0
    stage.body(names[0], (0, 0, 0), mass=1.0, inertia=(0.01, 0.01, 0.01))
    for depth in range(4):
        height -= 0.2
        children = []
        for before in level:
            for k in range(3):
                name = f"/tree/d{depth}_{len(children)}"
                stage.body(name, (0, 0, height), mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
                stage.joint(f"{name}_joint", "revolute", before, name, axis="XYZ"[k], at1=(0, 0, 0.2))
                children.append(name)
        names, level = names + children, children
    stage.articulation("/tree/root")
    sim = stages.view(arrays, stage)
    view, host = sim.create_articulation_view("/tree/root"), arrays.host
    assert (view.max_links, view.max_dofs, view.jacobian_shape) == (121, 120, (6 * 121, 126))
    assert view.link_paths == [names]
    rng = np.random.default_rng(11)
    v = rng.uniform(-1, 1, (1, 126))
    view.set_dof_positions(arrays.make(rng.uniform(-0.5, 0.5, (1, 120))), None)
    view.set_root_velocities(arrays.make(v[:, :6]), None)
    view.set_dof_velocities(arrays.make(v[:, 6:]), None)
    jacobian, links = host(view.get_jacobians())[0].astype(float), host(view.get_link_velocities())[0]
    np.testing.assert_allclose(jacobian @ v[0], links, atol=2e-5 * np.abs(links).max())
    masses = host(view.get_masses())[0].astype(float)
    total = 1.0 + 120 * 0.2
    assert masses.sum() == pytest.approx(total, rel=1e-6)
    energy = 0.5 * masses @ (links[:, :3].astype(float) ** 2).sum(axis=1)
    spins = (links[:, 3:].astype(float) ** 2).sum(axis=1)
    energy += 0.5 * (0.01 * spins[0] + 1e-3 * spins[1:].sum())
    matrix = host(view.get_generalized_mass_matrices())[0].astype(float)
    assert 0.5 * v[0] @ matrix @ v[0] == pytest.approx(energy, rel=1e-5)
    np.testing.assert_allclose(matrix[:3, :3], total * np.eye(3), atol=1e-4)
    gravity = host(view.get_gravity_compensation_forces())[0]
    np.testing.assert_allclose(gravity[:3], [0, 0, total * 9.81], rtol=1e-5, atol=1e-3)
    centre = host(view.get_articulation_mass_center())[0].astype(float)
    drift = masses @ links[:, :3] / total
    steps, dt = 24, 1 / 240
    for _ in range(steps):
        sim.step(dt)
    time = steps * dt
    expected = centre + drift * time - [0, 0, 0.5 * 9.81 * time**2]
    np.testing.assert_allclose(host(view.get_articulation_mass_center())[0], expected, atol=1e-5)


def test_a_floating_link_without_joints(stages: SimpleNamespace, arrays: Any) -> None:
    """One link, no joint: six columns of the root, mass and weight of the link."""
    stage = stages.Author.new()
    stage.body("/World/ball", (1, 2, 3), mass=2.0, inertia=(0.1, 0.2, 0.3), com=(0.1, 0, 0))
    stage.articulation("/World/ball")
    sim = stages.view(arrays, stage)
    view, host = sim.create_articulation_view("/World/ball"), arrays.host
    assert (view.max_links, view.max_dofs, view.jacobian_shape) == (1, 0, (6, 6))
    assert not view.shared_metatype.fixed_base
    np.testing.assert_allclose(host(view.get_jacobians())[0, 0], np.eye(6), atol=1e-6)
    mass = np.diag([2, 2, 2, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(host(view.get_generalized_mass_matrices())[0], mass, atol=1e-6)
    np.testing.assert_allclose(
        host(view.get_gravity_compensation_forces())[0], [0, 0, 19.62, 0, 0, 0], atol=1e-5
    )
    np.testing.assert_allclose(host(view.get_articulation_mass_center())[0], [1.1, 2, 3], atol=1e-6)
    view.set_root_velocities(arrays.make([[1, 0, 0, 0, 0, 0]]), None)
    for _ in range(60):
        sim.step(1 / 60)
    np.testing.assert_allclose(
        host(view.get_root_velocities())[0], [1, 0, -9.81, 0, 0, 0], rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(host(view.get_root_transforms())[0, :3], [2, 2, 3 - 4.905], rtol=1e-3)
    np.testing.assert_allclose(host(view.get_link_accelerations())[0, 0, :3], [0, 0, -9.81], rtol=1e-3)


def author_cabinet(stage: Any, path: str) -> None:
    """A fixed box with two drawers and a door."""
    stage.xform(path, (2, 0, 0))
    stage.articulation(path)
    stage.body(f"{path}/sektion", (0, 0, 1), mass=20.0, inertia=(2, 2, 2))
    place = stage.stage.GetPrimAtPath(path).GetParent().GetAttribute("xformOp:translate").Get() or (0, 0, 0)
    stage.joint(f"{path}/root", "fixed", None, f"{path}/sektion", at0=np.add(place, (2, 0, 1)))
    for k, name in enumerate(("drawer_top", "drawer_bottom")):
        stage.body(f"{path}/{name}", (0, 0, 1 + 0.3 * k), mass=2.0)
        stage.joint(
            f"{path}/{name}_joint", "prismatic", f"{path}/sektion", f"{path}/{name}",
            axis="X", at0=(0, 0, 0.3 * k), limits=(-0.1, 0.5),
        )  # fmt: skip
    stage.body(f"{path}/door", (0, 0.5, 1), mass=3.0, com=(0, -0.25, 0))
    stage.joint(
        f"{path}/door_joint", "revolute", f"{path}/sektion", f"{path}/door", axis="Z", at0=(0, 0.5, 0)
    )


def author_arm(stage: Any, path: str) -> None:
    """Seven hinges, a hand and two fingers: 11 links, 9 degrees of freedom."""
    stage.xform(path)
    stage.articulation(path)
    names = [f"{path}/panda_link{k}" for k in range(9)]
    place = stage.stage.GetPrimAtPath(path).GetParent().GetAttribute("xformOp:translate").Get() or (0, 0, 0)
    for k, name in enumerate(names):
        options = {"mass": 3.0 - 0.25 * k, "inertia": (0.02, 0.02, 0.01), "com": (0.01, -0.02, 0.06)}
        stage.body(name, (0, 0, 0.15 * k), **options)
        if k == 0:
            stage.joint(f"{path}/root", "fixed", None, name, at0=place)
        elif k == 8:
            stage.joint(f"{path}/panda_hand_joint", "fixed", names[7], name, at0=(0, 0, 0.15))
        else:
            stage.joint(
                f"{path}/panda_joint{k}",
                "revolute",
                names[k - 1],
                name,
                axis="ZYZYZYX"[k - 1],
                at0=(0, 0, 0.15),
            )
    for side in (1, -1):
        name = f"{path}/finger{(3 - side) // 2}"
        stage.body(name, (0, 0.02 * side, 1.3), mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
        stage.joint(
            f"{name}_joint",
            "prismatic",
            names[8],
            name,
            axis="Y",
            at0=(0, 0.02 * side, 0.1),
            limits=(-0.04, 0.04),
        )


def author_cart_pole(stage: Any, path: str) -> None:
    stage.cart_pole(path, (4, 0, 0))


def author_ant(stage: Any, path: str) -> None:
    stage.ant(path, (-2, 0, 1))


@pytest.mark.parametrize(
    "kinds",
    [
        {"cabinet": (author_cabinet, ""), "franka": (author_arm, "")},
        {"cartpole": (author_cart_pole, ""), "ant": (author_ant, "/torso")},
    ],
    ids=["cabinet-franka", "cartpole-ant"],
)
def test_environments_of_several_articulations_agree(
    stages: SimpleNamespace, arrays: Any, kinds: dict[str, Any]
) -> None:
    """Behaviours 40 and 41: the same state in every environment gives the same of everything, step after step."""
    count = 4

    def fill(path: str, number: int) -> None:
        for name, (author, _) in kinds.items():
            author(stage, f"{path}/{name}")

    stage = stages.Author.new()
    stage.environments(count, fill, spacing=12.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    sim.set_subspace_roots("/envs/*")
    host = arrays.host
    views = {
        name: sim.create_articulation_view(f"/envs/*/{name}{below}") for name, (_, below) in kinds.items()
    }
    rng = np.random.default_rng(7)
    for view in views.values():
        assert view.count == count
        assert view.is_homogeneous
        for name in ("dof_positions", "dof_velocities"):
            values = rng.uniform(-0.08, 0.08, (1, view.max_dofs)).astype(np.float32).repeat(count, axis=0)
            getattr(view, f"set_{name}")(arrays.make(values), None)
        if not view.shared_metatype.fixed_base:
            twist = rng.uniform(-1, 1, (1, 6)).astype(np.float32).repeat(count, axis=0)
            view.set_root_velocities(arrays.make(twist), None)
    for _ in range(4):
        for view in views.values():
            v = host(view.get_dof_velocities()).astype(float)
            root = host(view.get_root_velocities()).astype(float)
            floating = not view.shared_metatype.fixed_base
            if floating:
                v = np.concatenate((root, v), axis=1)
            for name in (*STATE, *FORCES, *MATRICES):
                values = host(getattr(view, f"get_{name}")())
                assert (
                    np.abs(values).max() > 0 or name in FORCES
                )  # drawers that slide level have no weight to bear
                np.testing.assert_array_equal(values, np.broadcast_to(values[:1], values.shape), err_msg=name)
            links = host(view.get_link_velocities())[0]
            jacobian = host(view.get_jacobians())[0].astype(float)
            np.testing.assert_allclose(jacobian @ v[0], links[-len(jacobian) :], atol=2e-5)
        sim.step(stages.DT)
    mixed = sim.create_articulation_view([path for view in views.values() for path in view.prim_paths[:1]])
    assert not mixed.is_homogeneous
    for row, view in enumerate(views.values()):
        q = host(view.get_dof_positions())[0]
        np.testing.assert_array_equal(host(mixed.get_dof_positions())[row, : q.size], q)


def test_ants_have_the_matrices_of_their_links(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviours 42 to 46, values: momentum, energy and weight from the links one by one."""
    stage = stages.Author.new(gravity=10.0)
    stage.environments(3, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 1)), spacing=6.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view, host = sim.create_articulation_view("/envs/*/ant/torso"), arrays.host
    assert view.jacobian_shape == (6 * 9, 14)
    assert view.generalized_mass_matrix_shape == (14, 14)
    rest = host(view.get_articulation_mass_center(True))
    np.testing.assert_allclose(rest, 0.0, atol=1e-6)  # it is symmetric about its root
    rng = np.random.default_rng(2)
    q, v = rng.uniform(-0.5, 0.5, (1, 8)).repeat(3, 0), rng.uniform(-2, 2, (1, 14)).repeat(3, 0)
    view.set_dof_positions(arrays.make(q), None)
    view.set_root_velocities(arrays.make(v[:, :6]), None)
    view.set_dof_velocities(arrays.make(v[:, 6:]), None)
    links = host(view.get_link_velocities())[0].astype(float)
    jacobian = host(view.get_jacobians()).astype(float)
    assert jacobian.shape == (3, 9, 6, 14)
    np.testing.assert_allclose(jacobian[0] @ v[0], links, atol=1e-5)
    masses = host(view.get_masses())[0].astype(float)
    turns = [rotation(pose[3:]) for pose in host(view.get_link_transforms())[0].astype(float)]
    own = host(view.get_inertias())[0].reshape(9, 3, 3).astype(float)
    inertias = np.array([turn @ inertia @ turn.T for turn, inertia in zip(turns, own, strict=True)])
    expected = np.zeros((14, 14))
    for k in range(9):
        linear, angular = jacobian[0, k, :3], jacobian[0, k, 3:]
        expected += masses[k] * linear.T @ linear + angular.T @ inertias[k] @ angular
    matrices = host(view.get_generalized_mass_matrices())
    assert matrices.shape == (3, 14, 14)
    np.testing.assert_allclose(matrices, expected[None].repeat(3, 0), atol=2e-5)
    gravity = host(view.get_gravity_compensation_forces())
    assert gravity.shape == (3, 14)
    lift = np.einsum("kij,k,i->j", jacobian[0, :, :3], masses, [0, 0, 10.0])
    np.testing.assert_allclose(gravity, lift[None].repeat(3, 0), atol=1e-4)
    # momentum about the common centre
    places = host(view.get_link_transforms())[0, :, :3].astype(float)
    centre = masses @ places / masses.sum()
    np.testing.assert_allclose(host(view.get_articulation_mass_center())[0], centre, atol=1e-5)
    linear = masses @ links[:, :3]
    angular = sum(
        inertias[k] @ links[k, 3:] + masses[k] * np.cross(places[k] - centre, links[k, :3]) for k in range(9)
    )
    momentum = host(view.get_articulation_centroidal_momentum())
    assert momentum.shape == (3, 6, 15)
    np.testing.assert_allclose(momentum, momentum[:1].repeat(3, 0), atol=1e-5)
    np.testing.assert_allclose(momentum[0, :, :14] @ v[0], np.concatenate((linear, angular)), atol=2e-5)
    # M q̈ = τ − b − g over a short step, the actuation is read back
    torque = rng.uniform(-1000, 1000, (1, 8)).repeat(3, 0).astype(np.float32)
    view.set_dof_actuation_forces(arrays.make(torque), None)
    coriolis = host(view.get_coriolis_and_centrifugal_compensation_forces())[0].astype(float)
    assert coriolis.shape == (14,)
    load = np.concatenate((np.zeros(6), torque[0])) - coriolis - gravity[0]
    change = np.linalg.solve(expected, load)
    dt = 1e-6
    sim.step(dt)
    np.testing.assert_array_equal(host(view.get_dof_actuation_forces()), torque)
    after = np.concatenate((host(view.get_root_velocities())[0], host(view.get_dof_velocities())[0]))
    np.testing.assert_allclose((after - v[0]) / dt, change, atol=5e-3 * np.abs(change).max())


def rotation(q: np.ndarray) -> np.ndarray:
    """Rotation matrix of a quaternion xyzw."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
