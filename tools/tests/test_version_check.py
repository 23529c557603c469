import pathlib
from collections.abc import Callable

import pytest

import workspace
from checks import versions

Write = Callable[[str, str], pathlib.Path]
Git = Callable[..., None]

INIT = "packages/scene/src/tensorphys_scene/__init__.py"
PROTOCOLS = "packages/scene/src/tensorphys_scene/protocols.py"
PROTOCOL = '''"""Protocols."""

from typing import Protocol


class Contacts(Protocol):
    """What is read of contacts."""

    count: int
    """How many."""
'''


@pytest.fixture
def released(scene_and_contact: pathlib.Path, write: Write, git: Git) -> pathlib.Path:
    """A repository in which scene 0.1.0 is released with one name and one protocol."""
    write(INIT, '__all__ = ["Body"]\n')
    write(PROTOCOLS, PROTOCOL)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "start")
    git("tag", "tensorphys-scene-v0.1.0")
    return scene_and_contact


def set_version(root: pathlib.Path, version: str) -> None:
    project = root / "packages" / "scene" / "pyproject.toml"
    project.write_text(project.read_text().replace('version = "0.1.0"', f'version = "{version}"'))


def rules(root: pathlib.Path) -> list[str]:
    return [finding.rule for finding in versions.check(root)]


def test_no_change_passes(released: pathlib.Path) -> None:
    assert rules(released) == []


def test_without_tags_anything_passes(scene_and_contact: pathlib.Path, write: Write, git: Git) -> None:
    git("init", "-q")
    write(PROTOCOLS, PROTOCOL)
    assert rules(scene_and_contact) == []


@pytest.mark.parametrize(
    ("init", "protocol", "version", "fires"),
    [
        # a name that went
        ('__all__ = ["Shape"]\n', PROTOCOL, "0.1.0", True),
        ('__all__ = ["Shape"]\n', PROTOCOL, "0.1.1", True),
        ('__all__ = ["Shape"]\n', PROTOCOL, "0.2.0", False),
        ('__all__ = ["Shape"]\n', PROTOCOL, "1.0.0", False),
        # a name that came
        ('__all__ = ["Body", "Shape"]\n', PROTOCOL, "0.1.0", True),
        ('__all__ = ["Body", "Shape"]\n', PROTOCOL, "0.1.1", False),
        # a protocol that changed, and one of which only the words did
        ('__all__ = ["Body"]\n', PROTOCOL.replace("count: int", "count: float"), "0.1.1", True),
        ('__all__ = ["Body"]\n', PROTOCOL.replace("count: int", "count: float"), "0.2.0", False),
        ('__all__ = ["Body"]\n', PROTOCOL.replace("How many.", "The number."), "0.1.0", False),
    ],
)
def test_change_needs_the_right_version(
    released: pathlib.Path, write: Write, init: str, protocol: str, version: str, fires: bool
) -> None:
    write(INIT, init)
    write(PROTOCOLS, protocol)
    set_version(released, version)
    assert rules(released) == (["version"] if fires else [])


def test_protocols_that_went_are_a_change(released: pathlib.Path) -> None:
    (released / PROTOCOLS).unlink()
    assert rules(released) == ["version"]


def test_public_names_must_be_literal(scene_and_contact: pathlib.Path, write: Write) -> None:
    write(INIT, "__all__ = sorted(globals())\n")
    assert rules(scene_and_contact) == ["public-names"]


def test_last_tag_is_the_highest_version_not_the_last_word(released: pathlib.Path, git: Git) -> None:
    for version in ("0.10.0", "0.9.0", "0.2.0"):
        git("tag", f"tensorphys-scene-v{version}")
    git("tag", "tensorphys-scene-vnext")
    assert list(versions.tags(released, "scene")) == [(0, 1, 0), (0, 2, 0), (0, 9, 0), (0, 10, 0)]


def test_oldest_sibling_is_the_first_release_in_the_declared_range(released: pathlib.Path, git: Git) -> None:
    contact = workspace.packages(released)["contact"]
    assert versions.oldest_siblings(released, contact) == {"scene": "tensorphys-scene-v0.1.0"}
    git("tag", "tensorphys-scene-v0.0.9")
    git("tag", "tensorphys-scene-v0.1.4")
    assert versions.oldest_siblings(released, contact) == {"scene": "tensorphys-scene-v0.1.0"}
    git("tag", "-d", "tensorphys-scene-v0.1.0")
    assert versions.oldest_siblings(released, contact) == {"scene": "tensorphys-scene-v0.1.4"}


def test_export_gives_the_folder_as_it_was(
    released: pathlib.Path, write: Write, tmp_path: pathlib.Path
) -> None:
    write(INIT, "__all__ = []\n")
    folder = versions.export_tag(released, "tensorphys-scene-v0.1.0", "scene", tmp_path / "old")
    assert (folder / "src" / "tensorphys_scene" / "__init__.py").read_text() == '__all__ = ["Body"]\n'
    assert (folder / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("version", "declared", "inside"),
    [
        ((0, 1, 0), ">=0.1,<0.2", True),
        ((0, 2, 0), ">=0.1,<0.2", False),
        ((0, 0, 9), ">=0.1,<0.2", False),
        ((1, 9, 3), ">=1.4, <2", True),
    ],
)
def test_ranges(version: versions.Version, declared: str, inside: bool) -> None:
    assert versions.in_range(version, declared) is inside


def test_other_forms_of_ranges_are_refused() -> None:
    with pytest.raises(workspace.WorkspaceError, match="expected the form"):
        versions.in_range((0, 1, 0), "~=0.1")
