"""What a scene holds, as text."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tensorphys.cli.stage_data import Data

_WRAP: dict[str, Any] = {"width": 110, "break_long_words": False, "break_on_hyphens": False}
_PATH = re.compile(r"(?<![^\s(])/\S*[^\s:,;.)]")


# Kinds that have a plural: links and the types of shapes.
_COUNTED = (
    *("link", "plane", "sphere", "capsule", "box", "convex hull", "cylinder", "cone", "ellipsoid"),
    *("triangle mesh", "height field"),
)


class Shortener:
    """Shows a prim path by as many of its last names as tell it from all others.

    Args:
        paths: All paths that are shown, or that could be taken for one of them.
        full: Whether to show whole paths.
    """

    def __init__(self, paths: Iterable[str], *, full: bool) -> None:
        self._full = full
        self._users: Counter[str] = Counter()
        for path in set(paths):
            self._users.update(self._endings(path))

    @staticmethod
    def _endings(path: str) -> list[str]:
        names = path.strip("/").split("/")
        return ["/".join(names[k:]) for k in range(len(names) - 1, 0, -1)]

    def __call__(self, path: str) -> str:
        """The path, or ``…/`` and its last names."""
        if not self._full:
            for ending in self._endings(path):
                if self._users[ending] <= 1 and len(ending) + 2 < len(path):
                    return f"…/{ending}"
        return path or "/"


def scene_lines(data: Data, name: str, *, details: bool) -> list[str]:
    """Lines about a scene.

    Args:
        data: Result of :func:`tensorphys.cli.stage_data.scene_data`.
        name: Name of the stage.
        details: Whether shapes are listed one by one, and paths are shown whole.
    """
    short = Shortener(_paths(data), full=details)
    settings = data["settings"]
    gravity = ", ".join(f"{value + 0.0:g}" for value in settings["gravity"])
    lines = [
        name,
        f"  scene      {settings['scene'] or 'none'}, gravity ({gravity}), {settings['up_axis']} up, "
        f"{settings['steps_per_second']:g} steps/s",
    ]
    if settings["meters_per_unit"] != 1.0 or settings["kilograms_per_unit"] != 1.0:
        lines.append(
            f"  units      lengths of {settings['meters_per_unit']:g} m, "
            f"masses of {settings['kilograms_per_unit']:g} kg"
        )
    count = len(data["environments"])
    if count > 1:
        lines.append(f"  environments  {count}, of {len(data['templates'])} different kinds")
    for index, template in enumerate(data["templates"]):
        if len(data["templates"]) > 1:
            user = next(e["path"] for e in data["environments"] if e["template"] == index)
            lines.append(f"like {user}:")
        lines += _template_lines(template, details, short, settings["kilograms_per_unit"])
    if data["shared_shapes"]:
        lines.append(f"  shared by all environments: {_count_text(data['shared_shapes'], 'type')}")
        lines += [f"    {shape['path']}" for shape in data["shared_shapes"]] if details else []
    if details:
        lines += _read_lines([(row["path"], row["properties"]) for row in data["read"]], short)
    for kind, title in (("corrected", "corrected"), ("ignored", "ignored or not supported")):
        found = [(f["path"], f["text"]) for f in data["findings"] if f["kind"] == kind]
        lines += finding_lines(title, found, short) if found else []
    return lines if data["findings"] else [*lines, "everything on the stage is supported"]


def _paths(data: Data) -> Iterator[str]:
    """All paths that a report shows."""
    for template in data["templates"]:
        for table in ("bodies", "articulations", "loose_joints", "shapes", "materials"):
            yield from (row["path"] for row in template[table])
        for articulation in template["articulations"]:
            yield from (joint["path"] for joint in articulation["joints"])
    yield from (shape["path"] for shape in data["shared_shapes"])
    for row in (*data["findings"], *data["read"]):
        yield row["path"]


def _template_lines(template: Data, details: bool, short: Shortener, kilogram: float) -> list[str]:
    bodies, shapes, materials = template["bodies"], template["shapes"], template["materials"]
    unit = " kg" if kilogram == 1.0 else ""
    mass = sum(body["mass"] or 0.0 for body in bodies if body["role"] in ("link", "free"))
    lines = [
        f"  bodies     {len(bodies)}: {_count_text(bodies, 'role')}; mass {mass:.6g}{unit}",
        f"  shapes     {len(shapes)}: {_count_text(shapes, 'type')}",
        f"  materials  {len(materials)}",
    ]
    for articulation in template["articulations"]:
        lines += _articulation_lines(articulation, short)
    if template["loose_joints"]:
        lines.append("joints outside of articulations")
        lines += _table(("type", "joint"), [(j["type"], short(j["path"])) for j in template["loose_joints"]])
    lines += _body_lines(bodies, short)
    if details:
        lines += _shape_lines(shapes, short)
    if materials:
        lines += _material_lines(materials, shapes, short)
    return lines


def _count_text(rows: Sequence[Data], key: str) -> str:
    """How many rows of each kind there are."""
    counts = Counter(row[key] for row in rows)
    return ", ".join(f"{count} {_plural(kind, count)}" for kind, count in counts.items()) or "none"


def _plural(kind: str, count: int) -> str:
    if count == 1 or kind not in _COUNTED:
        return kind
    return kind + ("es" if kind.endswith(("x", "sh")) else "s")


def _articulation_lines(articulation: Data, short: Shortener) -> list[str]:
    base = "fixed base" if articulation["fixed_base"] else "floating base"
    dofs = articulation["dofs"]
    joints = _count_text(articulation["joints"], "type")
    lines = [
        f"articulation {articulation['path'] or '/'}",
        f"  {base}, {len(articulation['links'])} links, {len(dofs)} degrees of freedom, joints: {joints}",
    ]
    rows = [
        (
            str(index),
            dof["name"],
            dof["motion"],
            _range(dof),
            _drive(dof),
            short(dof["joint"]),
        )
        for index, dof in enumerate(dofs)
    ]
    if rows:
        lines += _table(("#", "dof", "motion", "range", "drive", "joint"), rows)
    return lines


def _range(dof: Data) -> str:
    unit = "rad" if dof["motion"] == "rotation" else ""
    if dof["lower"] is None and dof["upper"] is None:
        return "free"
    low, high = ("∞" if end is None else f"{end:.4g}" for end in (dof["lower"], dof["upper"]))
    return f"{'-' if low == '∞' else ''}{low} to {high} {unit}".rstrip()


def _drive(dof: Data) -> str:
    if dof["drive"] == "none":
        return "-"
    return f"{dof['drive']}, stiffness {dof['stiffness']:.4g}, damping {dof['damping']:.4g}"


def _body_lines(bodies: Sequence[Data], short: Shortener) -> list[str]:
    rows = [(b["role"], "-" if b["mass"] is None else f"{b['mass']:.4g}", short(b["path"])) for b in bodies]
    return ["bodies", *_table(("role", "mass", "prim"), rows)] if rows else []


def _shape_lines(shapes: Sequence[Data], short: Shortener) -> list[str]:
    rows = []
    for shape in shapes:
        size = " ".join(f"{value:.4g}" for value in shape["size"] if value)
        kind = shape["type"] if shape["collides"] else f"{shape['type']} (off)"
        rows.append((kind, size or "-", short(shape["path"])))
    return ["shapes", *_table(("type", "size", "prim"), rows)] if rows else []


def _material_lines(materials: Sequence[Data], shapes: Sequence[Data], short: Shortener) -> list[str]:
    users = Counter(shape["material"] for shape in shapes)
    rows = [
        (
            f"{m['static_friction']:g} / {m['dynamic_friction']:g}",
            f"{m['restitution']:g}",
            str(users[m["path"]]),
            short(m["path"]),
        )
        for m in materials
    ]
    return ["materials", *_table(("friction", "restitution", "shapes", "prim"), rows)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned to the left, the last one as long as it is."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head) - 1)]
    return [
        "  " + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in [head, *rows]
    ]


def _read_lines(read: Sequence[tuple[str, list[str]]], short: Shortener) -> list[str]:
    """Every physics property that was read; prims with the same ones stand together."""
    if not read:
        return []
    groups: dict[str, list[str]] = {}
    for path, names in read:
        groups.setdefault(", ".join(names), []).append(short(path))
    lines = [f"read: {sum(len(names) for _, names in read)} properties of {len(read)} prims"]
    for text, paths in groups.items():
        lines += _remark(text, paths)
    return lines


def _remark(text: str, paths: Sequence[str]) -> list[str]:
    indent = " " * 6
    return [
        *textwrap.wrap(f"  - {text}", subsequent_indent="    ", **_WRAP),
        *textwrap.wrap(", ".join(paths), initial_indent=indent, subsequent_indent=indent, **_WRAP),
    ]


def finding_lines(title: str, findings: Sequence[tuple[str, str]], short: Shortener) -> list[str]:
    """Every finding with every prim; those that say the same stand together."""
    groups: dict[str, list[str]] = {}
    for path, text in findings:
        shown = _PATH.sub(lambda found: short(found.group()), text)
        groups.setdefault(shown, []).append(short(path))
    lines = [f"{title}: {len(findings)} remarks"]
    for text, paths in groups.items():
        lines += _remark(text, paths)
    return lines
