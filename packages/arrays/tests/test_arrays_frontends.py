"""Every frontend: the battery, round trips of any shape and dtype, dtype and device rules."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from tensorphys_arrays import (
    ArrayDeviceError,
    ArrayError,
    ArrayTypeError,
    ArrayValueError,
    FrontendDeviceError,
    UnknownFrontendError,
    get_frontend,
    scalar_type,
)
from tensorphys_arrays.testing import check_frontend, check_input, check_output

NAMES = ["numpy", "warp", pytest.param("torch", marks=pytest.mark.torch)]
DTYPES = [wp.float32, wp.int32, wp.uint32, wp.uint8, wp.uint64]


def converters(name, device):
    """NumPy to an array of the frontend on the device, and back."""
    if name == "numpy":
        return lambda values: values, lambda array: array
    if name == "warp":
        return lambda values: wp.array(values, device=device), lambda array: array.numpy()
    import torch

    def from_numpy(values):
        signed = {np.dtype(np.uint32): np.int32, np.dtype(np.uint64): np.int64}.get(values.dtype)
        values = values if signed is None else values.view(signed)
        return torch.from_numpy(values.copy()).to(wp.device_to_torch(device))

    return from_numpy, lambda array: array.cpu().numpy()


def make(name, device):
    if name == "numpy" and device != "cpu":
        pytest.skip("the numpy frontend serves the CPU")
    return get_frontend(name), *converters(name, device)


@pytest.mark.parametrize("name", NAMES)
def test_battery(name, device):
    frontend, from_numpy, to_numpy = make(name, device)
    assert frontend.name == name
    check_frontend(frontend, device=device, from_numpy=from_numpy, to_numpy=to_numpy)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_round_trip_of_any_shape_and_dtype(name, device, data):
    frontend, from_numpy, to_numpy = make(name, device)
    dtype = scalar_type(data.draw(st.sampled_from(DTYPES))).numpy
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
    values = data.draw(arrays(dtype, shape))
    check_output(frontend, values, device=device, to_numpy=to_numpy)
    check_input(frontend, values, device=device, from_numpy=from_numpy, to_numpy=to_numpy)


# Case 026.
def layouts(reference):
    """The same numbers in memory in other ways, float32 and float64."""
    rows, columns = reference.shape
    wide = np.full((rows, columns + 6), -99.0, dtype=np.float32)
    wide[:, 3 : 3 + columns] = reference
    return [
        reference,
        wide[:, 3 : 3 + columns],
        wide.T[3 : 3 + columns].T,
        np.asfortranarray(reference),
        reference.astype(np.float64),
        reference.astype(np.float64)[::-1][::-1],
        reference[::-1].copy()[::-1],
        np.repeat(reference, 2, axis=0)[::2],
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(8))
def test_case_026_layouts_and_float64(name, number, device):
    reference = np.random.default_rng(7).uniform(-5, 5, (3, 7)).astype(np.float32)
    variant = layouts(reference)[number]
    np.testing.assert_array_equal(variant, reference)
    frontend, *_ = make(name, device)
    if name == "numpy":
        data = variant
    elif name == "torch":
        import torch

        # Torch has no negative strides; the other layouts keep theirs.
        positive = variant if min(variant.strides) > 0 else variant.copy()
        data = torch.from_numpy(positive)
        data = data if device == "cpu" else data.to(device)
    else:
        if variant.dtype == np.float64 or min(variant.strides) < 0:
            data = wp.array(reference, device=device)
        else:
            base = wp.array(np.ascontiguousarray(variant.T), device=device)
            data = base.transpose()
            assert not data.is_contiguous
    for shape in (None, (3, 7)):
        found = frontend.as_input(
            data, dtype=wp.float32, element_count=21, device=device, what="set_transforms(data)", shape=shape
        )
        np.testing.assert_array_equal(found.numpy().reshape(3, 7), reference)


def test_read_only_data_are_accepted():
    values = np.arange(6, dtype=np.float32)
    values.setflags(write=False)
    found = get_frontend("np").as_input(
        values, dtype=wp.float32, element_count=6, device="cpu", what="f(data)"
    )
    np.testing.assert_array_equal(found.numpy(), values)


@pytest.mark.torch
def test_torch_accepts_gradients_and_numpy_on_the_cpu():
    import torch

    frontend = get_frontend("torch")
    wanted = {"dtype": wp.float32, "element_count": 3, "device": "cpu", "what": "f(data)"}
    tracked = torch.ones(3, requires_grad=True) * 2.0
    np.testing.assert_array_equal(frontend.as_input(tracked, **wanted).numpy(), [2.0, 2.0, 2.0])
    values = np.arange(3.0)
    values.setflags(write=False)
    np.testing.assert_array_equal(frontend.as_input(values, **wanted).numpy(), values)
    np.testing.assert_array_equal(frontend.as_input([1, 2, 3], **wanted).numpy(), [1, 2, 3])
    half = torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16)
    np.testing.assert_array_equal(frontend.as_input(half, **wanted).numpy(), [1, 2, 3])
    with pytest.raises(ArrayTypeError, match="complex"):
        frontend.as_input(torch.ones(3, dtype=torch.complex64), **wanted)
    with pytest.raises(ArrayDeviceError, match="expected an array on cpu, given one on meta"):
        frontend.as_input(torch.ones(3, device="meta"), **wanted)
    assert frontend.report_device("cpu") == torch.device("cpu")


@pytest.mark.torch
def test_torch_outputs_of_unsigned_integers_are_signed():
    import torch

    frontend = get_frontend("pytorch")
    assert frontend.allocate((2, 4), wp.uint32, "cpu").array.dtype == torch.int32
    assert frontend.allocate((2,), wp.uint64, "cpu").array.dtype == torch.int64
    assert frontend.allocate((2,), wp.uint8, "cpu").array.dtype == torch.uint8
    assert frontend.allocate((2,), wp.float32, "cpu").array.dtype == torch.float32


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_copied_where_nothing_has_to_change(name, device):
    frontend, _, to_numpy = make(name, device)
    buffer = frontend.allocate((4, 3), wp.float32, device)
    wanted = {"dtype": wp.float32, "element_count": 12, "device": device, "what": "f(data)"}
    assert frontend.as_input(buffer.array, **wanted).ptr == buffer.warp.ptr
    buffer.warp.fill_(3.0)
    wp.synchronize_device(device)
    assert to_numpy(buffer.array).tolist() == [[3.0] * 3] * 4


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        (wp.vec3, (4, 3)),
        (wp.transform, (4, 7)),
        (wp.quat, (4, 4)),
        (wp.mat33, (4, 3, 3)),
        (wp.spatial_vector, (4, 6)),
    ],
)
def test_warp_arrays_of_vectors_are_scalars(dtype, shape, device):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    data = wp.array(values, dtype=dtype, device=device)
    wanted = {"dtype": wp.float32, "device": device, "what": "f(data)"}
    frontend = get_frontend("wp")
    found = frontend.as_input(data, element_count=values.size, shape=shape, **wanted)
    assert found.ptr == data.ptr
    np.testing.assert_array_equal(found.numpy(), values)
    strided = frontend.as_input(data[::2], element_count=values.size // 2, **wanted)
    np.testing.assert_array_equal(strided.numpy(), values[::2].reshape(-1))
    with pytest.raises(ArrayValueError, match=f"expected 5 elements, given {values.size}"):
        frontend.as_input(data, element_count=5, **wanted)


def test_the_view_of_vectors_keeps_their_memory():
    frontend = get_frontend("warp")
    views = []
    for i in range(50):
        source = wp.full(1000, value=wp.vec3(float(i)), dtype=wp.vec3, device="cpu")
        views.append(
            frontend.as_input(source, dtype=wp.float32, element_count=3000, device="cpu", what="f(data)")
        )
        del source
    assert all(np.all(view.numpy() == i) for i, view in enumerate(views))


@pytest.mark.parametrize("dtype", [wp.float64, wp.int32, wp.vec3d, wp.float16])
def test_warp_arrays_are_not_cast(dtype, device):
    with pytest.raises(ArrayTypeError, match=r"set_masses\(data\): expected a wp.array of float32.*not cast"):
        get_frontend("warp").as_input(
            wp.zeros(4, dtype=dtype, device=device),
            dtype=wp.float32,
            element_count=4,
            device=device,
            what="set_masses(data)",
        )


def test_warp_flags_may_be_bool_or_int8(device):
    frontend = get_frontend("warp")
    for dtype in (wp.bool, wp.int8, wp.uint8):
        flags = wp.array(np.array([1, 0, 1]), dtype=dtype, device=device)
        found = frontend.as_input(flags, dtype=wp.uint8, element_count=3, device=device, what="f(data)")
        assert found.numpy().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "bad", [np.zeros(6, complex), np.array(["a"] * 6), [[1.0], [2.0, 3.0]], None, "text"]
)
def test_numpy_refuses_what_is_no_array_of_numbers(bad):
    with pytest.raises(ArrayTypeError, match=r"set_it\(data\)"):
        get_frontend("numpy").as_input(
            bad, dtype=wp.float32, element_count=6, device="cpu", what="set_it(data)"
        )


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["warp", pytest.param("torch", marks=pytest.mark.torch)])
def test_wrong_device_is_named(name):
    frontend, from_numpy, _ = make(name, "cpu")
    data = from_numpy(np.zeros(3, dtype=np.float32))
    rows = from_numpy(np.zeros(3, dtype=np.int32))
    with pytest.raises(ArrayDeviceError, match="expected an array on cuda:0, given one on cpu"):
        frontend.as_input(data, dtype=wp.float32, element_count=3, device="cuda:0", what="f(data)")
    with pytest.raises(ArrayDeviceError, match="expected an array on cuda:0, given one on cpu"):
        frontend.as_indices(rows, count=3, device="cuda:0", what="f(indices)")


@pytest.mark.cuda
def test_numpy_refuses_a_cuda_simulation():
    with pytest.raises(FrontendDeviceError, match="'torch' or 'warp'"):
        get_frontend("numpy").check_simulation_device("cuda:0")


def test_numpy_refuses_any_device_but_the_cpu(monkeypatch):
    class Cuda:
        is_cpu = False

        def __str__(self):
            return "cuda:3"

    monkeypatch.setattr(wp, "get_device", lambda device=None: Cuda())
    with pytest.raises(FrontendDeviceError, match=r"given device cuda:3.*'torch' or 'warp'"):
        get_frontend("numpy").check_simulation_device("cuda:3")
    with pytest.raises(FrontendDeviceError):
        get_frontend("numpy").allocate((3,), wp.float32, "cuda:3")


def test_unknown_scalar_type():
    with pytest.raises(ArrayTypeError, match=r"wp\.float32"):
        get_frontend("warp").allocate((3,), wp.float64, "cpu")


# Case 132.
@pytest.mark.parametrize("name", ["torch", "pytorch"])
def test_case_132_missing_torch_has_an_install_hint(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install") as caught:
        get_frontend(name)
    assert isinstance(caught.value, ArrayError)
    assert get_frontend("numpy").name == "numpy"


def test_case_132_import_loads_no_torch():
    import subprocess

    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "sys.modules['torch'] = None\n"
        "import tensorphys_arrays as a\n"
        "a.get_frontend('np'), a.get_frontend('wp')\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('torch', 'tensorflow') and sys.modules[m]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize("name", ["tensorflow", "tf"])
def test_tensorflow_is_refused_by_name(name):
    with pytest.raises(UnknownFrontendError, match="use 'numpy'"):
        get_frontend(name)


@pytest.mark.parametrize("name", ["jax", "", "NumPy", None])
def test_unknown_names_list_the_choices(name):
    with pytest.raises(UnknownFrontendError, match="'numpy', 'np', 'torch', 'pytorch', 'warp', 'wp'"):
        get_frontend(name)


def test_frontends_share_nothing():
    assert get_frontend("numpy") is not get_frontend("np")
