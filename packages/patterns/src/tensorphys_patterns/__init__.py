"""The prim-path pattern language of the tensor API, over any tree of names."""

from .errors import NoMatchError, PairingError, PathPatternError, PatternError
from .matching import Match, Matches, explain_no_match, match, match_all, resolve
from .pairing import FilterPairing, pair_filter_lists, pair_filters, pair_patterns
from .pattern import Pattern, Segment, compile_pattern
from .tree import FindableTree, NameTree, PathTree

__all__ = [
    "FilterPairing",
    "FindableTree",
    "Match",
    "Matches",
    "NameTree",
    "NoMatchError",
    "PairingError",
    "PathPatternError",
    "PathTree",
    "Pattern",
    "PatternError",
    "Segment",
    "compile_pattern",
    "explain_no_match",
    "match",
    "match_all",
    "pair_filter_lists",
    "pair_filters",
    "pair_patterns",
    "resolve",
]
