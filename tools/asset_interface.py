"""Write docs/assets_interface.md from the interface table of tensorphys-assets.

python tools/asset_interface.py           write it
python tools/asset_interface.py --check   exit code 1 where it is another
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import workspace

TABLE = workspace.ROOT / "packages" / "assets" / "src" / "tensorphys_assets" / "interface.json"
PAGE = workspace.ROOT / "docs" / "assets_interface.md"

_HEAD = """# The interface of assets

All {count} public members of the asset classes and their data classes, made from the table that the conformance tests of
`tensorphys-assets` use (`tools/asset_interface.py`). N instances, B bodies, J joints, Tf and Ts fixed and spatial tendons, V nodes; E and K
chosen instances and items. Structured elements are the last axis of tensors: `transformf` is position and quaternion xyzw,
`spatial_vectorf` linear and angular, `vec13f` pose and velocity.
"""


def _signature(name: str, parameters: list[dict[str, Any]]) -> str:
    parts: list[str] = []
    for parameter in parameters:
        if parameter.get("keyword_only") and "*" not in parts:
            parts.append("*")
        default = f"={parameter['default']}" if "default" in parameter else ""
        parts.append(f"{parameter['name']}{default}")
    return f"{name}({', '.join(parts)})"


def _row(name: str, fields: dict[str, Any]) -> str:
    title = _signature(name, fields["parameters"]) if fields["kind"] == "method" else name
    notes = []
    if "alias" in fields:
        notes.append(f"as `{fields['alias']}`")
    if "clone" in fields:
        notes.append(f"first value of `{fields['clone']}`")
    if fields.get("deprecated"):
        notes.append("deprecated")
    shape = f"[{fields['shape']}] {fields.get('dtype', '')}" if "shape" in fields else ""
    return (
        f"| `{title}` | {shape} | {fields.get('frame', '')} | {fields.get('unit', '')} | {', '.join(notes)} |"
    )


def page() -> str:
    """Text of the page."""
    classes = json.loads(TABLE.read_text(encoding="utf-8"))["classes"]
    parts = [_HEAD.format(count=sum(map(len, classes.values())))]
    for owner, members in classes.items():
        parts.append(f"\n## {owner}\n\n| member | shape | frame | unit | |\n|---|---|---|---|---|\n")
        parts += [f"{_row(name, fields)}\n" for name, fields in members.items()]
    return "".join(parts)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Write docs/assets_interface.md.")
    parser.add_argument("--check", action="store_true", help="only look whether it is up to date")
    options = parser.parse_args()
    text = page()
    if options.check:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            print(f"{PAGE.name} is not what the table says: run tools/asset_interface.py", file=sys.stderr)
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
