"""The layers as an import-linter contract, for the packages that exist."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import workspace
from checks import Finding


def configuration(root: pathlib.Path) -> str:
    """Text of an import-linter configuration from ``[tool.tensorphys.layers]``.

    Packages of one layer are independent of each other (``|``); packages that do not exist are left out.
    """
    packages = workspace.packages(root)
    order = workspace.layers(root)
    by_layer: dict[int, list[str]] = {}
    for folder, package in packages.items():
        by_layer.setdefault(order[folder], []).append(package.module)
    layers = "\n".join("    " + " | ".join(by_layer[layer]) for layer in sorted(by_layer, reverse=True))
    modules = "\n".join(f"    {package.module}" for package in packages.values())
    return (
        f"[importlinter]\nroot_packages =\n{modules}\n\n"
        f"[importlinter:contract:layers]\nname = Layers of docs/architecture.md\ntype = layers\nlayers =\n{layers}\n"
    )


def check(root: pathlib.Path) -> Iterator[Finding]:
    """Run import-linter over the sources; nothing needs to be installed but import-linter."""
    paths = [str(package.path / "src") for package in workspace.packages(root).values()]
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "importlinter.ini"
        config.write_text(configuration(root), encoding="utf-8")
        run = subprocess.run(
            [
                sys.executable,
                "-c",
                "from importlinter.cli import lint_imports_command as c; c()",
                "--no-cache",
                "--config",
                str(config),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )
    if run.returncode:
        detail = (run.stdout + run.stderr).strip()
        yield Finding(root / "pyproject.toml", 1, "layers", f"import-linter:\n{detail}")
