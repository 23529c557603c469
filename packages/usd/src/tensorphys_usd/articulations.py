"""Articulation trees: which bodies are links, in which order, of which root.

The trees are built from the joints. A root schema claims the whole connected component of bodies that it marks; a
second root in the same component is reported and claims nothing, so that no body is in two articulations. The root
link is, in this order: the body tied to the world; the body that carries the schema; the body that OpenUSD's parser
chooses (the centre of the graph). Links follow breadth-first, siblings in the order in which their joints stand on
the stage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf

from tensorphys_scene import JointType
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.joints import StageJoints, is_joint
from tensorphys_usd.stage import Reading

_TREE_TYPES = (JointType.FIXED, JointType.REVOLUTE, JointType.PRISMATIC, JointType.SPHERICAL, JointType.D6)
_WORLD = -1
# Default of the vendor schema [m²/s²].
_SLEEP_THRESHOLD = 5e-5


@dataclass
class Link:
    """A link: body row, parent's position in the tree, joints to the parent, direction of the first of them."""

    body: int
    parent: int
    joints: list[int]
    flipped: bool


@dataclass
class Tree:
    """One articulation.

    Attributes:
        path: Prim that carries the root schema.
        links: Links, parents first.
        fixed_base: Whether the root link is tied to the world.
        settings: Columns of the articulation table.
    """

    path: Sdf.Path
    links: list[Link] = field(default_factory=list)
    fixed_base: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


class _Graph:
    """Bodies and the joints between them that may be part of a tree."""

    def __init__(self, bodies: StageBodies, joints: StageJoints) -> None:
        self.edges: dict[int, list[tuple[int, int]]] = {}  # body -> (joint, other body)
        self._component: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        types = joints.columns["type"]
        for joint in range(joints.count):
            usable = joints.columns["enabled"][joint] and not joints.columns["excluded"][joint]
            if not usable or JointType(types[joint]) not in _TREE_TYPES:
                continue
            ends = [joints.body0[joint], joints.body1[joint]]
            for body, other in (ends, ends[::-1]):
                if body != _WORLD:
                    self.edges.setdefault(body, []).append((joint, other))
        for body in range(len(bodies.paths)):
            if bodies.enabled[body] and body not in self._component:
                self._flood(body)

    def _flood(self, start: int) -> None:
        self._component[start] = start
        members = [start]
        for body in members:
            for _, other in self.edges.get(body, []):
                if other != _WORLD and other not in self._component:
                    self._component[other] = start
                    members.append(other)
        self._members[start] = sorted(members)

    def component(self, body: int) -> int | None:
        """Name of the component of a body: its first body."""
        return self._component.get(body)

    def members(self, component: int) -> list[int]:
        """Bodies of a component, in stage order."""
        return self._members[component]

    def world_joints(self, body: int) -> list[int]:
        """Joints from a body to the world."""
        return [joint for joint, other in self.edges.get(body, []) if other == _WORLD]


class StageArticulations:
    """All articulations of a stage.

    Attributes:
        trees: Articulations, in stage order of their roots.
    """

    def __init__(
        self,
        reading: Reading,
        descriptors: Descriptors,
        bodies: StageBodies,
        joints: StageJoints,
        *,
        free_base: Callable[[Collection[str]], bool],
        fix_base: Callable[[Collection[str]], bool],
    ) -> None:
        self.trees: list[Tree] = []
        self._reading = reading
        self._bodies = bodies
        self._joints = joints
        self._graph = _Graph(bodies, joints)
        self._free_base = free_base
        self._fix_base = fix_base
        claimed: dict[int, Sdf.Path] = {}
        adds_mobility = False
        for path, descriptor in descriptors.articulations:
            attributes = reading.attributes(path)
            attributes.use("physics:filteredPairs")
            mobility = attributes.flag("newton:jointsAddMobility", False)
            adds_mobility |= mobility
            if not attributes.flag("physxArticulation:articulationEnabled", True):
                reading.report.add(path, "articulation is disabled: its joints act between free bodies")
                continue
            for component, root in self._marked(path, descriptor):
                if component in claimed:
                    reading.report.correct(
                        path,
                        f"its bodies are joined to those of the articulation {claimed[component]} and are links of that one",
                    )
                    continue
                claimed[component] = path
                self._build(path, root, mobility)
        if adds_mobility:
            self._unmarked(claimed)
        self.trees.sort(key=lambda tree: reading.order.get(tree.path, 0))

    def _marked(self, path: Sdf.Path, descriptor: Any) -> list[tuple[int, int]]:
        """Components that a root schema marks, each with its root body."""
        row = self._bodies.row
        prim = self._reading.prim(path)
        if path in row:
            preferred = [row[path]]
        elif is_joint(prim):
            index = self._joints.row.get(path)
            ends = () if index is None else (self._joints.body0[index], self._joints.body1[index])
            preferred = [body for body in ends if body >= 0]
        else:
            preferred = self._bodies.below(path)
        components: dict[int, list[int]] = {}
        for body in preferred:
            component = self._graph.component(body)
            if component is not None:
                components.setdefault(component, []).append(body)
        if not components:
            self._reading.report.add(path, "articulation root without a rigid body: ignored")
        chosen = {row[p] for p in descriptor.rootPrims if p in row}
        result = []
        for component, marked in components.items():
            members = self._graph.members(component)
            tied = [body for body in members if self._graph.world_joints(body)]
            kinematic = [body for body in members if self._bodies.kinematic[body]]
            if path in row and not tied:
                root = row[path]
            elif tied:
                root = next((body for body in tied if body in marked), tied[0])
            elif kinematic:
                root = kinematic[0]
            else:
                root = next((body for body in members if body in chosen), marked[0])
            if len(members) == 1 and not is_joint(prim) and path not in row and not tied:
                # A lone body below a root schema that marks a whole tree is a free rigid body.
                if len(components) > 1:
                    continue
            result.append((component, root))
        return result

    def _unmarked(self, claimed: dict[int, Sdf.Path]) -> None:
        """Bodies outside of all roots on a stage that says that joints add mobility.

        MuJoCo models hold bodies with several joints to the world beside the robot; between free bodies these joints
        would cancel each other.
        """
        done = set(claimed)
        for body, path in enumerate(self._bodies.paths):
            component = self._graph.component(body)
            if component is None or component in done:
                continue
            done.add(component)
            members = self._graph.members(component)
            ends = [(member, other) for member in members for _, other in self._graph.edges.get(member, [])]
            if len(ends) == len(set(ends)):
                continue
            tied = [member for member in members if self._graph.world_joints(member)]
            root = tied[0] if tied else body
            self._reading.report.correct(
                self._bodies.paths[root],
                "several joints that add mobility outside of an articulation: made one of its own",
            )
            self._build(self._bodies.paths[root] if tied else path, root, True)

    def _build(self, path: Sdf.Path, root: int, mobility: bool) -> None:
        tree = Tree(path, settings=self._settings(path))
        names = {str(path), str(self._bodies.paths[root])}
        world = self._graph.world_joints(root)
        kinematic = self._bodies.kinematic[root]
        free, fix = self._free_base(names), self._fix_base(names)
        if free and fix:
            raise StageError(f"{path}: both free_base and fix_base name this articulation")
        if kinematic:
            self._bodies.kinematic[root] = False
            self._reading.report.correct(
                self._bodies.paths[root], "kinematic root link: its base is fixed to the world"
            )
        elif fix:
            self._reading.report.correct(path, "base fixed to the world by fix_base")
        if free or fix or kinematic:
            for joint in world:
                self._joints.disable(joint)
                self._reading.report.correct(
                    self._joints.paths[joint],
                    "joint to the world switched off: the base is set by other means",
                )
            world = []
        used = self._grouped(world, mobility)
        tree.fixed_base = bool(used) or fix or (kinematic and not free)
        first = used[:1]
        tree.links.append(Link(root, -1, used, bool(first) and self._joints.body0[first[0]] == root))
        if len(used) == 1 and JointType(self._joints.columns["type"][used[0]]) is JointType.FIXED:
            self._fit_base(used[0])
        self._grow(tree, mobility, set(world))
        self.trees.append(tree)

    def _fit_base(self, joint: int) -> None:
        rotation, offset = self._joints.relative(joint)
        angle = max(abs(rotation[0, 1]), abs(rotation[0, 2]), abs(rotation[1, 2]))
        length = 1e-5 / self._reading.meters_per_unit
        if abs(offset).max() > length or angle > 1e-5 or rotation.trace() < 0.0:
            self._reading.report.correct(
                self._joints.paths[joint],
                f"the joint to the world does not meet its body (offset {[round(float(x), 6) for x in offset]}): "
                "the base keeps the pose of its prim",
            )
        self._joints.fit_world_frame(joint)

    def _grouped(self, joints: list[int], mobility: bool) -> list[int]:
        """Joints between one pair of bodies that are part of the tree; the others act as constraints."""
        used = joints if mobility else joints[:1]
        for joint in joints[len(used) :]:
            self._exclude(joint, "a second joint between the same two bodies")
        return used

    def _exclude(self, joint: int, why: str) -> None:
        self._joints.columns["excluded"][joint] = True
        self._reading.report.correct(
            self._joints.paths[joint], f"{why}: it acts as a constraint outside of the tree"
        )

    def _grow(self, tree: Tree, mobility: bool, seen: set[int]) -> None:
        position = {tree.links[0].body: 0}
        queue = deque([0])
        while queue:
            parent = queue.popleft()
            body = tree.links[parent].body
            children: dict[int, list[int]] = {}
            for joint, other in sorted(self._graph.edges.get(body, [])):
                if joint in seen or not self._joints.columns["enabled"][joint]:
                    continue
                seen.add(joint)
                if other == _WORLD:
                    self._exclude(joint, "a further joint of the articulation to the world")
                elif other in position:
                    self._exclude(joint, "a joint that closes a loop")
                else:
                    children.setdefault(other, []).append(joint)
            for child, joints in children.items():
                used = self._grouped(joints, mobility)
                position[child] = len(tree.links)
                queue.append(len(tree.links))
                if self._bodies.kinematic[child]:
                    self._bodies.kinematic[child] = False
                    self._reading.report.add(
                        self._bodies.paths[child],
                        "physics:kinematicEnabled on a link that is not the root: ignored",
                    )
                flipped = self._joints.body0[used[0]] == child
                tree.links.append(Link(child, parent, used, flipped))

    def _settings(self, path: Sdf.Path) -> dict[str, Any]:
        attributes = self._reading.attributes(path)
        threshold = 0.0
        if attributes.applied("PhysxArticulationAPI"):
            threshold = _SLEEP_THRESHOLD / self._reading.meters_per_unit**2
        self_collision = attributes.flag("newton:selfCollisionEnabled", True)
        return {
            "self_collisions": attributes.flag("physxArticulation:enabledSelfCollisions", self_collision),
            "position_iterations": attributes.integer("physxArticulation:solverPositionIterationCount", -1),
            "velocity_iterations": attributes.integer("physxArticulation:solverVelocityIterationCount", -1),
            "sleep_threshold": attributes.number("physxArticulation:sleepThreshold", threshold),
            "stabilization_threshold": attributes.number("physxArticulation:stabilizationThreshold", 0.0),
        }
