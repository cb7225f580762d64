"""Who takes part in which tick, without any model."""

import asyncio

import pytest

from saccade.engines.engine import Sampling
from saccade.engines.seating import Seating
from saccade.errors import SaccadeError


class NoImages:
    def count_in(self, ids):
        return 0

    def count_of(self, image):
        return 0


def seating(labels, *, max_rows=8, deterministic=True):
    return Seating(labels, NoImages(), max_rows=max_rows, deterministic=deterministic)


def ask(seat):
    return asyncio.create_task(seat.sample([*seat.ids, 1], (), Sampling(seed=0)))


def labels(seats):
    return "".join(seat.label for seat in seats)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def is_waiting(coroutine):
    """A task for the coroutine, which is not done although everybody else has had their say."""
    task = asyncio.ensure_future(coroutine)
    await settle()
    assert not task.done()
    return task


def finish(seats, seat):
    seat.open_turn.ids.append(2)
    seats.finish(seat, "eos")


def test_the_first_tick_waits_for_every_seat():
    async def run():
        seats = seating("ab")
        a, b = seats.seats
        asked = ask(a)
        tick = await is_waiting(seats.next_tick())
        other = ask(b)
        plan = await tick
        assert labels(plan.joining) == "ab"
        asked.cancel(), other.cancel()

    asyncio.run(run())


def test_a_closed_seat_is_not_waited_for():
    async def run():
        seats = seating("ab")
        a, b = seats.seats
        a.close()
        asked = ask(b)
        await settle()
        plan = await seats.next_tick()
        assert (labels(plan.leaving), labels(plan.joining)) == ("a", "b")
        asked.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("reports_after", [0, 1, 2, 3])
def test_a_seat_takes_part_again_four_ticks_later_however_early_it_reports(reports_after):
    async def run():
        seats = seating("ab")
        a, b = seats.seats
        asked = [ask(a), ask(b)]
        await settle()
        await seats.next_tick()
        finish(seats, a)
        joined = []
        for tick in range(1, 6):
            if tick == reports_after + 1:
                asked.append(ask(a))
                await settle()
            plan = await seats.next_tick()
            joined.append(labels(plan.joining))
        assert joined == ["", "", "", "a", ""]
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_a_seat_that_reports_late_is_waited_for():
    async def run():
        seats = seating("ab")
        a, b = seats.seats
        asked = [ask(a), ask(b)]
        await settle()
        await seats.next_tick()
        finish(seats, a)
        for _ in range(3):
            await seats.next_tick()
        tick = await is_waiting(seats.next_tick())
        asked.append(ask(a))
        plan = await tick
        assert (seats.tick, labels(plan.joining), labels(plan.decoding)) == (4, "a", "b")
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_time_passes_at_once_when_all_are_at_their_tools():
    async def run():
        seats = seating("a")
        [a] = seats.seats
        asked = [ask(a)]
        await settle()
        await seats.next_tick()
        finish(seats, a)
        asked.append(ask(a))
        await settle()
        plan = await seats.next_tick()
        assert (seats.tick, labels(plan.joining)) == (4, "a")
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_seats_beyond_the_rows_queue_in_the_order_of_their_labels():
    async def run():
        seats = seating("abcd", max_rows=2)
        asked = [ask(seat) for seat in reversed(seats.seats)]
        await settle()
        plan = await seats.next_tick()
        assert (labels(plan.joining), labels(plan.waiting)) == ("ab", "cd")
        a, b, c, _ = seats.seats
        finish(seats, b)
        b.close()
        joined = []
        for _ in range(4):
            plan = await seats.next_tick()
            joined.append((labels(plan.leaving), labels(plan.joining)))
        assert joined == [("", ""), ("", ""), ("", ""), ("b", "c")]
        assert c.has_row
        assert a.is_running
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_it_is_over_when_every_seat_is_closed():
    async def run():
        seats = seating("ab")
        for seat in seats.seats:
            seat.close()
            seat.close()
        assert await seats.next_tick() is None
        assert await seating("").next_tick() is None

    asyncio.run(run())


def test_without_determinism_whoever_is_ready_goes_at_once():
    async def run():
        seats = seating("ab", deterministic=False)
        a, b = seats.seats
        asked = [ask(a)]
        await settle()
        assert labels((await seats.next_tick()).joining) == "a"
        finish(seats, a)
        tick = await is_waiting(seats.next_tick())
        asked += [ask(b), ask(a)]
        plan = await tick
        assert labels(plan.joining) in {"b", "ab"}
        for each in asked:
            each.cancel()

    asyncio.run(run())


def test_a_failure_reaches_those_who_wait_and_those_who_come_later():
    async def run():
        seats = seating("ab")
        a, b = seats.seats
        asked = ask(a)
        await settle()
        seats.fail(RuntimeError("out of memory"))
        with pytest.raises(RuntimeError, match="out of memory"):
            await asked
        with pytest.raises(SaccadeError, match="the engine has stopped: out of memory"):
            await b.sample([1], (), Sampling(seed=0))

    asyncio.run(run())


def test_a_seat_cancelled_in_the_middle_of_a_turn_leaves_at_once():
    async def run():
        seats = seating("ab")
        asked = [ask(seat) for seat in seats.seats]
        await settle()
        await seats.next_tick()
        asked[0].cancel()
        await settle()
        plan = await seats.next_tick()
        assert (labels(plan.leaving), labels(plan.decoding)) == ("a", "b")
        asked[1].cancel()

    asyncio.run(run())


def test_a_trajectory_draws_its_numbers_from_its_own_seed_alone():
    async def numbers(seed):
        [seat] = seating("a").seats
        asked = asyncio.create_task(seat.sample([1], (), Sampling(seed=seed)))
        await settle()
        asked.cancel()
        return [seat.next_uniform() for _ in range(3)]

    assert asyncio.run(numbers(5)) == asyncio.run(numbers(5))
    assert asyncio.run(numbers(5)) != asyncio.run(numbers(6))
