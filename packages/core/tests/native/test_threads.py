"""Items spread over threads: each once, and none after the call has ended, also when it was interrupted."""

import signal
import threading
import time
from collections.abc import Iterator

import pytest
import torch
from native_samples import kernels_or_skip, numbers

from saccade.native.threads import spread


@pytest.mark.parametrize(("items", "threads"), [(1, 1), (2, 2), (7, 3), (100, 4), (5, 5)])
def test_each_item_is_worked_on_once(items: int, threads: int) -> None:
    done: list[int] = []
    spread(lambda begin, end: done.extend(range(begin, end)), (), items=items, threads=threads)
    assert sorted(done) == list(range(items))


def test_an_error_of_the_caller_comes_when_the_others_have_ended() -> None:
    began, ended = threading.Event(), threading.Event()

    def work(begin: int, end: int) -> None:
        if begin == 0:
            began.wait(60)
            raise KeyboardInterrupt
        began.set()
        time.sleep(0.2)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        spread(work, (), items=2, threads=2)
    assert ended.is_set()


def test_a_part_that_no_thread_had_begun_is_never_worked_on() -> None:
    # Two callers share a team of one thread, which the first keeps busy.
    busy, free, worked = threading.Event(), threading.Event(), threading.Event()

    def hold(begin: int, end: int) -> None:
        if begin:
            busy.set()
            free.wait(60)

    def fail(begin: int, end: int) -> None:
        if begin:
            worked.set()
        else:
            raise KeyboardInterrupt

    other = threading.Thread(target=spread, args=(hold, ()), kwargs={"items": 9, "threads": 9})
    other.start()
    assert busy.wait(60)
    with pytest.raises(KeyboardInterrupt):
        spread(fail, (), items=2, threads=2)
    had_begun = worked.is_set()
    free.set()
    other.join()
    # The team goes through what waits in its order, so the part that failed has been passed over by now.
    spread(lambda begin, end: None, (), items=9, threads=9)
    assert worked.is_set() == had_begun


def test_an_error_of_another_thread_is_the_callers() -> None:
    def work(begin: int, end: int) -> None:
        if begin:
            raise ValueError(f"no item {begin}")

    with pytest.raises(ValueError, match="no item 1"):
        spread(work, (), items=2, threads=2)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_nothing_is_written_to_memory_that_an_interrupted_product_has_freed() -> None:
    kernels = kernels_or_skip()
    left, right = numbers(400, 500), numbers(500, 1000, seed=1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def multiply_for(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            kernels.product(left, right)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for turn in range(40):
            with pytest.raises(KeyboardInterrupt):
                multiply_for(0.002 + 0.0007 * turn)
            fresh = torch.zeros(400, 1000)
            time.sleep(0.01)
            assert not fresh.any()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
