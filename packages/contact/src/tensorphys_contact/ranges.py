"""Contacts of some of the environments, so that several threads share the work of a step."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import warp as wp

from ._layout import spare_places
from .contacts import Contacts
from .model import Model
from .pipeline import bound_rows, collide_environments, collide_family, is_simple
from .shapes import SIMPLE_FAMILIES, PairFamily

# Runs of rows of one range: the shapes of its environments, and those that it has of shared shapes.
_MOST_RUNS = 8


@dataclasses.dataclass(frozen=True)
class EnvironmentRange:
    """What :func:`collide_range` launches for some environments that follow one another.

    Attributes:
        first, end: First environment, and the one behind the last.
        rows: First and end of each run of rows of ``local_pose``.
        families: Pairs of each kernel.
        spare: As in the model, of these environments.
    """

    first: int
    end: int
    rows: tuple[tuple[int, int], ...]
    families: dict[PairFamily, wp.array]
    spare: tuple[int, int]


def split_environments(model: Model, bounds: list[int]) -> list[EnvironmentRange] | None:
    """Ranges between environments.

    Args:
        model: Shapes and pairs.
        bounds: First environment of each range, and the number of environments at the end.

    Returns:
        The ranges, or None where environments cannot be told apart: pairs are searched in one large world, compaction is
        parallel inside of environments, there are samples, or rows are mixed.
    """
    if model.search is not None or model.chunk_pair is not None or PairFamily.SAMPLED in model.family_pairs:
        return None
    row_environment, pair_environment = model.row_environment.numpy(), model.pair_environment.numpy()
    layout = (model.pair_start.numpy(), model.slot_start.numpy(), model.pair_family.numpy())
    result = []
    for first, end in itertools.pairwise(bounds):
        held = np.flatnonzero((row_environment >= first) & (row_environment < end))
        runs = np.split(held, np.flatnonzero(np.diff(held) > 1) + 1) if held.size else []
        if len(runs) > _MOST_RUNS:
            return None
        families = {}
        for family, members in model.family_pairs.items():
            pairs = members.numpy()
            inside = (pair_environment[pairs] >= first) & (pair_environment[pairs] < end)
            if inside.any():
                families[family] = wp.array(pairs[inside], dtype=wp.int32, device=model.device)
        result.append(
            EnvironmentRange(
                first,
                end,
                tuple((int(run[0]), int(run[-1]) + 1) for run in runs),
                families,
                spare_places(*layout, first, end) if model.device.is_cpu else (-1, -1),
            )
        )
    return result


def collide_range(
    model: Model,
    environments: EnvironmentRange,
    body_pose: wp.array[wp.transform],
    contacts: Contacts,
    *,
    margin: wp.array[wp.float32] | None = None,
    motion: tuple[wp.array[wp.spatial_vector], wp.array[wp.float32]] | None = None,
) -> None:
    """Find the contacts of some environments: to the bit those that :func:`collide` finds there.

    Ranges that do not overlap may be launched from different threads at once.

    Args:
        model: Shapes and pairs.
        environments: One of :func:`split_environments`.
        body_pose: As for :func:`collide`, of all environments.
        contacts: Those of these environments are overwritten.
        margin, motion: As for :func:`collide`, of all environments.
    """
    extra = model.no_margin if margin is None else margin
    for first, end in () if is_simple(model) else environments.rows:
        bound_rows(model, contacts.manifolds, extra, body_pose, first, end)
    for family, members in environments.families.items():
        if family not in SIMPLE_FAMILIES:
            collide_family(model, contacts.manifolds, family, members, extra, body_pose, motion)
    collide_environments(
        model, contacts, environments.first, environments.end, extra, body_pose, environments.spare
    )
