"""``python -m tensorphys`` is the command ``tensorphys``."""

from tensorphys.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
