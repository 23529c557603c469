import pathlib
from collections.abc import Callable

import pytest

import check as runner
import new_package
from checks import contracts, files, imports

Write = Callable[[str, str], pathlib.Path]


@pytest.mark.parametrize(("lines", "expected"), [(600, []), (601, ["file-size"])])
def test_file_size(scene_and_contact: pathlib.Path, write: Write, lines: int, expected: list[str]) -> None:
    write("packages/scene/src/tensorphys_scene/bodies.py", "x = 1\n" * lines)
    assert [finding.rule for finding in files.check(scene_and_contact)] == expected


@pytest.mark.parametrize(
    "name",
    [
        "packages/scene/src/tensorphys_scene/utils.py",
        "packages/scene/src/tensorphys_scene/_helpers.py",
        "packages/scene/src/tensorphys_scene/common/poses.py",
        "packages/scene/tests/misc.py",
        "tools/util.py",
    ],
)
def test_module_name_that_explains_nothing(scene_and_contact: pathlib.Path, write: Write, name: str) -> None:
    write(name, "x = 1\n")
    assert [finding.rule for finding in files.check(scene_and_contact)] == ["module-name"]


@pytest.fixture
def all_kinds(scene_and_contact: pathlib.Path) -> pathlib.Path:
    new_package.create(
        "arrays", "Arrays.", needs=["numpy"], extras=["torch=torch>=2.2"], root=scene_and_contact
    )
    new_package.create("usd", "USD.", needs=["usd-core"], siblings=["scene"], root=scene_and_contact)
    new_package.create("tensorphys", "All.", needs=["usd-core"], siblings=["usd"], root=scene_and_contact)
    return scene_and_contact


@pytest.mark.parametrize(
    ("folder", "text", "expected"),
    [
        ("contact", "import torch\n", "forbidden-import"),
        ("contact", "def f():\n    import torch\n", "forbidden-import"),
        ("contact", "import importlib\nx = importlib.import_module('torch.cuda')\n", "forbidden-import"),
        ("arrays", "import torch\n", "forbidden-import"),
        ("arrays", "def f():\n    import torch\n", None),
        ("arrays", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n", None),
        ("arrays", "import tensorflow\n", "forbidden-import"),
        ("usd", "from pxr import Usd\n", None),
        ("scene", "from pxr import Usd\n", "forbidden-import"),
        ("tensorphys", "from pxr import Usd\n", "forbidden-import"),
        ("tensorphys", "def f():\n    from pxr import Usd\n", None),
        ("usd", "import newton\n", "forbidden-import"),
        ("scene", "import scipy\n", "undeclared-import"),
        ("scene", "import tensorphys_contact\n", "undeclared-import"),
        ("contact", "import tensorphys_scene, warp, json\n", None),
        ("contact", "from . import broad\nimport tensorphys_contact\n", None),
    ],
)
def test_imports(all_kinds: pathlib.Path, write: Write, folder: str, text: str, expected: str | None) -> None:
    module = "tensorphys" if folder == "tensorphys" else f"tensorphys_{folder}"
    write(f"packages/{folder}/src/{module}/probe.py", text)
    assert [finding.rule for finding in imports.check(all_kinds)] == ([expected] if expected else [])


def test_declared_sibling_must_lie_lower_and_have_a_range(
    scene_and_contact: pathlib.Path, write: Write
) -> None:
    assert list(imports.check_layers(scene_and_contact)) == []
    project = scene_and_contact / "packages" / "scene" / "pyproject.toml"
    good = project.read_text()
    project.write_text(good.replace('"numpy>=1.26"', '"tensorphys-contact>=0.1,<0.2"'))
    assert [finding.rule for finding in imports.check_layers(scene_and_contact)] == ["sibling-layer"]
    project.write_text(good)
    contact = scene_and_contact / "packages" / "contact" / "pyproject.toml"
    contact.write_text(contact.read_text().replace("scene>=0.1,<0.2", "scene>=0.1"))
    assert [finding.rule for finding in imports.check_layers(scene_and_contact)] == ["sibling-range"]


def test_contract_names_existing_packages_highest_layer_first(all_kinds: pathlib.Path) -> None:
    text = contracts.configuration(all_kinds)
    layers = text[text.index("layers =\n") :].split()[2:]
    assert layers == [
        "tensorphys",
        "tensorphys_contact",
        "tensorphys_usd",
        "tensorphys_scene",
        "|",
        "tensorphys_arrays",
    ]


@pytest.mark.parametrize(
    ("folder", "text", "broken"),
    [
        ("scene", "import tensorphys_contact\n", True),
        ("scene", "def f():\n    import tensorphys_arrays\n", True),
        ("contact", "import tensorphys_scene\n", False),
    ],
)
def test_import_contract(all_kinds: pathlib.Path, write: Write, folder: str, text: str, broken: bool) -> None:
    pytest.importorskip("importlinter")
    write(f"packages/{folder}/src/tensorphys_{folder}/probe.py", text)
    assert [finding.rule for finding in contracts.check(all_kinds)] == (["layers"] if broken else [])


def test_runner_prints_findings_and_tells_by_its_exit_code(
    scene_and_contact: pathlib.Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main(["files", "--root", str(scene_and_contact)]) == 0
    write("tools/misc.py", "")
    assert runner.main(["files", "--root", str(scene_and_contact)]) == 1
    assert "tools/misc.py:1: [module-name]" in capsys.readouterr().out
