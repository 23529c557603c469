"""From the arguments to an exit code."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from tensorphys.cli.arguments import Arguments, parse_arguments

BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: Words after ``tensorphys``; default those of the process.

    Returns:
        Exit code: 0 on success, 1 if the simulation left finite numbers, 2 for arguments or a stage that cannot be
        used, 128 plus the signal's number after an interrupt.
    """
    try:
        chosen = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as end:  # argparse ends so after --help, --version and a wrong argument
        return end.code if isinstance(end.code, int) else BAD_INPUT
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            return _run(chosen)
    except KeyboardInterrupt:
        print("tensorphys: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone, as `head` does; what it read is complete.
        sys.stdout = None
        return 0


def _run(chosen: Arguments) -> int:
    try:
        from tensorphys.cli.errors import known_errors, one_line
    except ModuleNotFoundError as error:
        print(f"tensorphys: error: the package {error.name} is not installed", file=sys.stderr)
        return BAD_INPUT
    expected = known_errors()
    # What the engine logs it also says in findings and warnings, which are printed.
    logging.getLogger("tensorphys_engine").addHandler(logging.NullHandler())
    try:
        if chosen.command == "inspect":
            from tensorphys.cli.inspect_stage import inspect_stage

            return inspect_stage(chosen)
        from tensorphys.cli.simulate import simulate

        return simulate(chosen)
    except BrokenPipeError:
        raise
    except expected as error:
        print(f"tensorphys: error: {one_line(error)}", file=sys.stderr)
        return BAD_INPUT


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"tensorphys: warning: {' '.join(str(message).split())}", file=sys.stderr)
