"""The tree of an articulation and the tables that the kernels walk."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics.errors import TopologyError

IntArray = npt.NDArray[np.int32]
# Longer chains have mass matrices whose factors lose their digits in float32.
LONG_CHAIN = 32


def _none() -> IntArray:
    return np.zeros(0, np.int32)


@dataclass(frozen=True)
class ArticulationType:
    """Topology that equal articulations share.

    A generalized velocity is ``[root linear at COM (3), root angular (3), degrees of freedom]`` for a floating
    base and the degrees of freedom alone for a fixed one. Velocity index i has a *chain*: the velocity indices
    from the root to i that move the link of i, i last. Row i of the mass matrix is zero outside of its chain,
    and stays so in the factorisation M = Lᵀ D L [Featherstone 2008, §6.5].

    Attributes:
        fixed_base: Whether the root link is tied to the world.
        parent: Parent link of each link, −1 for link 0, shape [link_count].
        dof_link: Link moved by each degree of freedom, non-decreasing, shape [dof_count].
        dof_rotational: Whether the degree of freedom is a rotation, shape [dof_count].
        balls: First degree of freedom of each ball joint, ascending, shape [ball_count]. It and the next two are
            rotations of one link that act at once: positions are the components of a rotation vector, velocities
            those of an angular velocity. Other rotations of a link act one after the other.

    Raises:
        TopologyError: If a link stands before its parent, a degree of freedom moves no link, or a ball joint is not
            of three rotations of one link.
    """

    fixed_base: bool
    parent: IntArray
    dof_link: IntArray
    dof_rotational: npt.NDArray[np.bool_]
    balls: IntArray = field(default_factory=_none)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parent", np.array(self.parent, np.int32))
        object.__setattr__(self, "dof_link", np.array(self.dof_link, np.int32))
        object.__setattr__(self, "dof_rotational", np.array(self.dof_rotational, bool))
        object.__setattr__(self, "balls", np.array(self.balls, np.int32).ravel())
        links = len(self.parent)
        if links == 0 or self.parent[0] != -1:
            raise TopologyError("link 0 of an articulation must be its root, with parent −1")
        for link in range(1, links):
            if not 0 <= self.parent[link] < link:
                raise TopologyError(f"parent of link {link} is {self.parent[link]}, expected 0 to {link - 1}")
        if self.dof_link.size and (self.dof_link.min() < 1 or self.dof_link.max() >= links):
            raise TopologyError(
                f"degrees of freedom move links 1 to {links - 1}, given {self.dof_link.tolist()}"
            )
        if (np.diff(self.dof_link) < 0).any():
            raise TopologyError("degrees of freedom must stand in the order of their links")
        if self.dof_rotational.shape != self.dof_link.shape:
            raise TopologyError("dof_rotational and dof_link must have one length")
        self._check_balls()

    def _check_balls(self) -> None:
        if (np.diff(self.balls) < 3).any():
            raise TopologyError(
                f"ball joints must ascend and have three degrees of freedom each, given {self.balls.tolist()}"
            )
        for first in self.balls:
            own = slice(int(first), int(first) + 3)
            fits = 0 <= first <= self.dof_count - 3 and len(set(self.dof_link[own].tolist())) == 1
            if not fits or not self.dof_rotational[own].all():
                raise TopologyError(
                    f"a ball joint has three rotations of one link, its first degree of freedom is {first}"
                )

    @property
    def link_count(self) -> int:
        """Number of links."""
        return len(self.parent)

    @property
    def dof_count(self) -> int:
        """Number of degrees of freedom of the joints."""
        return len(self.dof_link)

    @property
    def ball_count(self) -> int:
        """Number of ball joints."""
        return len(self.balls)

    @cached_property
    def ball_rows(self) -> IntArray:
        """Lengths of the three rows of limits of each ball joint, on the chain of its last velocity, together."""
        return np.array([3 * len(self.chains[self.root_count + f + 2]) for f in self.balls], np.int32)

    @property
    def root_count(self) -> int:
        """Number of root velocities: 0 for a fixed base, else 6."""
        return 0 if self.fixed_base else 6

    @property
    def velocity_count(self) -> int:
        """Number of generalized velocities."""
        return self.root_count + self.dof_count

    @cached_property
    def chains(self) -> tuple[tuple[int, ...], ...]:
        """Chain of each velocity index, root first."""
        return self._walk[0]

    @cached_property
    def link_chain(self) -> tuple[int, ...]:
        """Last velocity index that moves each link, −1 where none does."""
        return self._walk[1]

    @cached_property
    def _walk(self) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        chains: list[tuple[int, ...]] = [tuple(range(i + 1)) for i in range(self.root_count)]
        last = [-1] * self.link_count
        last[0] = self.root_count - 1
        dofs_of_link: list[list[int]] = [[] for _ in range(self.link_count)]
        for dof, link in enumerate(self.dof_link):
            dofs_of_link[int(link)].append(dof)
        for link in range(1, self.link_count):
            last[link] = last[int(self.parent[link])]
            for dof in dofs_of_link[link]:
                index = self.root_count + dof
                base = chains[last[link]] if last[link] >= 0 else ()
                if index != len(chains):
                    raise TopologyError("degrees of freedom must stand in the order of their links")
                chains.append((*base, index))
                last[link] = index
        return tuple(chains), tuple(last)

    @cached_property
    def row_start(self) -> IntArray:
        """First entry of each row of the sparse mass matrix, one more at the end."""
        return np.concatenate(([0], np.cumsum([len(c) for c in self.chains]))).astype(np.int32)

    @property
    def entry_count(self) -> int:
        """Number of stored entries of the mass matrix."""
        return int(self.row_start[-1])

    @property
    def max_chain(self) -> int:
        """Length of the longest chain."""
        return max((len(c) for c in self.chains), default=0)

    @property
    def is_long(self) -> bool:
        """Whether a chain is so long that factors are made of articulated inertias, not of the mass matrix."""
        return self.max_chain > LONG_CHAIN

    @cached_property
    def dof_start(self) -> IntArray:
        """First degree of freedom of each link, one more at the end."""
        counts = np.bincount(self.dof_link, minlength=self.link_count)
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
