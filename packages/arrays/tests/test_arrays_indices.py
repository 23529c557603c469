"""Row indices: kinds, ranges, repeats, on the host and on the device."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_arrays import (
    ArrayIndexError,
    ArrayTypeError,
    IndexFlag,
    RowSelection,
    get_frontend,
    resolve_host_indices,
)
from tensorphys_arrays import device as dev

wp.set_module_options({"enable_backward": False})

WHAT = {"device": "cpu", "what": "set_transforms(indices)"}


@wp.kernel
def write_rows(
    indices: wp.array[wp.int32],
    count: int,
    data: wp.array[float],
    z_out: wp.array[float],
    flag_out: wp.array[wp.int32],
):
    row = indices[wp.tid()]
    if dev.valid_index(row, count, flag_out):
        z_out[row] = data[row]


def write(rows, *, device="cpu", flag=None):
    """What a setter does: row i of full-size data goes to row i of the state."""
    state = wp.array(np.float32([1, 1, 1]), device=device)
    data = wp.array(np.float32([5, 6, 7]), device=device)
    flag = flag or IndexFlag(device)
    wp.launch(write_rows, dim=rows.size, inputs=[rows, 3, data], outputs=[state, flag.array], device=device)
    return state.numpy().tolist()


# Case 025.
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32, np.uint64, np.int16, list, tuple, "column"])
def test_case_025_numpy_indices(kind):
    if kind in (list, tuple):
        indices = kind([2, 0])
    else:
        indices = np.array([[2], [0]]) if kind == "column" else np.array([2, 0], dtype=kind)
    rows = get_frontend("numpy").as_indices(indices, count=3, **WHAT)
    assert rows.dtype == wp.int32
    assert write(rows) == [5.0, 1.0, 7.0]


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["int64", "int32", "uint32", "int16", "list", "numpy", "strided"])
def test_case_025_torch_indices(kind, device):
    import torch

    if kind == "list":
        indices = [2, 0]
    elif kind == "numpy":
        indices = np.array([2, 0])
    elif kind == "strided":
        indices = torch.tensor([2, 9, 0, 9], device=wp.device_to_torch(device))[::2]
    else:
        indices = torch.tensor([2, 0], dtype=getattr(torch, kind), device=wp.device_to_torch(device))
    frontend = get_frontend("torch")
    with frontend.ordered_with_caller(device):
        rows = frontend.as_indices(indices, count=3, device=device, what="f(indices)")
        assert write(rows, device=device) == [5.0, 1.0, 7.0]


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint32])
def test_case_025_warp_indices(dtype, device):
    frontend = get_frontend("warp")
    indices = wp.array([2, 0], dtype=dtype, device=device)
    rows = frontend.as_indices(indices, count=3, device=device, what="f(indices)")
    assert rows.ptr == indices.ptr
    assert write(rows, device=device) == [5.0, 1.0, 7.0]
    strided = wp.array([2, 9, 0, 9], dtype=dtype, device=device)[::2]
    rows = frontend.as_indices(strided, count=3, device=device, what="f(indices)")
    assert write(rows, device=device) == [5.0, 1.0, 7.0]


@pytest.mark.parametrize(
    "mask",
    [
        np.array([True, False, True]),
        [True, False, True],
        np.array([1, 0, 1], np.uint8),
        np.array([2.0, 0.0]),
        [2.0, 0.0],
        np.array([2, 0], complex),
        np.zeros(0),
        "02",
        [[0], [1, 2]],
    ],
)
def test_case_025_masks_and_floats_are_refused(mask):
    with pytest.raises(TypeError, match=r"set_transforms\(indices\): expected") as caught:
        get_frontend("numpy").as_indices(mask, count=3, **WHAT)
    assert isinstance(caught.value, ArrayTypeError)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "float64"])
def test_case_025_torch_masks_and_floats_are_refused(dtype, device):
    import torch

    indices = torch.tensor([1, 0, 1], dtype=getattr(torch, dtype), device=wp.device_to_torch(device))
    with pytest.raises(TypeError, match=f"given {dtype}"):
        get_frontend("torch").as_indices(indices, count=3, device=device, what="f(indices)")


@pytest.mark.parametrize("dtype", [wp.int64, wp.float32, wp.bool, wp.vec2])
def test_warp_indices_are_not_cast(dtype, device):
    with pytest.raises(ArrayTypeError, match="expected"):
        get_frontend("warp").as_indices(
            wp.zeros(2, dtype=dtype, device=device), count=3, device=device, what="f(indices)"
        )
    with pytest.raises(ArrayTypeError, match="given list"):
        get_frontend("warp").as_indices([0, 1], count=3, device=device, what="f(indices)")


@pytest.mark.parametrize("bad", [3, -1, 2**31, 2**32, 2**40, -(2**40)])
def test_host_index_out_of_range_names_the_value(bad):
    with pytest.raises(
        IndexError, match=rf"expected indices in \[0, 3\), given {bad} at position 1"
    ) as caught:
        get_frontend("numpy").as_indices(np.array([1, bad, 2]), count=3, **WHAT)
    assert isinstance(caught.value, ArrayIndexError)


@pytest.mark.torch
def test_torch_host_index_out_of_range_names_the_value():
    import torch

    with pytest.raises(IndexError, match="given 4294967296"):
        get_frontend("torch").as_indices(torch.tensor([0, 2**32]), count=3, **WHAT)


def test_empty_and_all(device):
    frontend = get_frontend("warp")
    everything = frontend.as_indices(None, count=4, device=device, what="f")
    assert everything.numpy().tolist() == [0, 1, 2, 3]
    assert frontend.as_indices(None, count=4, device=device, what="f") is everything
    assert frontend.as_indices(None, count=0, device=device, what="f").shape == (0,)
    assert get_frontend("numpy").as_indices([], count=0, **WHAT).shape == (0,)
    assert get_frontend("numpy").as_indices(1, count=2, **WHAT).numpy().tolist() == [1]


@given(st.lists(st.integers(0, 7), max_size=30), st.sampled_from([np.int32, np.int64, np.uint32]))
def test_repeated_rows_keep_their_last_mention(indices, dtype):
    rows = resolve_host_indices(np.array(indices, dtype=dtype), count=8, what="f")
    last = {}
    for position, row in enumerate(indices):
        last[row] = position
    assert rows.dtype == np.int32
    assert rows.tolist() == sorted(last, key=last.__getitem__)


@given(st.permutations(range(6)))
def test_unrepeated_int32_rows_are_not_copied(order):
    given_rows = np.array(order, dtype=np.int32)
    assert np.shares_memory(resolve_host_indices(given_rows, count=6, what="f"), given_rows)


def test_sticky_flag(device):
    flag = IndexFlag(device)
    rows = wp.array([2, 5, 0, -3, 3], dtype=wp.int32, device=device)
    assert write(rows, device=device, flag=flag) == [5.0, 1.0, 7.0]
    good = wp.array([1], dtype=wp.int32, device=device)
    assert write(good, device=device, flag=flag) == [1.0, 6.0, 1.0]
    with pytest.raises(ArrayIndexError, match=r"set_masses: .* \[0, 3\), given 3 outside of it \(-3 to 5\)"):
        flag.check(count=3, what="set_masses")
    flag.check(count=3, what="set_masses")
    write(wp.array([7], dtype=wp.int32, device=device), device=device, flag=flag)
    with pytest.raises(IndexError, match=r"given 1 outside of it \(7\)"):
        flag.check(count=3, what="set_masses")


@given(st.lists(st.integers(-2, 9), max_size=40))
def test_selection_on_the_device(device, indices):
    selection = RowSelection(8, device)
    owner = selection.select(wp.array(np.array(indices, dtype=np.int32), dtype=wp.int32, device=device))
    expected = np.full(8, -1)
    for position, row in enumerate(indices):
        if 0 <= row < 8:
            expected[row] = position
    assert owner.numpy().tolist() == expected.tolist()
    bad = [row for row in indices if not 0 <= row < 8]
    if bad:
        with pytest.raises(ArrayIndexError, match=rf"given {len(bad)} outside of it \({min(bad)}"):
            selection.check(what="f")
    selection.check(what="f")


def test_selection_forgets_the_rows_before(device):
    selection = RowSelection(4, device)
    selection.select(wp.array([0, 1, 1], dtype=wp.int32, device=device))
    assert selection.owner.numpy().tolist() == [0, 2, -1, -1]
    selection.select(wp.array([3], dtype=wp.int32, device=device))
    assert selection.owner.numpy().tolist() == [-1, -1, -1, 0]


@wp.kernel
def last_writer(
    indices: wp.array[wp.int32],
    values: wp.array[float],
    owner: wp.array[wp.int32],
    out: wp.array[float],
):
    position = wp.tid()
    if dev.owns_row(owner, indices[position], position):
        out[indices[position]] = values[position]


def test_last_of_many_writers_wins(device):
    count = 20000
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 50, count).astype(np.int32)
    values = rng.uniform(size=count).astype(np.float32)
    selection = RowSelection(50, device)
    indices = wp.array(rows, dtype=wp.int32, device=device)
    out = wp.zeros(50, dtype=float, device=device)
    wp.launch(
        last_writer,
        dim=count,
        inputs=[indices, wp.array(values, device=device), selection.select(indices)],
        outputs=[out],
        device=device,
    )
    expected = np.zeros(50, dtype=np.float32)
    for row, value in zip(rows, values, strict=True):
        expected[row] = value
    np.testing.assert_array_equal(out.numpy(), expected)


def test_selection_and_flag_can_be_recorded(device):
    selection = RowSelection(4, device)
    indices = wp.array([0, 1], dtype=wp.int32, device=device)
    selection.select(indices)
    with wp.ScopedCapture(device=device) as capture:
        selection.select(indices)
    indices.assign([3, 9])
    wp.capture_launch(capture.graph)
    assert selection.owner.numpy().tolist() == [-1, -1, -1, 0]
    with pytest.raises(ArrayIndexError, match="9"):
        selection.check(what="f")


@pytest.mark.torch
@pytest.mark.cuda
def test_torch_device_indices_of_64_bits_do_not_wrap():
    import torch

    frontend = get_frontend("torch")
    rows = frontend.as_indices(
        torch.tensor([2**32, -(2**33), 1], device="cuda:0"), count=3, device="cuda:0", what="f(indices)"
    )
    flag = IndexFlag("cuda:0")
    assert write(rows, device="cuda:0", flag=flag) == [1.0, 6.0, 1.0]
    with pytest.raises(ArrayIndexError, match="given 2"):
        flag.check(count=3, what="f")


@pytest.mark.torch
@pytest.mark.cuda
def test_launches_are_ordered_with_the_current_torch_stream():
    import torch

    frontend = get_frontend("torch")
    buffer = frontend.allocate((1 << 20,), wp.float32, "cuda:0")
    stream = torch.cuda.Stream()
    outside = wp.get_stream("cuda:0")
    for step in range(5):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            data = torch.full((1 << 20,), float(step + 1), device="cuda:0")
            with frontend.ordered_with_caller("cuda:0"):
                assert wp.get_stream("cuda:0").cuda_stream == stream.cuda_stream
                source = frontend.as_input(
                    data, dtype=wp.float32, element_count=data.numel(), device="cuda:0", what="f(data)"
                )
                wp.copy(buffer.warp, source)
            total = buffer.array.sum()
        stream.synchronize()
        assert total.item() == (step + 1) * (1 << 20)
    assert wp.get_stream("cuda:0").cuda_stream == outside.cuda_stream
