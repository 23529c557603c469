"""What the flat numbers of a simulation stand for, on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from tensorphys.metatype import ArticulationMetatype, metatype_of

if TYPE_CHECKING:
    from tensorphys_engine import ArticulationInfo, ArticulationLabels, Simulation

__all__ = ["FLOAT_MAX", "Catalog", "spread"]

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
FLOAT_MAX = float(np.finfo(np.float32).max)
"""What stands for a bound that does not exist, in the model and in the arrays of views."""


def spread(first: npt.NDArray[Any], count: npt.NDArray[Any]) -> IntArray:
    """Numbers ``first, first + 1, ...`` of each row, -1 beyond its count.

    Args:
        first, count: First number and how many, shape [rows].

    Returns:
        Numbers, shape [rows, largest count].
    """
    step = np.arange(int(count.max(initial=0)), dtype=np.int64)
    return np.where(step < count[:, None], first[:, None] + step, -1).astype(np.int32)


def _members(owner: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Items by owner, and where those of each owner start and how many they are."""
    order = np.argsort(owner, kind="stable").astype(np.int32)
    number = np.bincount(owner, minlength=count).astype(np.int32)
    return order, (np.cumsum(number) - number).astype(np.int32), number


class Catalog:
    """Flat numbering of articulations, links and degrees of freedom, with names and paths.

    Args:
        simulation: The simulation; it is read once, when it was just built.

    Attributes:
        articulation_environment: Environment of each articulation; free bodies count as articulations.
        link_start, dof_start, velocity_start: First link, degree of freedom and generalized velocity of each
            articulation.
        link_count, dof_count: Their numbers.
        floating: Whether the root of each articulation moves freely.
        link_articulation: Articulation of each link.
        dof_limited: Whether each degree of freedom was built with a limit.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.directory = simulation.directory
        self.scene = simulation.scene
        model = simulation.model
        self.articulation_environment: IntArray = np.array(model.articulation_environment.numpy())

        def spans(starts: IntArray) -> tuple[IntArray, IntArray]:
            return starts[:-1].copy(), np.diff(starts)

        self.link_start, self.link_count = spans(model.articulation_link_start.numpy())
        self.dof_start, self.dof_count = spans(model.articulation_dof_start.numpy())
        self.velocity_start, velocity_count = spans(model.articulation_velocity_start.numpy())
        self.floating: npt.NDArray[np.bool_] = velocity_count > self.dof_count
        self.link_articulation: IntArray = np.array(model.link_articulation.numpy())
        limits = np.stack([getattr(model, name).numpy() for name in ("dof_lower", "dof_upper")], axis=-1)
        self.dof_limited: npt.NDArray[np.bool_] = (np.abs(limits) < FLOAT_MAX).any(axis=-1)
        joints, count = simulation.joints, len(self.link_start)
        self._tendons = {
            "fixed": _members(joints.fixed_tendon_articulation, count),
            "spatial": _members(joints.spatial_tendon_articulation, count),
        }
        self._metatypes: dict[int, tuple[ArticulationLabels, ArticulationMetatype]] = {}

    def holds_any(self, paths: Sequence[str]) -> bool:
        """Whether a body, collider or joint of the simulation stands at one of some paths or, but for joints, below."""
        from tensorphys_engine import PathError

        tree, here, below = self.directory, set(paths), tuple(f"{path}/" for path in paths)
        if any(path in here or path.startswith(below) for path in (*tree.link_paths, *tree.shape_paths)):
            return True
        for path in paths:
            try:
                if tree.lookup(path).joint is not None:
                    return True
            except PathError:
                continue
        return False

    def shapes(self, first_link: IntArray, link_count: IntArray) -> IntArray:
        """Simulated shapes of runs of links, by link, then in the order of the scene.

        Args:
            first_link, link_count: First link of each run and number of its links, shape [runs].

        Returns:
            Flat shapes, -1 where a run has fewer than the one that has most, shape [runs, most].
        """
        start = self.directory.link_shape_start
        first, end = start[first_link], start[first_link + link_count]
        slots = spread(first, end - first)
        if slots.size == 0:
            return slots
        return np.where(slots >= 0, np.append(self.directory.link_shape, -1)[slots], -1).astype(np.int32)

    def tendons(self, kind: Literal["fixed", "spatial"], articulations: IntArray) -> IntArray:
        """Flat tendons of articulations, -1 where one has fewer than the one that has most, shape [rows, most]."""
        order, start, count = self._tendons[kind]
        places = spread(start[articulations], count[articulations])
        return np.where(places >= 0, np.append(order, -1)[places], -1).astype(np.int32)

    def principal_rotation(self) -> FloatArray:
        """Principal axes of the inertia of each link as authored, quaternion xyzw, shape [links, 4]."""
        numbering = self.directory.numbering
        parts = []
        for template, plan in enumerate(numbering.plans):
            values = numbering.columns(template, "bodies.principal_rotation")[:, plan.link_body]
            # A base that the engine added has no body.
            parts.append(np.where(plan.link_body[:, None] >= 0, values, (0.0, 0.0, 0.0, 1.0)))
        return numbering.links.fill(parts, np.float64, (4,))

    def joint_frames(self) -> tuple[FloatArray, IntArray, FloatArray]:
        """Frame at body 1 of the joint between each link and its parent.

        Returns:
            Pose of the frame in body 1, shape [links, 7]; link that is body 1, -1 for the environment, shape [links];
            1 where body 1 is the child, -1 where it is the parent, 0 for roots, shape [links].
        """
        numbering = self.directory.numbering
        frames, bodies, signs = [], [], []
        for template, plan in enumerate(numbering.plans):
            child = np.flatnonzero(plan.link_joint >= 0)
            authored = numbering.columns(template, "joints.frame1")[:, plan.link_joint[child]]
            frame = np.zeros((len(authored), len(plan.link_joint), 7))
            frame[..., 6] = 1.0
            frame[:, child] = authored
            frame[..., 3:] /= np.linalg.norm(frame[..., 3:], axis=-1, keepdims=True)
            # A base that the engine added has no body: its joint stands in the environment.
            parent = np.where(plan.link_body[plan.link_parent] >= 0, plan.link_parent, -1)
            body = np.where(plan.link_flipped, parent, np.arange(len(parent)))
            sign = np.zeros(len(parent))
            sign[child] = np.where(plan.link_flipped[child], -1.0, 1.0)
            frames.append(frame)
            bodies.append(numbering.links_of(template, body))
            signs.append(sign[None])
        links = numbering.links
        return (
            links.fill(frames, np.float64, (7,)),
            links.fill(bodies, np.int32),
            links.fill(signs, np.float64),
        )

    def child_frames(self) -> tuple[FloatArray, IntArray]:
        """Frame on each link of the joint to its parent.

        Returns:
            Pose in link axes, shape [links, 7], no offset for roots; 1 where a parent carries the link, 0 for roots, [links].
        """
        numbering = self.directory.numbering
        frames, carried = [], []
        for template, plan in enumerate(numbering.plans):
            child = np.flatnonzero(plan.link_joint >= 0)
            joints = plan.link_joint[child]
            sides = [numbering.columns(template, f"joints.frame{side}")[:, joints] for side in (0, 1)]
            frame = np.zeros((len(sides[0]), len(plan.link_joint), 7))
            frame[..., 6] = 1.0
            frame[:, child] = np.where(plan.link_flipped[child][None, :, None], *sides)
            frame[..., 3:] /= np.linalg.norm(frame[..., 3:], axis=-1, keepdims=True)
            frames.append(frame)
            carried.append((plan.link_joint >= 0).astype(np.int32)[None])
        links = numbering.links
        return links.fill(frames, np.float64, (7,)), links.fill(carried, np.int32)

    def metatype(self, articulation: int) -> ArticulationMetatype:
        """Metatype of an authored articulation; equal ones of one template are one object."""
        labels = self.info(articulation).labels
        if id(labels) not in self._metatypes:
            # The labels are kept, so that their identity stays theirs.
            self._metatypes[id(labels)] = (labels, metatype_of(labels))
        return self._metatypes[id(labels)][1]

    def info(self, articulation: int) -> ArticulationInfo:
        """Names and paths of an authored articulation."""
        info = self._simulation.articulation_info(articulation)
        if info is None:
            raise LookupError(f"articulation {articulation} is a free body")
        return info

    def kinds(self, articulations: IntArray) -> tuple[IntArray, IntArray]:
        """Which articulations are copies of one another.

        Args:
            articulations: Authored articulations, shape [count].

        Returns:
            The first of each kind, in the order of first mention, and the kind of each articulation.
        """
        environment = self.articulation_environment[articulations]
        local = articulations - self.directory.numbering.articulations.start[environment]
        template = self.scene.environments.template[environment].astype(np.int64)
        key = template * (int(local.max(initial=0)) + 1) + local
        _, first, kind = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        return articulations[first[order]], place[kind.reshape(-1)]

    def prefixes(self, articulations: IntArray) -> list[str]:
        """Root path of the environment of each articulation."""
        paths = self.scene.environments.path
        return [paths[environment] for environment in self.articulation_environment[articulations].tolist()]

    def paths(self, articulations: IntArray) -> list[str]:
        """Path of the prim with the root schema of each authored articulation."""
        first, kind = self.kinds(articulations)
        relative = [self.info(int(a)).labels.path for a in first]
        pairs = zip(self.prefixes(articulations), kind.tolist(), strict=True)
        return [(prefix + relative[k]) or "/" for prefix, k in pairs]
