"""Programs on clocks: the time, its parts, which is later, how long between, what time it will be."""

from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import Words, choice_of, count_of, ids
from saccade.gym.programs.choosing import by_name, chosen, shuffled
from saccade.gym.state import Element, SceneState

HALF_DAY = 720


def minutes_of(one: Element) -> int:
    """Minutes past twelve."""
    return int(one.numbers["hour"]) % 12 * 60 + int(one.numbers["minute"])


def clock_text(minutes: int) -> str:
    """The time of a clock, as "3:05"; twelve is 12."""
    hour, minute = divmod(minutes % HALF_DAY, 60)
    return f"{hour or 12}:{minute:02d}"


def _time(minutes: int, words: Words, one: Element, said: str) -> ProgramQuestion:
    hour, minute = divmod(minutes % HALF_DAY, 60)
    swapped = clock_text(minute // 5 * 60 + hour * 5)
    near = (clock_text(minutes + 60), clock_text(minutes - 60), clock_text(minutes + 5), swapped)
    text = clock_text(minutes)
    return ProgramQuestion(
        answer=text,
        words=words,
        accepted=(text.zfill(5),) if len(text) < 5 else (),
        near=tuple(dict.fromkeys(other for other in near if other != text)),
        evidence=ids([one]),
        conclusion=said,
    )


def _one(asking: Asking) -> Element:
    return chosen(asking.rng, asking.state.of_kind("clock"))


def _clock_named(state: SceneState, name: str) -> Element:
    return by_name(state.of_kind("clock"), name)


def _ask_time(asking: Asking) -> ProgramQuestion:
    one = _one(asking)
    return _time(minutes_of(one), {"it": one.name}, one, f"{one.name} read")


@program(
    "What full hour did the {it} pass last? Answer with a number from 1 to 12.",
    "What is the hour, from 1 to 12, of the time on the {it}?",
    solve=lambda state, words: str(int(_clock_named(state, words["it"]).numbers["hour"])),
)
def _hour(asking: Asking) -> ProgramQuestion:
    one = _one(asking)
    hour = int(one.numbers["hour"])
    return count_of(hour, {"it": one.name}, [one], str(hour), wrong=[hour % 12 + 1, int(one.numbers["minute"]) // 5])


@program(
    "How many minutes past the hour does the {it} show?",
    "At how many minutes does the long hand of the {it} point?",
    solve=lambda state, words: str(int(_clock_named(state, words["it"]).numbers["minute"])),
)
def _minute(asking: Asking) -> ProgramQuestion:
    one = _one(asking)
    minute = int(one.numbers["minute"])
    return count_of(minute, {"it": one.name}, [one], str(minute), wrong=[minute + 5, int(one.numbers["hour"]) * 5])


@program(
    "What will the {it} show in {ahead} minutes? Answer as 3:05.",
    "Add {ahead} minutes to the time of the {it}. Answer as 3:05.",
    solve=lambda state, words: clock_text(minutes_of(_clock_named(state, words["it"])) + int(words["ahead"])),
)
def _time_later(asking: Asking) -> ProgramQuestion:
    one, ahead = _one(asking), 5 * int(asking.rng.integers(1, 20))
    words = {"it": one.name, "ahead": str(ahead)}
    return _time(minutes_of(one) + ahead, words, one, f"{clock_text(minutes_of(one))} and {ahead}")


@program(
    "What did the {it} show {back} minutes ago? Answer as 3:05.",
    "Take {back} minutes from the time of the {it}. Answer as 3:05.",
    solve=lambda state, words: clock_text(minutes_of(_clock_named(state, words["it"])) - int(words["back"])),
)
def _time_earlier(asking: Asking) -> ProgramQuestion:
    one, back = _one(asking), 5 * int(asking.rng.integers(1, 20))
    words = {"it": one.name, "back": str(back)}
    return _time(minutes_of(one) - back, words, one, f"{clock_text(minutes_of(one))} less {back}")


def _pair(asking: Asking) -> tuple[Element, Element] | None:
    clocks = shuffled(asking.rng, asking.state.of_kind("clock"))
    if len(clocks) < 2 or minutes_of(clocks[0]) == minutes_of(clocks[1]):
        return None
    return clocks[0], clocks[1]


def _times_text(pair: tuple[Element, Element]) -> str:
    return " ".join(clock_text(minutes_of(one)) for one in pair)


def _solve_ahead(state: SceneState, words: Words) -> str:
    return max((_clock_named(state, words[slot]) for slot in ("first", "second")), key=minutes_of).name


@program(
    "Counted from twelve o'clock, which is later: the {first} or the {second}?",
    "Both times are after the same twelve o'clock. Does the {first} or the {second} show the later one?",
    solve=_solve_ahead,
)
def _later_of_two(asking: Asking) -> ProgramQuestion | None:
    pair = _pair(asking)
    if pair is None:
        return None
    words = {"first": pair[0].name, "second": pair[1].name}
    return choice_of(max(pair, key=minutes_of).name, [one.name for one in pair], words, pair, _times_text(pair))


def _solve_between(state: SceneState, words: Words) -> str:
    first, second = (_clock_named(state, words[slot]) for slot in ("first", "second"))
    return str((minutes_of(second) - minutes_of(first)) % HALF_DAY)


@program(
    "How many minutes after the time of the {first} is the time of the {second} reached?",
    "A film starts at the time on the {first} and ends at the time on the {second}. How many minutes long is it?",
    solve=_solve_between,
)
def _minutes_between(asking: Asking) -> ProgramQuestion | None:
    pair = _pair(asking)
    if pair is None:
        return None
    gap = (minutes_of(pair[1]) - minutes_of(pair[0])) % HALF_DAY
    if gap > 180:
        return None
    words = {"first": pair[0].name, "second": pair[1].name}
    return count_of(gap, words, pair, _times_text(pair), wrong=[gap + 60, gap + 5])


CLOCK_PROGRAMS = (
    Program(
        name="time",
        wordings=(
            "What time does the {it} show? Answer as 3:05.",
            "Read the {it}. Answer with hour and minutes, as in 3:05.",
        ),
        ask=_ask_time,
        solve=lambda state, words: clock_text(minutes_of(_clock_named(state, words["it"]))),
    ),
    _hour,
    _minute,
    _time_later,
    _time_earlier,
    _later_of_two,
    _minutes_between,
)
