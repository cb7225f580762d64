"""Gathered requests whose event loop is stopped, as by Ctrl-C."""

import asyncio
import gc
import threading
from collections.abc import Sequence

from saccade.rewards.gathered import Gathered


def test_a_loop_that_is_stopped_leaves_no_exception_that_nobody_hears() -> None:
    untold: list[str] = []
    has_begun, may_end = threading.Event(), threading.Event()

    def find(requests: Sequence[int]) -> Sequence[int]:
        has_begun.set()
        may_end.wait()
        return requests

    async def stopped() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: untold.append(str(context["message"])))
        gathered = Gathered(find)
        asking = loop.create_task(gathered([1, 2]))
        await asyncio.to_thread(has_begun.wait)
        asking.cancel()
        for running in gathered._running:
            running.cancel()
        await asyncio.gather(asking, *gathered._running, return_exceptions=True)
        del asking
        gc.collect()
        may_end.set()

    asyncio.run(stopped())
    gc.collect()
    assert untold == []
