"""Loops of run-time length stay loops in the source for a group of lanes."""

from __future__ import annotations

import re

_LOOP = re.compile(r"(UNROLL4?\s+)?\b(?:for|while) \(")

DEFINITIONS = r"""
#if defined(__CUDA_ARCH__)
#define ROLLED _Pragma("unroll 1")
#else
#define ROLLED
#endif
"""


def rolled(text: str) -> str:
    """The source with ROLLED before each loop that does not ask for UNROLL or UNROLL4.

    The compiler repeats the body of a loop of unknown length four times otherwise. The code then outgrows what a
    multiprocessor keeps of it: 331 kB against 178 kB for an ant, whose step takes a third more time.
    """
    return _LOOP.sub(lambda found: found[0] if found[1] else "ROLLED " + found[0], text)
