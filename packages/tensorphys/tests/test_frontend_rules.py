"""What the views take from a user's arrays and what they refuse."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest


def _balls(stages: SimpleNamespace, frontend: Any) -> SimpleNamespace:
    stage = stages.Author.new(gravity=0.0)
    for i in range(3):
        stage.body(f"/World/ball{i}", (i, 0, 1))
    sim = stages.view(frontend, stage)
    return SimpleNamespace(sim=sim, view=sim.create_rigid_body_view("/World/ball*"))


def _raised(arrays: Any, view: Any) -> np.ndarray:
    poses = arrays.host(view.get_transforms())
    poses[:, 2] = [5, 6, 7]
    return poses


INDICES = [
    pytest.param(lambda: np.array([2, 0], np.int64), id="int64"),
    pytest.param(lambda: np.array([2, 0], np.int32), id="int32"),
    pytest.param(lambda: np.array([2, 0], np.uint32), id="uint32"),
    pytest.param(lambda: np.array([[2], [0]], np.int32), id="column"),
    pytest.param(lambda: np.array([2, 0, 2, 2, 0]), id="repeated"),
    pytest.param(lambda: [2, 0], id="list"),
]


@pytest.mark.parametrize("make", INDICES)
def test_index_types(stages: SimpleNamespace, make: Any) -> None:
    """Row i of the view takes row i of the data."""
    from_numpy = _balls(stages, "numpy").view
    from_numpy.set_transforms(_raised(stages.Arrays("numpy"), from_numpy), make())
    np.testing.assert_array_equal(from_numpy.get_transforms()[:, 2], [5, 1, 7])


@pytest.mark.parametrize("bad", [np.array([True, False, True]), np.array([0.0, 2.0]), [0.5]])
def test_masks_and_fractions_are_no_indices(stages: SimpleNamespace, bad: Any) -> None:
    view = _balls(stages, "numpy").view
    for setter in (view.set_transforms, view.set_masses):
        data = view.get_transforms() if setter == view.set_transforms else view.get_masses()
        with pytest.raises(TypeError, match=r"RigidBodyView.set_\w+\(indices\)"):
            setter(data, bad)


def test_indices_outside_of_the_view(stages: SimpleNamespace, arrays: Any) -> None:
    view = _balls(stages, arrays).view
    for rows in ([3], [-1]):
        with pytest.raises(IndexError, match=r"expected indices in \[0, 3\)"):
            stages.set_and_look(view, "transforms", arrays.make(_raised(arrays, view)), arrays.rows(rows))
        with pytest.raises(IndexError, match=r"set_masses\(indices\)"):
            view.set_masses(view.get_masses(), arrays.cpu.rows(rows))
    np.testing.assert_array_equal(arrays.host(view.get_transforms())[:, 2], [1, 1, 1])


def test_runtime_convention_skips_indices_outside_of_the_view(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new(gravity=0.0)
    for i in range(3):
        stage.body(f"/World/ball{i}", (i, 0, 1))
    view = stages.view(arrays, stage, conventions="runtime").create_rigid_body_view("/World/ball*")
    view.set_transforms(arrays.make(_raised(arrays, view)), arrays.rows([-1, 2, 3, 99]))
    np.testing.assert_array_equal(arrays.host(view.get_transforms())[:, 2], [1, 1, 7])
    view.set_masses(arrays.cpu.make([[2], [3], [4]]), arrays.cpu.rows([1, 3]))
    np.testing.assert_array_equal(arrays.host(view.get_masses()).ravel(), [1, 3, 1])
    assert view.check()


def test_layouts_of_data(stages: SimpleNamespace) -> None:
    """Strided, transposed, Fortran-ordered, float64 and flat data set what a fresh float32 copy sets."""
    rng = np.random.default_rng(7)
    big = np.zeros((3, 13), np.float32)
    big[:, 3:6] = rng.uniform(-5, 5, (3, 3))
    big[:, 6:10] = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    wanted = np.ascontiguousarray(big[:, 3:10])
    view = _balls(stages, "numpy").view
    still = view.get_transforms().copy()
    for data in (
        big[:, 3:10],
        np.asfortranarray(wanted),
        wanted.astype(np.float64),
        big.T[3:10].T,
        wanted.ravel(),
        wanted.tolist(),
    ):
        view.set_transforms(still, None)
        view.set_transforms(data, None)
        np.testing.assert_allclose(view.get_transforms(), wanted, atol=1e-6)


def test_sizes_are_those_of_the_whole_view(stages: SimpleNamespace, arrays: Any) -> None:
    view = _balls(stages, arrays).view
    for bad in (np.zeros((2, 7)), np.zeros(22)):
        with pytest.raises(
            ValueError, match=rf"set_transforms\(data\): expected 21 elements, given {bad.size}"
        ):
            view.set_transforms(arrays.make(bad), arrays.rows([0]))
    with pytest.raises(ValueError, match="expected 3 elements, given 1"):
        view.set_masses(arrays.cpu.make([[1.0]]), arrays.cpu.rows([0]))


def test_warp_arrays_are_not_cast(stages: SimpleNamespace) -> None:
    import warp as wp

    view = _balls(stages, "warp").view
    poses = view.get_transforms().numpy()
    poses[:, 2] = [5, 6, 7]
    with pytest.raises(TypeError, match="not cast"):
        view.set_transforms(wp.array(poses.astype(np.float64), dtype=wp.float64, device="cpu"), None)
    with pytest.raises(TypeError, match=r"expected a wp\.array"):
        view.set_transforms(poses, None)
    # Vectors and transforms of the scalar type are taken.
    view.set_transforms(
        wp.array(poses, dtype=wp.transform, device="cpu"), wp.array([1], dtype=wp.uint32, device="cpu")
    )
    np.testing.assert_array_equal(view.get_transforms().numpy()[:, 2], [1, 6, 1])
    assert view.get_transforms().dtype is wp.float32
    assert view.get_disable_gravities().dtype is wp.uint8


def test_torch_tensors_are_cast(stages: SimpleNamespace) -> None:
    torch = pytest.importorskip("torch")
    view = _balls(stages, "torch").view
    poses = view.get_transforms().clone()
    assert poses.dtype == torch.float32
    poses[:, 2] = torch.tensor([5.0, 6.0, 7.0])
    for data in (poses.double(), poses.t().contiguous().t(), poses.flatten()):
        for indices in (torch.tensor([2, 0]), torch.tensor([2, 0], dtype=torch.int32), [2, 0]):
            view.set_transforms(data, indices)
            np.testing.assert_array_equal(view.get_transforms()[:, 2].numpy(), [5, 1, 7])
    with pytest.raises(TypeError, match="indices"):
        view.set_transforms(poses, torch.tensor([True, False, True]))
    assert view.get_disable_gravities().dtype == torch.uint8
    assert isinstance(stages.view("torch", stages.Author.new()).device, torch.device)


def test_results_are_snapshots(stages: SimpleNamespace, arrays: Any) -> None:
    """A result changes with the next call of its own getter, not with the simulation."""
    rig = _balls(stages, arrays)
    rig.view.set_velocities(arrays.make([[1, 0, 0, 0, 0, 0]] * 3), None)
    first = rig.view.get_transforms()
    before = arrays.host(first)
    rig.sim.step(0.1)
    np.testing.assert_array_equal(arrays.host(first), before)
    assert rig.view.get_transforms() is first
    np.testing.assert_allclose(arrays.host(first)[:, 0], before[:, 0] + 0.1, rtol=1e-5)
    # Every view has buffers of its own.
    other = rig.sim.create_rigid_body_view("/World/ball*")
    assert other.get_transforms() is not first
