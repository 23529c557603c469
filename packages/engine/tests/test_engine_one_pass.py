"""Work that is done once for several writes."""

from __future__ import annotations

import pytest

from tensorphys_engine.one_pass import OnePass


def test_a_block_does_once_at_its_end_what_was_asked_for() -> None:
    done: list[int] = []
    once = OnePass(lambda: done.append(1))
    once()
    assert len(done) == 1
    with once:
        once()
        with once:
            once()
        assert len(done) == 1
    assert len(done) == 2
    with once:
        pass
    assert len(done) == 2


def test_a_flush_does_now_what_is_left_and_no_more() -> None:
    done: list[int] = []
    once = OnePass(lambda: done.append(1))
    once.flush()
    assert done == []
    with once:
        once()
        once.flush()
        once.flush()
        assert len(done) == 1
        once()
    assert len(done) == 2


def test_an_error_leaves_nothing_undone() -> None:
    done: list[int] = []
    once = OnePass(lambda: done.append(1))

    def fail() -> None:
        with once:
            once()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert len(done) == 1
    once()
    assert len(done) == 2
