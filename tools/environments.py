"""Make virtual environments on a fresh machine: Python >= 3.10, pip and a registry are enough.

uv is fetched with pip and does the rest, as it installs in seconds what takes pip a minute. Where uv cannot
be had, `venv` and pip do the same work. Standard library only.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

_WINDOWS = os.name == "nt"
_SCRIPTS = "Scripts" if _WINDOWS else "bin"
_SUFFIX = ".exe" if _WINDOWS else ""


class CommandError(RuntimeError):
    """A command that was needed failed; the text says which."""


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run a command with its output shown.

    Raises:
        CommandError: The command ends with another exit code than 0.
    """
    result = subprocess.run(command, env=dict(environment) if environment is not None else None, check=False)
    if result.returncode:
        raise CommandError(f"exit code {result.returncode} from: {' '.join(command)}")


def uv_environment(pip_settings: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """Environment in which uv looks where pip looks: index, local wheels and certificates.

    Args:
        pip_settings: What ``pip config list`` says, by name (``global.index-url``, ``:env:.find-links``).
        base: Environment to start from; what it says of uv wins.
    """
    environment = dict(base)
    names = {"index-url": "UV_DEFAULT_INDEX", "find-links": "UV_FIND_LINKS", "cert": "SSL_CERT_FILE"}
    for origin in ("global", "install", ":env:"):
        for option, variable in names.items():
            value = pip_settings.get(f"{origin}.{option}")
            if value and variable not in base:
                environment[variable] = value
    return environment


def pip_settings() -> dict[str, str]:
    """What ``pip config list`` says, by name."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    settings = {}
    for line in listed.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            settings[name.strip()] = value.strip().strip("'\"")
    return settings


class Installer:
    """Makes environments and installs into them, through uv when it can be had.

    Args:
        folder: Where uv itself goes; reused by the next call.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        # On machines where everything runs as root, as in containers, pip's advice on that is noise.
        base = {"PIP_ROOT_USER_ACTION": "ignore", **os.environ}
        self.environment = uv_environment(pip_settings(), base)
        self.uv = shutil.which("uv") or self._fetch_uv(folder)

    def _fetch_uv(self, folder: pathlib.Path) -> str | None:
        program = folder / "bin" / f"uv{_SUFFIX}"
        if not program.exists():
            # --target also serves systems whose Python has no ensurepip or is managed by the distribution.
            command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), "uv"]
            if subprocess.run(command, env=self.environment, check=False).returncode:
                return None
        return str(program) if program.exists() else None

    def make(self, folder: pathlib.Path, base: str = sys.executable) -> pathlib.Path:
        """Make an environment of an interpreter, unless the folder is there; returns its Python."""
        python = folder / _SCRIPTS / f"python{_SUFFIX}"
        if python.exists():
            return python
        if self.uv:
            run([self.uv, "venv", "-q", "--python", base, str(folder)], self.environment)
        else:
            run([base, "-m", "venv", str(folder)])
        return python

    def install(self, python: pathlib.Path, *arguments: str) -> None:
        """Install requirements or paths in one call."""
        if self.uv:
            run([self.uv, "pip", "install", "-q", "--python", str(python), *arguments], self.environment)
        else:
            run([str(python), "-m", "pip", "install", "-q", *arguments], self.environment)


def offers_wheel(find_links: str, requirement: str) -> bool:
    """Whether a local folder of wheels has ``name==version`` for the running interpreter.

    Args:
        find_links: Folders, separated by white space, as in ``PIP_FIND_LINKS``.
        requirement: Exact requirement; a local version (``2.13.0+cpu``) counts as well.
    """
    name, _, version = requirement.partition("==")
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    pattern = f"{name.replace('-', '_')}-{version}*-{tag}-*.whl"
    return any(True for folder in find_links.split() for _ in pathlib.Path(folder).glob(pattern))
