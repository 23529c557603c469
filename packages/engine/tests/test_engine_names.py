"""Prim paths: the tree of all environments, and what each prim is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_engine import BuildError, PathError, Role, Simulation
from tensorphys_engine.name_tree import SceneTree
from tensorphys_engine.names import PrimNames, name_prims
from tensorphys_engine.testing import pendulum_scene, walker_scene
from tensorphys_patterns import FindableTree, NameTree, PathTree, resolve
from tensorphys_scene import Environments, Template

ENVIRONMENT = "/World/envs/env_{}"


@pytest.fixture(scope="module")
def walkers() -> Simulation:
    return Simulation(walker_scene(12, spacing=1.0))


def plain_names(paths: list[str]) -> PrimNames:
    return name_prims(Template(prims=tuple(paths)), None, np.zeros(0, np.int32))


def all_paths(tree: SceneTree | PathTree, node: object, path: str = "") -> list[str]:
    children = [
        all_paths(tree, child, f"{path}/{name}")
        for name, child in tree.children(node)  # type: ignore[arg-type]
    ]
    return [path or "/", *itertools.chain(*children)]


def test_the_tree_is_a_name_tree_that_finds(walkers: Simulation) -> None:
    assert isinstance(walkers.tree, NameTree)
    assert isinstance(walkers.tree, FindableTree)


def test_patterns_match_in_authored_order(walkers: Simulation) -> None:
    hits = resolve("/World/envs/*/walker/*_thigh", walkers.tree)
    assert hits.paths == [
        f"{ENVIRONMENT.format(e)}/walker/{side}_thigh" for e in range(12) for side in ("left", "right")
    ]
    links = walkers.directory.entities(hits.nodes).link
    assert [walkers.directory.link_path(link) for link in links] == hits.paths
    assert [walkers.directory.link_paths[link] for link in links] == hits.paths


def test_every_path_is_found_and_leads_back(walkers: Simulation) -> None:
    tree = walkers.tree
    paths = all_paths(tree, tree.root)
    assert len(paths) == len(set(paths))
    assert {"/", "/World", "/World/ground", "/World/envs", "/World/envs/env_11/crate/geometry"} < set(paths)
    for path in paths:
        node = tree.find(path)
        assert node is not None
        assert tree.path(node) == path
    for path in (
        "/World/envs/env_12",
        "/World/envs/env_1/nothing",
        "/World/envs/env_1/walker/torso/",
        "World",
        "",
    ):
        assert tree.find(path) is None
    with pytest.raises(PathError, match="env_12"):
        walkers.lookup("/World/envs/env_12/crate")


def test_roles_and_numbers_of_prims(walkers: Simulation) -> None:
    def entity(relative: str):  # type: ignore[no-untyped-def]
        return walkers.lookup(ENVIRONMENT.format(5) + relative)

    walker = entity("/walker")
    # Each environment has 3 articulations: the walker and two free bodies; 7 links, 4 joints, 7 shapes.
    assert (walker.role, walker.articulation, walker.link, walker.environment) == (
        Role.ARTICULATION,
        15,
        None,
        5,
    )
    torso = entity("/walker/torso")
    assert (torso.role, torso.articulation, torso.link) == (Role.LINK | Role.ROOT_LINK, 15, 35)
    assert torso.shapes == (35,)
    knee = entity("/walker/joints/left_knee")
    assert (knee.role, knee.articulation, knee.joint, knee.dofs) == (Role.JOINT, 15, 22, range(22, 23))
    crate, platform = entity("/crate"), entity("/platform")
    assert (crate.role, crate.articulation, crate.link) == (Role.FREE_BODY, 16, 40)
    assert (platform.role, platform.link) == (Role.FREE_BODY | Role.KINEMATIC, 41)
    geometry = entity("/crate/geometry")
    assert (geometry.role, geometry.shape, geometry.link) == (Role.SHAPE, 40, None)
    assert entity("/materials/wood").role == Role.MATERIAL
    assert entity("/walker/joints").role == Role.NONE
    ground = walkers.lookup("/World/ground")
    assert (ground.role, ground.shape, ground.environment) == (Role.SHAPE | Role.STATIC, 84, None)
    assert walkers.lookup("/World/envs/").role == Role.NONE
    assert walkers.directory.shape_paths[84] == "/World/ground"
    assert walkers.directory.shape_paths[geometry.shape] == geometry.path


def test_columns_of_many_prims_equal_single_look_ups(walkers: Simulation) -> None:
    tree = walkers.tree
    paths = all_paths(tree, tree.root)
    columns = walkers.directory.entities([tree.node(path) for path in paths])
    for row, path in enumerate(paths):
        single = walkers.lookup(path)
        numbers = (single.environment, single.articulation, single.link, single.joint, single.shape)
        expected = tuple(-1 if number is None else number for number in numbers)
        found = (columns.environment, columns.articulation, columns.link, columns.joint, columns.shape)
        assert tuple(int(column[row]) for column in found) == expected
        assert int(columns.role[row]) == int(single.role)
        assert int(columns.dof_count[row]) == len(single.dofs)


def test_articulation_info(walkers: Simulation) -> None:
    info = walkers.articulation_info(15)
    assert info is not None
    prefix = ENVIRONMENT.format(5)
    assert info.path == f"{prefix}/walker"
    assert (info.environment, info.link_start, info.dof_start) == (5, 35, 20)
    labels = info.labels
    assert labels.link_names == ("torso", "left_thigh", "right_thigh", "left_shin", "right_shin")
    assert labels.link_parents.tolist() == [-1, 0, 0, 1, 2]
    assert labels.joint_names == labels.dof_names == ("left_hip", "right_hip", "left_knee", "right_knee")
    assert labels.joint_links.tolist() == labels.dof_links.tolist() == [1, 2, 3, 4]
    assert labels.dof_joints.tolist() == [0, 1, 2, 3]
    assert labels.dof_axes.tolist() == [1, 1, 1, 1]
    assert labels.dof_rotational.all()
    assert not labels.joint_flipped.any()
    assert not labels.fixed_base
    assert info.link_paths[3] == f"{prefix}/walker/left_shin"
    assert info.dof_paths[0] == info.joint_paths[0] == f"{prefix}/walker/joints/left_hip"
    other = walkers.articulation_info(0)
    assert other is not None
    assert other.labels is labels
    assert walkers.articulation_info(16) is None
    with pytest.raises(IndexError, match="0 to 35"):
        walkers.articulation_info(36)


def test_flipped_joints_are_marked() -> None:
    info = Simulation(pendulum_scene(flipped=True)).articulation_info(0)
    assert info is not None
    assert info.labels.joint_flipped.tolist() == [True]
    assert info.labels.fixed_base


def test_a_whole_stage_is_an_environment_at_the_root() -> None:
    scene = walker_scene().replace(environments=Environments())
    simulation = Simulation(scene)
    assert resolve("/walker/*_shin", simulation.tree).paths == ["/walker/left_shin", "/walker/right_shin"]
    assert simulation.lookup("/walker/torso").link == 0
    # Shared prims stand beside those of the environment.
    assert [name for name, _ in simulation.tree.children(simulation.tree.root)][:2] == ["World", "walker"]
    assert simulation.lookup("/World/ground").shape == 7


@given(
    st.lists(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda names: "/" + "/".join(names)),
        max_size=6,
    ),
    st.lists(
        st.lists(st.sampled_from("abcde"), min_size=1, max_size=3).map(lambda names: "/" + "/".join(names)),
        max_size=4,
    ),
    st.integers(1, 4),
    st.sampled_from(["/w/{}", "/{}", "/w/x/{}"]),
)
def test_the_tree_equals_one_that_lists_every_path(
    prims: list[str], shared: list[str], count: int, pattern: str
) -> None:
    roots = [pattern.format("abcd"[e]) for e in range(count)]
    tree = SceneTree([plain_names(prims)], plain_names(shared), roots, np.zeros(count, np.int32))
    listed = [root + path for root in roots for path in ["", *prims]] + shared
    expected = PathTree(listed)
    assert set(all_paths(tree, tree.root)) == set(all_paths(expected, expected.root))
    for path in all_paths(tree, tree.root):
        assert tree.path(tree.node(path)) == path
        environments = [e for e, root in enumerate(roots) if path == root or path.startswith(root + "/")]
        place = tree.places([tree.node(path)])
        if environments and path[len(roots[environments[0]]) :] in tree_paths(prims):
            assert place.environment.tolist() == environments
            assert tree_paths(prims)[place.prim[0]] == path[len(roots[environments[0]]) :]
        else:
            assert place.environment.tolist() == [-1]


def tree_paths(prims: list[str]) -> list[str]:
    return plain_names(prims).paths


def test_environments_must_not_lie_in_each_other() -> None:
    names = plain_names(["", "/b"])
    with pytest.raises(BuildError, match="overlap at /a/b"):
        SceneTree([names], plain_names([""]), ["/a", "/a/b"], np.zeros(2, np.int32))
