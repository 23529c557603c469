import pathlib
from collections.abc import Callable

import pytest

from checks import kernels, structs

Write = Callable[[str, str], pathlib.Path]

GOOD = """
import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def gather_poses(
    poses: wp.array[wp.transform],
    # outputs
    poses_out: wp.array[wp.transform],
):
    index = wp.tid()
    poses_out[index] = poses[index]
"""


def rules(root: pathlib.Path) -> list[str]:
    return [finding.rule for finding in kernels.check(root)]


def test_a_good_kernel_passes(scene_and_contact: pathlib.Path, write: Write) -> None:
    write("packages/contact/src/tensorphys_contact/_kernels/gather.py", GOOD)
    assert rules(scene_and_contact) == []


def test_backward_must_be_settled(scene_and_contact: pathlib.Path, write: Write) -> None:
    path = "packages/contact/src/tensorphys_contact/_kernels/gather.py"
    write(path, GOOD.replace('wp.set_module_options({"enable_backward": False})', ""))
    assert rules(scene_and_contact) == ["kernel-backward"]
    write(path, GOOD.replace("enable_backward", "max_unroll"))
    assert rules(scene_and_contact) == ["kernel-backward"]
    own = GOOD.replace('wp.set_module_options({"enable_backward": False})', "")
    write(path, own.replace("@wp.kernel", "@wp.kernel(enable_backward=False)"))
    assert rules(scene_and_contact) == []


def test_option_set_inside_a_function_does_not_count(scene_and_contact: pathlib.Path, write: Write) -> None:
    text = GOOD.replace("wp.set_module", "def later():\n    wp.set_module")
    write("packages/contact/src/tensorphys_contact/_kernels/gather.py", text)
    assert rules(scene_and_contact) == ["kernel-backward"]


@pytest.mark.parametrize(("statements", "expected"), [(38, []), (39, ["kernel-length"])])
def test_length_counts_statements(
    scene_and_contact: pathlib.Path, write: Write, statements: int, expected: list[str]
) -> None:
    body = "\n    # a reason\n" + "".join(
        f"    x{i} = wp.sin(\n        float(index)\n    )\n" for i in range(statements)
    )
    write("packages/contact/src/tensorphys_contact/_kernels/gather.py", GOOD.rstrip() + body)
    assert rules(scene_and_contact) == expected


def test_nested_statements_count(scene_and_contact: pathlib.Path, write: Write) -> None:
    body = "\n    if index > 0:\n" + "".join(f"        x{i} = {i}\n" for i in range(40))
    write("packages/contact/src/tensorphys_contact/_kernels/gather.py", GOOD.rstrip() + body)
    assert rules(scene_and_contact) == ["kernel-length"]


@pytest.mark.parametrize(
    "line",
    [
        "poses[index] = poses[0]",
        "poses[index].p = wp.vec3()",
        "poses[index] += poses[0]",
        "wp.atomic_add(poses, 0, poses[1])",
    ],
)
def test_written_arrays_are_named_so(scene_and_contact: pathlib.Path, write: Write, line: str) -> None:
    write("packages/contact/src/tensorphys_contact/_kernels/gather.py", GOOD.rstrip() + f"\n    {line}\n")
    assert rules(scene_and_contact) == ["kernel-names"]


def test_parameters_have_types(scene_and_contact: pathlib.Path, write: Write) -> None:
    text = GOOD.replace("poses: wp.array[wp.transform]", "poses")
    write("packages/contact/src/tensorphys_contact/_kernels/gather.py", text)
    assert rules(scene_and_contact) == ["kernel-types"]


def test_kernels_live_in_their_place(scene_and_contact: pathlib.Path, write: Write) -> None:
    write("packages/contact/src/tensorphys_contact/gather.py", GOOD)
    assert rules(scene_and_contact) == ["kernel-place"]


STRUCT = "import warp as wp\n\n\n@wp.struct\nclass Shape:\n    radius: float\n"


@pytest.mark.parametrize(
    ("header", "annotation"),
    [
        ("from tensorphys_scene.device import Shape", "Shape"),
        ("from tensorphys_scene.device import Shape as Form", "wp.array[Form]"),
        ("from tensorphys_scene import device", "wp.array(dtype=device.Shape)"),
        ("import tensorphys_scene.device", "tensorphys_scene.device.Shape"),
        ("from tensorphys_scene.device import Shape", "'wp.array[Shape]'"),
    ],
)
def test_foreign_struct_fires(
    scene_and_contact: pathlib.Path, write: Write, header: str, annotation: str
) -> None:
    write("packages/scene/src/tensorphys_scene/device.py", STRUCT)
    kernel = f"import warp as wp\n{header}\n\n\n@wp.kernel\ndef f(shapes: {annotation}, x_out: wp.array[float]):\n    pass\n"
    write("packages/contact/src/tensorphys_contact/_kernels/f.py", kernel)
    assert [finding.rule for finding in structs.check(scene_and_contact)] == ["foreign-struct"]


def test_own_struct_foreign_arrays_and_foreign_functions_pass(
    scene_and_contact: pathlib.Path, write: Write
) -> None:
    write(
        "packages/scene/src/tensorphys_scene/device.py",
        STRUCT + "\n\n@wp.func\ndef area(r: float):\n    return r\n",
    )
    write("packages/contact/src/tensorphys_contact/device.py", STRUCT)
    write(
        "packages/contact/src/tensorphys_contact/_kernels/f.py",
        "import warp as wp\nfrom tensorphys_contact.device import Shape\nfrom tensorphys_scene.device import area\n\n\n"
        "@wp.kernel\ndef f(shapes: wp.array[Shape], radii: wp.array[float], x_out: wp.array[float]):\n"
        "    x_out[0] = area(radii[0])\n",
    )
    assert list(structs.check(scene_and_contact)) == []
