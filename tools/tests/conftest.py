import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOOLS))

import new_package  # noqa: E402


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> pathlib.Path:
    """An empty repository with this one's root configuration, without packages."""
    shutil.copy(TOOLS.parent / "LICENSE", tmp_path)
    text = (TOOLS.parent / "pyproject.toml").read_text(encoding="utf-8")
    head, _, rest = text.partition("[tool.uv.sources]\n")
    (tmp_path / "pyproject.toml").write_text(
        head + "[tool.uv.sources]\n" + rest[rest.index("\n\n") + 1 :], encoding="utf-8"
    )
    (tmp_path / "packages").mkdir()
    return tmp_path


@pytest.fixture
def scene_and_contact(repository: pathlib.Path) -> pathlib.Path:
    """A repository with two packages, the second of which needs the first."""
    new_package.create("scene", "Facts.", needs=["numpy>=1.26"], root=repository)
    new_package.create("contact", "Contacts.", needs=["warp-lang>=1.19"], siblings=["scene"], root=repository)
    return repository


@pytest.fixture
def write(repository: pathlib.Path) -> Callable[[str, str], pathlib.Path]:
    """Write a file of the repository."""

    def write_file(name: str, text: str) -> pathlib.Path:
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def git(repository: pathlib.Path) -> Callable[..., None]:
    """Run git in the repository, with an author of its own."""

    def run_git(*arguments: str) -> None:
        identity = [
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.org",
            "-c",
            "init.defaultBranch=main",
        ]
        subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, capture_output=True)

    return run_git
