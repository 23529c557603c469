"""What of a scene is left out, corrected or refused, by prim."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine.errors import UnsupportedError, UnsupportedWarning
from tensorphys_scene import Scene, SoftKind, Template

_LOGGER = logging.getLogger(__name__)
# So many prims a warning names; the findings hold all.
_SHOWN = 3


class Findings:
    """Collects findings; warns once for each subject, with a few prims named.

    Args:
        raise_unsupported: Whether :meth:`refuse` raises; otherwise it is a finding.
    """

    def __init__(self, *, raise_unsupported: bool) -> None:
        self._raise = raise_unsupported
        self._entries: dict[tuple[str, str], None] = {}
        self._warned: dict[str, list[str]] = {}

    @property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """Prim path and text of each finding, without repetitions, in the order of their discovery."""
        return tuple(self._entries)

    def note(self, path: str, text: str) -> None:
        """Add a finding without a warning."""
        self._entries[(path or "/", text)] = None

    def omit(self, subject: str, path: str, text: str) -> None:
        """Add a finding about something left out or replaced; its subject is warned about by :meth:`warn`."""
        self.note(path, text)
        self._warned.setdefault(subject, []).append(path or "/")

    def refuse(self, subject: str, path: str, text: str) -> None:
        """Raise for something that is not supported, or add a finding where that is asked for.

        Raises:
            UnsupportedError: Unless unsupported things are to be left out.
        """
        if self._raise:
            raise UnsupportedError(f"{path or '/'}: {text}; ignore_unsupported=True leaves it out")
        self.omit(subject, path, text)

    def warn(self, stacklevel: int) -> None:
        """Warn about each subject once and log every finding.

        Args:
            stacklevel: As for :func:`warnings.warn`, counted from the caller.
        """
        for path, text in self._entries:
            _LOGGER.info("%s: %s", path, text)
        for subject, paths in self._warned.items():
            distinct = list(dict.fromkeys(paths))
            names = ", ".join(distinct[:_SHOWN]) + (", …" if len(distinct) > _SHOWN else "")
            text = f"{subject}: {len(distinct)} ({names})"
            _LOGGER.warning("%s", text)
            warnings.warn(text, UnsupportedWarning, stacklevel=stacklevel + 1)


def _nonzero(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.asarray(values != 0, dtype=bool)


def _any(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.ones(values.shape, dtype=bool)


def _finite(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return np.isfinite(values)


def _false(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    return ~values.astype(bool)


_UNBROKEN = (
    "joints of articulation trees do not break: reduced coordinates have no row that could give way; "
    "author physics:excludeFromArticulation to have it outside of the tree, where it breaks"
)
_NO_FRICTION = "friction of joints outside of articulation trees is not simulated"

# Columns of a scene that this version does not simulate: table, column, which values count, what is said.
_UNUSED: tuple[tuple[str, str, Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]], str], ...] = (
    ("bodies", "cfm_scale", _finite, "the scale of constraint force mixing is not applied"),
    ("bodies", "contact_slop_coefficient", _nonzero, "the slop of contacts is not applied"),
    ("bodies", "solve_contact", _false, "contacts cannot be reported without acting; they act"),
    ("face_materials", "material", _any, "materials of faces are not used; the shape has one"),
    ("materials", "rolling_friction", _nonzero, "rolling friction is not simulated"),
    ("joints", "break_force", _finite, _UNBROKEN),
    ("joints", "break_torque", _finite, _UNBROKEN),
    ("joints", "min_distance", _finite, "a joint of an articulation tree has no bounds of distance"),
    ("joints", "max_distance", _finite, "a joint of an articulation tree has no bounds of distance"),
    ("joints", "friction_coefficient", _nonzero, _NO_FRICTION),
    ("axes", "static_friction", _nonzero, _NO_FRICTION),
    ("axes", "dynamic_friction", _nonzero, _NO_FRICTION),
    ("axes", "viscous_friction", _nonzero, _NO_FRICTION),
    ("axes", "limit_stiffness", _nonzero, "limits of articulation trees are hard"),
    ("axes", "limit_restitution", _nonzero, "limits do not bounce"),
    *(
        (table, column, _nonzero, f"the {name} of tendons is not simulated")
        for table in ("fixed_tendons", "spatial_tendons")
        for column, name in (("friction", "friction"), ("armature", "armature"))
    ),
    (
        "axes",
        "has_envelope",
        _nonzero,
        "the drive of a joint outside of articulation trees has no performance envelope",
    ),
    (
        "axes",
        "effort_limit",
        _finite,
        "the effort limit is not applied to actuation forces (tensorphys_scene.limit_efforts applies it)",
    ),
)

# Settings of a scene that this version does not use: name, value that needs no word, what is said.
_UNUSED_SETTINGS: tuple[tuple[str, object, str], ...] = (
    ("solver", "TGS", "one solver is used, whatever the scene names"),
    ("stabilization", False, "stabilization of large stacks is not applied"),
    ("quasistatic", False, "quasi-static motion is not simulated"),
    ("update", "Synchronous", "the caller steps the simulation"),
    ("max_bias_coefficient", float("inf"), "the bound of positional bias is not applied"),
    ("friction_offset_threshold", float("-inf"), "the distance at which friction begins is not applied"),
    ("friction_correlation_distance", float("-inf"), "friction anchors are not merged by distance"),
    ("min_position_iterations", 1, "bounds of solver counts are not applied"),
    ("max_position_iterations", 255, "bounds of solver counts are not applied"),
    ("min_velocity_iterations", 0, "bounds of solver counts are not applied"),
    ("max_velocity_iterations", 255, "bounds of solver counts are not applied"),
)


# Of these columns the simulation uses what joints outside of articulation trees have.
_IN_TREES = frozenset(
    (
        *(("joints", name) for name in ("break_force", "break_torque", "min_distance", "max_distance")),
        ("axes", "limit_stiffness"),
    )
)
# Of these, what joints of articulation trees have.
_OUTSIDE_TREES = frozenset(
    (
        ("joints", "friction_coefficient"),
        *(("axes", f"{name}_friction") for name in ("static", "dynamic", "viscous")),
        ("axes", "has_envelope"),
    )
)


def note_unused_columns(
    scene: Scene, findings: Findings, tree_joints: Sequence[npt.NDArray[np.bool_]]
) -> None:
    """Add a finding for each authored value that the simulation does not use.

    A template is reported under the path of its first environment.

    Args:
        scene: The scene.
        findings: Takes the findings.
        tree_joints: For each template, whether each joint is one of an articulation tree.
    """
    for name, silent, text in _UNUSED_SETTINGS:
        if getattr(scene.settings, name) != silent:
            findings.note(scene.settings.path, text)
    environment_template = scene.environments.template
    for index, template in enumerate(scene.templates):
        users = np.flatnonzero(environment_template == index)
        if users.size:
            prefix = scene.environments.path[int(users[0])]
            _note_template(template, prefix, findings, tree_joints[index])
            _omit_soft(template, prefix, findings)
    _note_template(scene.shared, "", findings, np.zeros(0, bool))


def _omit_soft(template: Template, prefix: str, findings: Findings) -> None:
    """Curves and filters of deformables are not simulated."""
    simulated: tuple[SoftKind, ...] = (
        SoftKind.MATERIAL,
        SoftKind.PARTICLE_MATERIAL,
        SoftKind.PARTICLE_SYSTEM,
    )
    simulated += (SoftKind.PARTICLE_SET, SoftKind.PARTICLE_CLOTH, SoftKind.ATTACHMENT)
    simulated += (SoftKind.VOLUME_BODY, SoftKind.SURFACE_BODY, SoftKind.GEOMETRY)
    for path, kind in zip(template.soft_prims.path, template.soft_prims.kind.tolist(), strict=True):
        if kind not in simulated:
            text = f"{SoftKind(kind).name.lower()} of deformables is not simulated; left out"
            findings.omit("deformables, left out", prefix + path, text)


def _note_template(
    template: Template, prefix: str, findings: Findings, in_tree: npt.NDArray[np.bool_]
) -> None:
    for table_name, column, counts, text in _UNUSED:
        table = getattr(template, table_name)
        counted = counts(getattr(table, column))
        unused = counted.any(axis=tuple(range(1, counted.ndim)))
        if (table_name, column) in _IN_TREES:
            unused &= in_tree if table_name == "joints" else in_tree[table.joint]
        if (table_name, column) in _OUTSIDE_TREES:
            unused &= ~(in_tree if table_name == "joints" else in_tree[table.joint])
        for row in np.flatnonzero(unused):
            findings.note(prefix + table.path[row], text)
