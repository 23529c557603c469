"""The command line: ``tensorphys simulate STAGE``, ``tensorphys inspect STAGE``."""

from tensorphys.cli.entry import main

__all__ = ["main"]
