"""Views of torch over the arrays of assets, and network actuators."""

from __future__ import annotations

import pathlib
import warnings

import numpy as np
import pytest
import torch
import warp as wp
from asset_stages import Stage, arm_cfg, cube_cfg, host, make, pair_cfg, pair_stage

import tensorphys_assets as ta


@pytest.fixture
def proxy() -> ta.ProxyArray:
    return ta.ProxyArray(wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), dtype=wp.vec3f, device="cpu"))


def test_a_proxy_shares_its_memory_with_torch(proxy: ta.ProxyArray) -> None:
    assert proxy.torch is proxy.torch
    assert proxy.torch.data_ptr() == proxy.warp.ptr
    assert proxy.torch.shape == (2, 3)
    assert (proxy.shape, proxy.dtype, len(proxy)) == ((2,), wp.vec3f, 2)
    proxy.torch[1, 2] = 9.0
    assert host(proxy)[1, 2] == 9.0
    with pytest.raises(AttributeError, match=r"immutable|cannot be changed"):
        proxy.warp = None
    with pytest.raises(TypeError):
        ta.ProxyArray(np.zeros(3))
    with pytest.raises(TypeError, match="unhashable"):
        hash(proxy)


def test_a_proxy_stands_for_its_tensor_with_one_warning(proxy: ta.ProxyArray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tensor = proxy.torch
        assert torch.equal(proxy + 1, tensor + 1)
        assert torch.equal(2.0 - proxy, 2.0 - tensor)
        assert torch.equal(proxy == proxy, tensor == tensor)
        assert torch.equal(-proxy, -tensor)
        assert torch.equal(proxy[0], tensor[0])
        assert torch.equal(torch.cat([proxy, proxy]), torch.cat([tensor, tensor]))
        assert torch.equal(proxy.clone(), tensor)
        proxy[0] = 7.0
    assert host(proxy)[0].tolist() == [7, 7, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proxy * 2


@wp.kernel
def double(values: wp.array[wp.vec3f], values_out: wp.array[wp.vec3f]):
    i = wp.tid()
    values_out[i] = 2.0 * values[i]


def test_a_proxy_is_an_argument_of_a_launch(proxy: ta.ProxyArray) -> None:
    out = wp.zeros(2, dtype=wp.vec3f, device="cpu")
    wp.launch(double, 2, [proxy], [out], device="cpu")
    np.testing.assert_array_equal(out.numpy(), 2 * host(proxy))


def test_state_through_torch() -> None:
    scene, cube = make(Stage(3).cubes(), cube_cfg())
    pose = cube.data.root_pose_w.torch
    assert pose.shape == (3, 7)
    new = pose.clone()
    new[1, :3] = torch.tensor([1.0, 2.0, 3.0])
    cube.write_root_pose_to_sim_index(root_pose=new[1:2], env_ids=torch.tensor([1]))
    assert cube.data.root_pos_w.torch[1].tolist() == [1, 2, 3]
    mask = torch.tensor([True, False, True])
    cube.write_root_velocity_to_sim_mask(root_velocity=torch.ones(3, 6), env_mask=mask)
    assert cube.data.root_vel_w.torch.sum(dim=1).tolist() == [6, 0, 6]
    scene.step()
    assert pose.data_ptr() == cube.data.root_pose_w.torch.data_ptr()
    with pytest.raises(AssertionError):
        cube.write_root_pose_to_sim_index(root_pose=torch.zeros(3, 6))
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        cube.write_root_state_to_sim(torch.cat((new, torch.zeros(3, 6)), dim=1))
    torch.testing.assert_close(cube.data.root_pose_w.torch, new)


def test_finders_of_collections_return_tensors() -> None:
    _, pair = make(pair_stage(), pair_cfg())
    places, names = pair.find_bodies("b")
    assert places.tolist() == [1]
    assert places.dtype is torch.int32
    assert names == ["b"]
    state = torch.zeros(2, 1, 13)
    state[..., 6] = 1.0
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        pair.write_object_state_to_sim(state, object_ids=places)
    assert pair.data.body_pos_w.torch[:, 1].abs().sum() == 0.0


class Mlp(torch.nn.Module):
    """Twice the newest error less the velocity before it, from rows [e0, e1, v0, v1]."""

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return 2.0 * rows[:, 0] - rows[:, 3]


class Lstm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(2, 3, num_layers=2, batch_first=True)

    def forward(
        self, rows: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        out, state = self.lstm(rows, state)
        return 10.0 * out[:, -1].sum(dim=-1), state


LIMITS = {"actuator_effort_limit": 5.0, "actuator_velocity_limit": 10.0, "saturation_effort": 8.0}


def scripted(module: torch.nn.Module, path: pathlib.Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.script(module).save(str(path))
    return str(path)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_network_over_the_past(tmp_path: pathlib.Path) -> None:
    cfg = ta.ActuatorNetMLPCfg(
        joint_names_expr=[".*"],
        network_file=scripted(Mlp(), tmp_path / "mlp.pt"),
        pos_scale=0.5,
        vel_scale=0.1,
        torque_scale=3.0,
        input_order="pos_vel",
        input_idx=[0, 1],
        **LIMITS,
    )
    _, arm = make(Stage(2).arms(), arm_cfg(actuators={"net": cfg}))
    commands = arm.actuators.target_command
    first = np.full((2, 4), 1.0, np.float32)
    arm.write_joint_velocity_to_sim_index(velocity=first)
    commands.set_position_index(value=0.4)
    arm.actuators.compute(0.01)
    np.testing.assert_allclose(host(arm.actuators.computed_effort), 3.0 * 2.0 * 0.5 * 0.4, rtol=1e-5)
    arm.write_joint_velocity_to_sim_index(velocity=0.0 * first)
    commands.set_position_index(value=2.0)
    arm.actuators.compute(0.01)
    np.testing.assert_allclose(host(arm.actuators.computed_effort), 3.0 * (2.0 - 0.1), rtol=1e-5)
    np.testing.assert_allclose(host(arm.actuators.applied_effort), 5.0)
    arm.reset(env_ids=[1])
    arm.actuators.compute(0.01)
    np.testing.assert_allclose(host(arm.actuators.computed_effort), 3.0 * 2.0, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_recurrent_network_has_a_state_for_each_joint(tmp_path: pathlib.Path) -> None:
    torch.manual_seed(3)
    module = Lstm()
    cfg = ta.ActuatorNetLSTMCfg(
        joint_names_expr=[".*_elbow"], network_file=scripted(module, tmp_path / "lstm.pt"), **LIMITS
    )
    _, arm = make(Stage(2).arms(), arm_cfg(actuators={"net": cfg}))
    arm.actuators.target_command.set_position_index(value=torch.tensor([[0.1, 0.2, 0.3, 0.4]] * 2))
    state = (torch.zeros(2, 1, 3), torch.zeros(2, 1, 3))
    with torch.no_grad():
        for _ in range(3):
            effort, state = module(torch.tensor([[[0.3, 0.0]]]), state)
            arm.actuators.compute(0.01)
    torch.testing.assert_close(arm.actuators.computed_effort.torch[:, 2], effort.expand(2))
    arm.reset(env_ids=[0])
    arm.actuators.compute(0.01)
    after = arm.actuators.computed_effort.torch[:, 2]
    with torch.no_grad():
        again, _ = module(torch.tensor([[[0.3, 0.0]]]), (torch.zeros(2, 1, 3), torch.zeros(2, 1, 3)))
    torch.testing.assert_close(after[0], again[0])
    assert after[0] != after[1]
