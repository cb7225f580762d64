"""Callers without an event loop, and callers inside of one."""

import asyncio
import threading

import pytest

from saccade.waiting import run_to_end


async def place() -> tuple[str, bool]:
    await asyncio.sleep(0)
    return "done", threading.current_thread() is threading.main_thread()


async def broken() -> None:
    raise LookupError("lost")


def test_without_a_loop_it_runs_in_this_thread() -> None:
    assert run_to_end(place()) == ("done", True)
    with pytest.raises(LookupError, match="lost"):
        run_to_end(broken())


def test_inside_of_a_loop_it_runs_in_a_thread_of_its_own() -> None:
    async def notebook() -> tuple[str, bool]:
        with pytest.raises(LookupError, match="lost"):
            run_to_end(broken())
        return run_to_end(place())

    assert asyncio.run(notebook()) == ("done", False)
