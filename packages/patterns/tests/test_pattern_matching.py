"""Patterns against trees: the published cases, order, duplicates, explanations, properties."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_patterns import (
    Match,
    NoMatchError,
    PathPatternError,
    PathTree,
    PatternError,
    compile_pattern,
    explain_no_match,
    match,
    match_all,
    resolve,
)

ENVIRONMENTS = [f"/World/envs/env_{i}" for i in range(12)]
BODIES = ["Object_A", "Object_B", "Object_AB", "Robot/base", "Robot/base/foot"]


class WalkOnlyTree:
    """Nested tuples, no `find`: what a caller with an own tree may bring."""

    def __init__(self, tree: PathTree) -> None:
        self._tree = tree
        self.root = ("", self._entries("/"))

    def _entries(self, path: str) -> tuple:
        return tuple((name, (name, self._entries(child))) for name, child in self._tree.children(path))

    def children(self, node: tuple) -> Sequence[tuple[str, tuple]]:
        return node[1]


def environments_tree() -> PathTree:
    return PathTree(f"{e}/{name}" for e in ENVIRONMENTS for name in BODIES)


@pytest.fixture(params=["find", "walk"])
def tree(request):
    paths = environments_tree()
    return paths if request.param == "find" else WalkOnlyTree(paths)


def paths_of(pattern, tree) -> list[str]:
    return match(pattern, tree).paths


# Case 020. The robot scope and other non-bodies are matched here and dropped by the views.
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/World/envs/*/Object_A", [f"{e}/Object_A" for e in ENVIRONMENTS]),
        (
            "/World/envs/env_*/Object_*",
            [f"{e}/{n}" for e in ENVIRONMENTS for n in ("Object_A", "Object_B", "Object_AB")],
        ),
        ("/World/envs/env_[0-9]/Object_A", [f"{e}/Object_A" for e in ENVIRONMENTS[:10]]),
        ("/World/envs/env_1[0-1]/Object_B", [f"{e}/Object_B" for e in ENVIRONMENTS[10:]]),
        ("/World/envs/env_0/Object_(A|B)", ["/World/envs/env_0/Object_A", "/World/envs/env_0/Object_B"]),
        ("/World/envs/*/Robot/*", [f"{e}/Robot/base" for e in ENVIRONMENTS]),
        ("/World/envs/*/Robot/base/foot", [f"{e}/Robot/base/foot" for e in ENVIRONMENTS]),
        ("/World/*/Object_A", []),
        ("/World/envs/env_?/Object_A", [f"{e}/Object_A" for e in ENVIRONMENTS[:10]]),
        ("/World/envs/env_[0-9]+/Object_A", [f"{e}/Object_A" for e in ENVIRONMENTS]),
        ("/World/envs/env_[0-9]{2}/Object_A", [f"{e}/Object_A" for e in ENVIRONMENTS[10:]]),
        ("/World/envs/env_[[:digit:]]/Object_A", [f"{e}/Object_A" for e in ENVIRONMENTS[:10]]),
        ("/World/envs/env_[^1-9]*/Object_A", ["/World/envs/env_0/Object_A"]),
        ("/World/envs/env_3/Object_A", ["/World/envs/env_3/Object_A"]),
        ("/World/envs/env_3/Object_A/", ["/World/envs/env_3/Object_A"]),
        (
            "/World/envs/env_3/*/",
            ["/World/envs/env_3/" + n for n in ("Object_A", "Object_B", "Object_AB", "Robot")],
        ),
        ("/World/envs/env_3/Object_C", []),
        ("/", ["/"]),
    ],
)
def test_case_020_globs(tree, pattern, expected):
    assert paths_of(pattern, tree) == expected


def test_alternation_without_parentheses_is_prefix_middle_suffix(tree):
    # `^Object_A|_|base$`: a prefix, anything with an underscore, a suffix.
    tree = PathTree(["/e/Object_AB", "/e/left_ball", "/e/database", "/e/xObject_", "/e/torso"])
    assert paths_of("/e/Object_A|base", tree) == ["/e/Object_AB", "/e/database"]
    assert paths_of("/e/Object_A|t_b|torso", tree) == ["/e/Object_AB", "/e/left_ball", "/e/torso"]


# Case 022.
def test_case_022_regular_expression_is_explained(tree):
    pattern = "/World/envs/env_.*/Object_A"
    assert match(pattern, tree) == []
    with pytest.raises(NoMatchError, match=r"'\.\*' is not a glob.*'/World/envs/env_\*/Object_A'") as caught:
        resolve(pattern, tree)
    assert caught.value.pattern == pattern
    assert caught.value.nearest_parent == "/World/envs"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("World/envs/env_0/Object_A", "relative"),
        ("/World//envs", "empty segment"),
        ("/World/env_[0-9", r"env_\[0-9"),
        ("/World/(a", "expression"),
        ("/World/a{2}{3}{4}(", "expression"),
    ],
)
def test_case_022_not_a_pattern(text, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        compile_pattern(text)
    assert isinstance(caught.value, PatternError)
    assert isinstance(caught.value, PathPatternError)
    assert caught.value.pattern == text


def test_not_a_text():
    with pytest.raises(PatternError, match="expected a str, given int"):
        compile_pattern(7)


# Case 024.
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("/World/arm_1", ["/World/arm_1"]),
        ("/World/arm_*", ["/World/arm_1", "/World/arm_10"]),
        ("/World/arm*", ["/World/arm", "/World/arm_1", "/World/arm_10"]),
        ("/World/W*", ["/World/Würfel"]),
        ("/World/W?rfel", ["/World/Würfel"]),
        ("/World/机器人", ["/World/机器人"]),
        ("/World/机?人", ["/World/机器人"]),
        ("/World/_*", ["/World/_1"]),
        (
            "/World/*",
            ["/World/_1", "/World/Würfel", "/World/机器人", "/World/arm", "/World/arm_1", "/World/arm_10"],
        ),
    ],
)
def test_case_024_unicode_names(pattern, expected):
    names = ["_1", "Würfel", "机器人", "arm", "arm_1", "arm_10"]
    paths = PathTree(f"/World/{name}" for name in names)
    for tree in (paths, WalkOnlyTree(paths)):
        assert paths_of(pattern, tree) == expected


def test_order_is_authored_and_grouped_by_parent():
    tree = PathTree(["/W/e10/b", "/W/e2/z", "/W/e2/a", "/W/e10/a", "/W/e1/a"])
    assert paths_of("/W/e*/*", tree) == ["/W/e10/b", "/W/e10/a", "/W/e2/z", "/W/e2/a", "/W/e1/a"]


def test_lists_are_concatenated_and_keep_duplicates(tree):
    patterns = ["/World/envs/env_1/Object_?", "/World/envs/env_0/*", "/World/envs/env_1/Object_B"]
    expected = [path for pattern in patterns for path in paths_of(pattern, tree)]
    assert [hit.path for hit in resolve(patterns, tree)] == expected
    assert expected.count("/World/envs/env_1/Object_B") == 2
    assert [[hit.path for hit in hits] for hits in match_all(patterns, tree)] == [
        paths_of(pattern, tree) for pattern in patterns
    ]


def test_hits_are_a_sequence_of_path_and_node():
    tree = PathTree(["/a/b", "/a/c"])
    hits = match("/a/*", tree)
    assert hits == [("/a/b", "/a/b"), ("/a/c", "/a/c")] == list(hits)
    assert hits[-1] == Match("/a/c", "/a/c")
    assert hits[:1] == match("/a/b", tree)
    assert hits != match("/a", tree)
    assert (len(hits), bool(match("/b*", tree))) == (2, False)
    assert "Match(path='/a/b', node='/a/b')" in repr(hits)


def test_no_match_names_parent_and_near_names(tree):
    error = explain_no_match("/World/envs/env_3/Objekt_A", tree)
    assert error.nearest_parent == "/World/envs/env_3"
    assert error.near_names[0] == "Object_A"
    assert "'/World/envs/env_3/Objekt_A'" in str(error)
    assert isinstance(error, LookupError)
    assert explain_no_match("/Welt/envs", tree).nearest_parent == "/"
    assert explain_no_match("/Welt/envs", tree).near_names == ("World",)
    leaf = explain_no_match("/World/envs/env_3/Object_A/x", tree)
    assert "it has no children" in str(leaf)


def test_explanation_of_a_pattern_that_matches_unusable_nodes(tree):
    # A view calls this when the hits exist and none is a body.
    error = explain_no_match("/World/envs/env_3/Robot", tree)
    assert error.nearest_parent == "/World/envs/env_3/Robot"
    assert explain_no_match("/", tree).pattern == "/"


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("/World/**/Object_A", "one level"),
        ("/World/envs/env_0/Object_{A,B}", r"\(a\|b\)"),
        ("/World/envs/env_.+/Object_A", "not a glob"),
    ],
)
def test_other_dialects_are_recognised(tree, pattern, hint):
    with pytest.raises(NoMatchError, match=hint):
        resolve(pattern, tree)


def test_no_hint_for_a_repetition_count():
    assert compile_pattern("/World/env_[0-9]{1,2}").hint == ""


def test_skip_logs_and_goes_on(tree, caplog):
    with caplog.at_level(logging.ERROR, logger="tensorphys_patterns"):
        hits = resolve(["/World/nothing", "/World/envs/env_2"], tree, on_no_match="skip")
    assert [hit.path for hit in hits] == ["/World/envs/env_2"]
    assert "/World/nothing" in caplog.text


def test_compilation_is_cached():
    assert compile_pattern("/World/env_*") is compile_pattern("/World/env_*")


def test_path_tree_refuses_bad_paths():
    for path in ("World", "/World//a", "", "/World/"):
        with pytest.raises(ValueError, match="not an absolute path"):
            PathTree([path])


names = st.text(alphabet="abcxyz_0129üЖ机", min_size=1, max_size=4)
path_lists = st.lists(
    st.lists(names, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)), max_size=20
)


@given(path_lists)
def test_every_path_matches_itself_alone(paths):
    tree = PathTree(paths)
    for path in paths:
        assert paths_of(path, tree) == [path] == paths_of(path, WalkOnlyTree(tree))
        # The same through the expression engine: a class of one character is the character.
        assert paths_of("/" + "/".join(f"[{p[0]}]{p[1:]}" for p in path[1:].split("/")), tree) == [path]


@given(path_lists, st.integers(min_value=1, max_value=4))
def test_stars_enumerate_a_level(paths, depth):
    tree = PathTree(paths)
    found = paths_of("/*" * depth, tree)
    prefixes = {"/".join(path.split("/")[: depth + 1]) for path in paths if path.count("/") >= depth}
    assert sorted(found) == sorted(prefixes)
    parents = [path.rpartition("/")[0] for path in found]
    assert len([p for i, p in enumerate(parents) if i == 0 or parents[i - 1] != p]) == len(set(parents))


@given(path_lists, names)
def test_prefix_glob_equals_a_filter(paths, prefix):
    tree = PathTree(paths)
    everything = paths_of("/*/*", tree)
    chosen = [path for path in everything if path.split("/")[2].startswith(prefix[:1])]
    assert paths_of(f"/*/{prefix[:1]}*", tree) == chosen == paths_of(f"/*/({prefix[:1]})*", tree)


@given(st.text(max_size=12))
def test_any_text_compiles_or_is_refused_by_name(text):
    tree = PathTree(["/a/b", "/a/c"])
    try:
        hits = match("/" + text, tree)
    except PatternError:
        return
    assert {hit.path for hit in hits} <= {"/", "/a", "/a/b", "/a/c"}


def best_of(count: int, function) -> float:
    """Shortest of several runs [s]: the others measure the machine's load."""
    durations = []
    for _ in range(count):
        start = time.perf_counter()
        function()
        durations.append(time.perf_counter() - start)
    return min(durations)


def test_large_stages_resolve_quickly():
    links = [f"link_{i}" for i in range(20)]
    environments = [f"/World/envs/env_{i}" for i in range(4096)]
    tree = PathTree(f"{e}/Robot/{link}" for e in environments for link in links)
    assert len(match("/World/envs/env_*/Robot/*", tree)) == 81920
    # The bounds leave a factor of about six for slow or busy machines.
    assert best_of(5, lambda: match("/World/envs/env_*/Robot/*", tree)) < 0.15
    explicit = [f"{e}/Robot/{link}" for e in environments for link in links[:16]]
    assert best_of(3, lambda: resolve(explicit, tree)) < 1.5
    assert len(resolve(explicit, tree)) == 65536


def test_explicit_paths_without_find_do_not_rescan_siblings():
    class CountingTree(WalkOnlyTree):
        visits = 0

        def children(self, node):
            self.visits += 1
            return super().children(node)

    paths = [f"/World/env_{i}/body" for i in range(300)]
    tree = CountingTree(PathTree([*paths, *(f"/World/other_{i}" for i in range(300))]))
    flat = [f"/World/env_{i}" for i in range(300)]
    assert [hit.path for hit in resolve(flat, tree)] == flat
    assert tree.visits < 10
