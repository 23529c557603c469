"""Errors of the contacts of convex pairs, in every regime, against float64 enclosures and coal.

    python bench/accuracy.py --count 100
    python bench/accuracy.py --count 24 --surfaces

Prints a table: worst error of the depth / of the normal of each pair type, in what is allowed: 1e-4
of the smaller shape's size and four float32 spacings of the larger one's, for the angle over the
smaller size. In brackets the pairs whose direction is not unique, of which the depth alone counts.
With ``--surfaces`` convex shapes against triangle meshes and height fields.
Needs the extra ``peers``.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from tensorphys_contact.shapes import CONVEX_SHAPES, MESH_SHAPES
from tensorphys_contact.testing.mesh_scenes import MESH_REGIMES, mesh_errors, random_mesh_pairs
from tensorphys_contact.testing.pair_scenes import REGIMES, pair_errors, random_pairs


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--device", default="cpu")
    options.add_argument("--regimes", nargs="*", default=list(REGIMES))
    options.add_argument("--surfaces", action="store_true")
    options.add_argument("--with", dest="kind", default="", help="only rows with this shape")
    chosen = options.parse_args()
    if chosen.surfaces:
        print_surfaces(chosen.count, chosen.seed, chosen.device, chosen.kind)
        return
    print("| pair | " + " | ".join(chosen.regimes) + " |")
    print("|---" * (1 + len(chosen.regimes)) + "|")
    for kinds in itertools.combinations_with_replacement(CONVEX_SHAPES, 2):
        if chosen.kind and chosen.kind.upper() not in [kind.name for kind in kinds]:
            continue
        cells = []
        for regime in chosen.regimes:
            found = pair_errors(random_pairs(kinds, regime, chosen.count, chosen.seed), chosen.device)
            cell = f"{found.depth:.2f} / {found.normal:.2f}"
            cell += f" [{found.shared}]" if found.shared else ""
            cells.append(cell + (f", {found.missed} missed" if found.missed else ""))
        names = " – ".join(k.name.lower().replace("convex_", "") for k in kinds)
        print(f"| {names} | " + " | ".join(cells) + " |", flush=True)


def print_surfaces(count: int, seed: int, device: str, only: str = "") -> None:
    """Print the table of convex shapes against surfaces."""
    print("| pair | " + " | ".join(MESH_REGIMES) + " |")
    print("|---" * (1 + len(MESH_REGIMES)) + "|")
    for surface, kind in itertools.product(MESH_SHAPES, CONVEX_SHAPES):
        if only and only.upper() not in (surface.name, kind.name):
            continue
        cells = []
        for regime in MESH_REGIMES:
            found, deeper = mesh_errors(random_mesh_pairs(kind, surface, regime, count, seed), device)
            cell = f"{found.depth:.2f} / {found.normal:.2f}"
            cell += f" [{found.shared}]" if found.shared else ""
            out = int((np.abs(deeper) > 1.0).sum())
            cell += f", {out} out" if out else ""
            cells.append(cell + (f", {found.missed} missed" if found.missed else ""))
        names = " – ".join(k.name.lower().replace("convex_", "").replace("_", " ") for k in (kind, surface))
        print(f"| {names} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
