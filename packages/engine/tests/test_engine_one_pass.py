"""Work that is done once for several writes, at once or before the next read."""

from __future__ import annotations

import pytest

from tensorphys_engine import StepError
from tensorphys_engine.one_pass import OnePass


class Work:
    """Counts what is done, and what is recorded while a graph is captured."""

    def __init__(self) -> None:
        self.capturing = False
        self.done = self.recorded = 0
        self.once = OnePass(self._work, lambda: self.capturing)

    def _work(self) -> None:
        if self.capturing:
            self.recorded += 1
        else:
            self.done += 1


def test_a_block_does_once_at_its_end_what_was_asked_for() -> None:
    work = Work()
    once = work.once
    once()
    assert work.done == 1
    with once:
        once()
        with once:
            once()
        assert work.done == 1
    assert work.done == 2
    with once:
        pass
    assert work.done == 2


def test_settling_does_now_what_is_left_and_no_more() -> None:
    work = Work()
    once = work.once
    once.settle()
    assert work.done == 0
    with once:
        once()
        once.settle()
        once.settle()
        assert work.done == 1
        once()
    assert work.done == 2


def test_an_error_leaves_nothing_undone() -> None:
    work = Work()
    once = work.once

    def fail() -> None:
        with once:
            once()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert work.done == 1
    once()
    assert work.done == 2


def test_writers_leave_it_to_reads_once_that_is_allowed() -> None:
    work = Work()
    once = work.once
    with pytest.raises(StepError, match="lazy"), once.later("pose"):
        pass
    once.lazy = True
    for _ in range(3):
        with once.later("pose"):
            once()
    assert work.done == 0
    # What the writes of "pose" do not concern is read without it.
    with once.held_for({"pose", "velocity"}):
        once.settle()
    assert work.done == 0
    with once.later("joints"):
        once()
    with once.held_for({"pose", "velocity"}):
        once.settle()
    assert work.done == 1
    once.settle()
    assert work.done == 1
    with once.later("pose"):
        once()
    once()  # somebody who does not wait does what others left
    once.settle()
    assert work.done == 2
    with once.later("pose"):
        once()
    once.forget()
    once.settle()
    assert work.done == 2


def test_what_is_captured_stands_in_the_graph_and_leaves_the_notes_of_the_host() -> None:
    work = Work()
    once = work.once
    once.lazy = True
    with once.later("pose"):
        once()
    work.capturing = True
    with once.later("pose"):
        once()  # a write
    assert work.recorded == 1
    once.settle()  # reads, whatever waits now: something may wait at the replay
    once.settle()
    assert work.recorded == 3
    with once.held_for({"pose"}):
        once.settle()
    assert work.recorded == 4
    with once:
        once()
        once()
    assert work.recorded == 5
    with once:
        once()
        once.settle()
    assert work.recorded == 6
    work.capturing = False
    assert work.done == 0
    once.settle()
    assert work.done == 1


def test_a_block_that_outlasts_its_capture_is_refused() -> None:
    work = Work()
    once = work.once
    work.capturing = True
    once.__enter__()
    once()
    work.capturing = False
    with pytest.raises(StepError, match="lacks the pass"):
        once.__exit__(None, None, None)
    # One that began before the capture owes it nothing: the write in the graph has its own.
    with once:
        once()
        work.capturing = True
        once()
        assert work.recorded == 1
        work.capturing = False
    assert work.done == 1
