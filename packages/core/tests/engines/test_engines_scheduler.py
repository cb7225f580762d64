"""Which sequences run in which step, without any model."""

import asyncio

import pytest

from saccade.engines.engine import Sampling
from saccade.engines.scheduler import Scheduler
from saccade.errors import SaccadeError


class NoImages:
    def count_in(self, ids):
        return 0

    def count_of(self, image):
        return 0


def scheduler(labels, *, max_rows=8, deterministic=True, cache_tokens=None):
    return Scheduler(labels, NoImages(), max_rows=max_rows, deterministic=deterministic, cache_tokens=cache_tokens)


def ask(slot, max_tokens=256):
    return asyncio.create_task(slot.sample([*slot.ids, 1], (), Sampling(seed=0, max_tokens=max_tokens)))


def labels(slots):
    return "".join(slot.label for slot in slots)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def is_waiting(coroutine):
    """A task for the coroutine, which is not done although everybody else has had their say."""
    task = asyncio.ensure_future(coroutine)
    await settle()
    assert not task.done()
    return task


def finish(queue, slot):
    slot.open_turn.ids.append(2)
    queue.finish(slot, "eos")


def test_the_first_step_waits_for_every_sequence():
    async def run():
        queue = scheduler("ab")
        a, b = queue.sequences
        asked = ask(a)
        step = await is_waiting(queue.next_step())
        other = ask(b)
        plan = await step
        assert labels(plan.joining) == "ab"
        asked.cancel(), other.cancel()

    asyncio.run(run())


def test_a_closed_sequence_is_not_waited_for():
    async def run():
        queue = scheduler("ab")
        a, b = queue.sequences
        a.close()
        asked = ask(b)
        await settle()
        plan = await queue.next_step()
        assert (labels(plan.leaving), labels(plan.joining)) == ("a", "b")
        asked.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("reports_after", [0, 1, 2, 3])
def test_a_sequence_takes_part_again_four_step_later_however_early_it_reports(reports_after):
    async def run():
        queue = scheduler("ab")
        a, b = queue.sequences
        asked = [ask(a), ask(b)]
        await settle()
        await queue.next_step()
        finish(queue, a)
        joined = []
        for step in range(1, 6):
            if step == reports_after + 1:
                asked.append(ask(a))
                await settle()
            plan = await queue.next_step()
            joined.append(labels(plan.joining))
        assert joined == ["", "", "", "a", ""]
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_a_sequence_that_reports_late_is_waited_for():
    async def run():
        queue = scheduler("ab")
        a, b = queue.sequences
        asked = [ask(a), ask(b)]
        await settle()
        await queue.next_step()
        finish(queue, a)
        for _ in range(3):
            await queue.next_step()
        step = await is_waiting(queue.next_step())
        asked.append(ask(a))
        plan = await step
        assert (queue.step, labels(plan.joining), labels(plan.decoding)) == (4, "a", "b")
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_time_passes_at_once_when_all_are_at_their_tools():
    async def run():
        queue = scheduler("a")
        [a] = queue.sequences
        asked = [ask(a)]
        await settle()
        await queue.next_step()
        finish(queue, a)
        asked.append(ask(a))
        await settle()
        plan = await queue.next_step()
        assert (queue.step, labels(plan.joining)) == (4, "a")
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_sequences_beyond_the_rows_queue_in_the_order_of_their_labels():
    async def run():
        queue = scheduler("abcd", max_rows=2)
        asked = [ask(slot) for slot in reversed(queue.sequences)]
        await settle()
        plan = await queue.next_step()
        assert (labels(plan.joining), labels(plan.waiting)) == ("ab", "cd")
        a, b, c, _ = queue.sequences
        finish(queue, b)
        b.close()
        joined = []
        for _ in range(4):
            plan = await queue.next_step()
            joined.append((labels(plan.leaving), labels(plan.joining)))
        assert joined == [("", ""), ("", ""), ("", ""), ("b", "c")]
        assert c.has_row
        assert a.is_running
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_rows_are_given_while_what_turns_may_write_fits_the_cache():
    async def run():
        queue = scheduler("abcd", cache_tokens=30)
        # One token before each turn: 10, 20, 5 and 40 tokens in all.
        asked = [ask(slot, tokens - 1) for slot, tokens in zip(queue.sequences, (10, 20, 5, 40))]
        await settle()
        plan = await queue.next_step()
        assert (labels(plan.joining), labels(plan.waiting)) == ("ab", "cd")
        joined = []
        for slot in queue.sequences:
            while not slot.is_running:
                joined.append(labels((await queue.next_step()).joining))
            finish(queue, slot)
            slot.close()
        # The last one would never fit, and plays alone.
        assert [names for names in joined if names] == ["c", "d"]
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_the_last_rows_give_way_when_what_is_written_no_longer_fits():
    async def run():
        queue = scheduler("abc", cache_tokens=135)
        # Two fit with the 64 tokens that are next, three do not.
        asked = [ask(slot) for slot in queue.sequences]
        await settle()
        a, b, _ = queue.sequences
        plan = await queue.next_step()
        assert (labels(plan.joining), labels(plan.waiting), plan.is_short) == ("ab", "c", True)
        while a.is_running and b.is_running:
            for slot in (a, b):
                slot.ids.append(2), slot.open_turn.ids.append(2)
            plan = await queue.next_step()
        assert (labels(plan.leaving), labels(plan.decoding), labels(plan.waiting)) == ("b", "a", "bc")
        assert 2 * len(b.ids) > 135 >= 2 * len(b.ids) - 2
        finish(queue, a)
        a.close()
        joined = []
        while not joined:
            joined = (await queue.next_step()).joining
        # What it has written so far is forwarded anew.
        assert labels(joined) == "b"
        assert len(b.open_turn.ids) == len(b.ids) - 1
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_it_is_over_when_every_sequence_is_closed():
    async def run():
        queue = scheduler("ab")
        for slot in queue.sequences:
            slot.close()
            slot.close()
        assert await queue.next_step() is None
        assert await scheduler("").next_step() is None

    asyncio.run(run())


def test_without_determinism_whoever_is_ready_goes_at_once():
    async def run():
        queue = scheduler("ab", deterministic=False)
        a, b = queue.sequences
        asked = [ask(a)]
        await settle()
        assert labels((await queue.next_step()).joining) == "a"
        finish(queue, a)
        step = await is_waiting(queue.next_step())
        asked += [ask(b), ask(a)]
        plan = await step
        assert labels(plan.joining) in {"b", "ab"}
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_a_failure_reaches_those_who_wait_and_those_who_come_later():
    async def run():
        queue = scheduler("ab")
        a, b = queue.sequences
        asked = ask(a)
        await settle()
        queue.fail(RuntimeError("out of memory"))
        with pytest.raises(RuntimeError, match="out of memory"):
            await asked
        with pytest.raises(SaccadeError, match="the engine has stopped: out of memory"):
            await b.sample([1], (), Sampling(seed=0))

    asyncio.run(run())


def test_a_sequence_cancelled_in_the_middle_of_a_turn_leaves_at_once():
    async def run():
        queue = scheduler("ab")
        asked = [ask(slot) for slot in queue.sequences]
        await settle()
        await queue.next_step()
        asked[0].cancel()
        await settle()
        plan = await queue.next_step()
        assert (labels(plan.leaving), labels(plan.decoding)) == ("a", "b")
        asked[1].cancel()

    asyncio.run(run())


def test_a_trajectory_draws_its_numbers_from_its_own_seed_alone():
    async def numbers(seed):
        [slot] = scheduler("a").sequences
        asked = asyncio.create_task(slot.sample([1], (), Sampling(seed=seed)))
        await settle()
        asked.cancel()
        return [slot.next_uniform() for _ in range(3)]

    assert asyncio.run(numbers(5)) == asyncio.run(numbers(5))
    assert asyncio.run(numbers(5)) != asyncio.run(numbers(6))


def test_sequences_join_a_batch_that_stays_open_and_leave_it():
    async def run():
        queue = Scheduler((), NoImages(), max_rows=2, deterministic=True, stays_open=True)
        step = await is_waiting(queue.next_step())
        a = queue.join("a")
        asked = [ask(a)]
        assert labels((await step).joining) == "a"
        b = queue.join("b")
        asked.append(ask(b))
        await settle()
        plan = await queue.next_step()
        assert (labels(plan.decoding), labels(plan.joining)) == ("a", "b")
        a.close()
        plan = await queue.next_step()
        assert (labels(plan.leaving), labels(plan.decoding)) == ("a", "b")
        b.close()
        step = await is_waiting(queue.next_step())
        c = queue.join("c")
        asked.append(ask(c))
        assert (labels((await step).leaving), c.is_running) == ("b", True)
        await asyncio.gather(*asked[:2], return_exceptions=True)
        queue.fail(SaccadeError("gone"))
        with pytest.raises(SaccadeError, match="gone"):
            await asked[2]
        with pytest.raises(SaccadeError, match="gone"):
            queue.join("d")

    asyncio.run(run())
