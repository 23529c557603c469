"""Every member of the interface table exists, with the parameters, shapes, types and warnings that the table says."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from asset_stages import Stage, arm_cfg, cube_cfg, make, pair_cfg, pair_stage, soft_cfg

import tensorphys_assets as ta
from tensorphys_assets.dtypes import DTYPES
from tensorphys_assets.interface import Member, interface

pytestmark = pytest.mark.usefixtures("everywhere")

CLASSES = {
    "Articulation": ta.Articulation,
    "ArticulationData": ta.ArticulationData,
    "RigidObject": ta.RigidObject,
    "RigidObjectData": ta.RigidObjectData,
    "RigidObjectCollection": ta.RigidObjectCollection,
    "RigidObjectCollectionData": ta.RigidObjectCollectionData,
    "DeformableObject": ta.DeformableObject,
    "DeformableObjectData": ta.DeformableObjectData,
}


@pytest.fixture(scope="module")
def owners(everywhere: None) -> dict[str, object]:
    """An object of each class that the interface has."""
    _, arm = make(Stage(3).arms().tendons(), arm_cfg())
    _, cube = make(Stage(3).cubes(), cube_cfg())
    _, pair = make(pair_stage(3), pair_cfg())
    _, soft = make(Stage(3).softs(), soft_cfg())
    return {
        "Articulation": arm,
        "ArticulationData": arm.data,
        "RigidObject": cube,
        "RigidObjectData": cube.data,
        "RigidObjectCollection": pair,
        "RigidObjectCollectionData": pair.data,
        "DeformableObject": soft,
        "DeformableObjectData": soft.data,
    }


def members(kind: str) -> list[Member]:
    return [member for owner in CLASSES for member in interface()[owner].values() if member.kind == kind]


def label(member: Member) -> str:
    return f"{member.owner}.{member.name}"


def test_table_has_all_members() -> None:
    assert sum(map(len, interface().values())) == 556


def test_nothing_is_missing() -> None:
    assert {owner: names for owner, names in ta.missing_members(CLASSES).items() if names} == {}


@pytest.mark.parametrize("member", members("method"), ids=label)
def test_methods_have_the_parameters_of_the_table(member: Member) -> None:
    own = list(inspect.signature(getattr(CLASSES[member.owner], member.name)).parameters.values())[1:]
    assert [p.name for p in own] == [p.name for p in member.parameters]
    for mine, wanted in zip(own, member.parameters, strict=True):
        assert (mine.kind is inspect.Parameter.KEYWORD_ONLY) == wanted.keyword_only
        default = None if mine.default is inspect.Parameter.empty else repr(mine.default)
        assert default == wanted.default


SIZES = {
    "ArticulationData": {"N": 3, "B": 5, "J": 4, "Tf": 2, "Ts": 1, "B−fixed": 4, "J + base": 4},
    "RigidObjectData": {"N": 3, "B": 1},
    "RigidObjectCollectionData": {"N": 3, "B": 2},
    "DeformableObjectData": {"N": 3, "V": 27},
}


def test_data_have_the_shapes_types_and_warnings_of_the_table(owners: dict[str, object]) -> None:
    wrong = []
    for member in (*members("property"), *members("attribute")):
        if not member.owner.endswith("Data") or member.shape is None:
            continue
        data = owners[member.owner]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = getattr(data, member.name)
        warned = any(issubclass(entry.category, DeprecationWarning) for entry in caught)
        sizes = SIZES[member.owner]
        axes = [axis.strip() for axis in member.shape.split(",")]
        shape = tuple(sizes[axis] if axis in sizes else int(axis) for axis in axes)
        if value.shape != shape or value.dtype is not DTYPES[member.dtype] or warned != member.deprecated:
            wrong.append((label(member), value.shape, shape, value.dtype, member.dtype, warned))
        if not np.isfinite(value.warp.numpy()).all():
            wrong.append((label(member), "not finite"))
    assert wrong == []


def test_aliases_are_what_they_mean(owners: dict[str, object]) -> None:
    wrong = []
    for member in members("property"):
        if member.alias and member.owner.endswith("Data"):
            data = owners[member.owner]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                if getattr(data, member.name) is not getattr(data, member.alias):
                    wrong.append(label(member))
    assert wrong == []


def test_deprecated_methods_forward_with_a_warning(owners: dict[str, object]) -> None:
    arm = owners["Articulation"]
    before = arm.data.joint_stiffness.warp.numpy().copy()
    with pytest.warns(DeprecationWarning, match="write_joint_stiffness_to_sim_index"):
        arm.write_joint_stiffness_to_sim(12.5, [1], [2])
    before[2, 1] = 12.5
    np.testing.assert_array_equal(arm.data.joint_stiffness.warp.numpy(), before)
    np.testing.assert_array_equal(arm.root_view.get_dof_stiffnesses().numpy(), before)


def test_each_deprecated_writer_of_the_table_warns(owners: dict[str, object]) -> None:
    """Called with what its target takes: all instances, the payload in the shape of the table."""
    silent = []
    for member in members("method"):
        if not member.deprecated or member.shape is None or "_to_sim_" in member.name:
            continue
        owner = owners[member.owner]
        sizes = {"E": 3, "N": 3, "K": owner.num_bodies, "J": 4, "B": owner.num_bodies, "9": 9, "V": 27}
        if member.owner == "Articulation":
            kind = next((k for k in ("fixed_tendon", "spatial_tendon", "joint") if k in member.name), "body")
            sizes["K"] = {"fixed_tendon": 2, "spatial_tendon": 1, "joint": 4, "body": 5}[kind]
        shape = [sizes[axis.strip()] for axis in member.shape.split(",")]
        inner = getattr(DTYPES[member.dtype], "_shape_", ())
        values = np.zeros((*shape, *inner), np.float32)
        if member.dtype in ("transformf", "vec13f"):
            values[..., 6] = 1.0
        elif "masses" in member.name:
            values[...] = 1.0
        elif "inertias" in member.name:
            values[...] = np.eye(3, dtype=np.float32).reshape(-1)
        first = [values] * sum(parameter.default is None for parameter in member.parameters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if member.parameters[0].keyword_only:
                getattr(owner, member.name)(**{member.parameters[0].name: values})
            else:
                getattr(owner, member.name)(*first)
        if not any(issubclass(entry.category, DeprecationWarning) for entry in caught):
            silent.append(label(member))
    assert silent == []
