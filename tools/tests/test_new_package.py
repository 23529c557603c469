import pathlib
import subprocess
import sys
import zipfile

import pytest

import new_package
import workspace


def test_package_has_the_layout_of_the_architecture(repository: pathlib.Path) -> None:
    path = new_package.create("sdf", "Signed distance fields.", needs=["warp-lang>=1.19"], root=repository)
    written = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    assert written == {
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "changes/.gitkeep",
        "src/tensorphys_sdf/__init__.py",
        "src/tensorphys_sdf/py.typed",
        "tests/test_sdf_public_names.py",
    }
    package = workspace.packages(repository)["sdf"]
    assert package.dependencies == ("warp-lang>=1.19",)
    assert (package.distribution, package.module, package.version) == (
        "tensorphys-sdf",
        "tensorphys_sdf",
        "0.1.0",
    )


def test_the_top_package_has_no_suffix(repository: pathlib.Path) -> None:
    path = new_package.create("tensorphys", "All of it.", root=repository)
    assert (path / "src" / "tensorphys" / "__init__.py").exists()
    assert workspace.packages(repository)["tensorphys"].distribution == "tensorphys"


def test_root_knows_the_new_package(scene_and_contact: pathlib.Path) -> None:
    sources = workspace.read_toml(scene_and_contact / "pyproject.toml")["tool"]["uv"]["sources"]
    assert sources == {"tensorphys-scene": {"workspace": True}, "tensorphys-contact": {"workspace": True}}


def test_unplanned_package_enters_with_its_layer(repository: pathlib.Path) -> None:
    with pytest.raises(workspace.WorkspaceError, match="--layer"):
        new_package.create("acoustics", "Sound.", root=repository)
    new_package.create("acoustics", "Sound.", layer=2, root=repository)
    assert workspace.layers(repository)["acoustics"] == 2
    assert workspace.layers(repository)["backend"] == 5


def test_sibling_is_declared_with_the_range_of_its_minor_version(scene_and_contact: pathlib.Path) -> None:
    assert workspace.packages(scene_and_contact)["contact"].sibling_ranges() == {"scene": ">=0.1,<0.2"}
    project = scene_and_contact / "packages" / "scene" / "pyproject.toml"
    project.write_text(project.read_text().replace('version = "0.1.0"', 'version = "1.4.2"'))
    new_package.create("dynamics", "Motion.", siblings=["scene"], root=scene_and_contact)
    assert workspace.packages(scene_and_contact)["dynamics"].sibling_ranges() == {"scene": ">=1.4,<2"}


@pytest.mark.parametrize(
    ("folder", "siblings", "message"),
    [
        ("Sdf", [], "lower case"),
        ("utils", [], "explains nothing"),
        ("scene", [], "exists"),
        ("fem", ["particles"], "no packages/particles"),
        ("usd", ["contact"], "not in a layer below"),
    ],
)
def test_refusals(scene_and_contact: pathlib.Path, folder: str, siblings: list[str], message: str) -> None:
    with pytest.raises(workspace.WorkspaceError, match=message):
        new_package.create(folder, "Nothing.", siblings=siblings, root=scene_and_contact)


def test_fill_keeps_what_is_there(repository: pathlib.Path) -> None:
    mine = repository / "packages" / "sdf" / "src" / "tensorphys_sdf" / "__init__.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("__all__ = ['Grid']\n")
    new_package.create("sdf", "Signed distance fields.", fill=True, root=repository)
    assert mine.read_text() == "__all__ = ['Grid']\n"
    assert (repository / "packages" / "sdf" / "pyproject.toml").exists()


def test_siblings_of_siblings_come_along_lowest_first(scene_and_contact: pathlib.Path) -> None:
    new_package.create("engine", "Steps.", siblings=["contact"], root=scene_and_contact)
    assert [p.folder for p in workspace.with_siblings("engine", scene_and_contact)] == [
        "scene",
        "contact",
        "engine",
    ]


def test_new_package_builds_installs_and_passes_its_own_tests(scene_and_contact: pathlib.Path) -> None:
    pytest.importorskip("hatchling")
    pytest.importorskip("build")
    packages = scene_and_contact / "packages"
    wheels = scene_and_contact / "wheels"
    for folder in ("scene", "contact"):
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels)]
        subprocess.run([*command, str(packages / folder)], check=True, capture_output=True)
    site = scene_and_contact / "site"
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    assert (site / "tensorphys_contact" / "py.typed").exists()
    assert list(site.glob("tensorphys_contact-0.1.0.dist-info/licenses/LICENSE"))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(packages / "contact" / "tests")],
        cwd=scene_and_contact,
        env={"PYTHONPATH": str(site), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 passed" in run.stdout
