"""Programs on balls that roll and bounce: speeds, the order of events, turns."""

from collections.abc import Callable, Mapping, Sequence

from saccade.gym.grammars.motion import EVERY_S, FRAMES, bounce_times, place_at
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.state import Element, SceneState
from saccade.types import AnswerKind

LAST_S = (FRAMES - 1) * EVERY_S


def _question_with(
    answer: str,
    seen: Sequence[Element],
    *,
    kind: AnswerKind = "exact",
    words: Mapping[str, str] | None = None,
    near: Sequence[str] = (),
    choices: Sequence[str] = (),
    event_s: tuple[float, float] = (0.0, LAST_S),
) -> ProgramQuestion:
    return ProgramQuestion(
        answer=answer,
        kind=kind,
        words=words or {},
        near=tuple(dict.fromkeys(text for text in near if text != answer)),
        choices=tuple(choices),
        evidence=tuple(ball.id for ball in seen),
        conclusion=answer,
        event_s=event_s,
    )


def _balls(asking: Asking) -> list[Element]:
    """All balls, in random order."""
    balls = asking.state.of_kind("ball")
    return [balls[int(at)] for at in asking.rng.permutation(len(balls))]


def _speed(ball: Element) -> float:
    return abs(ball.numbers["speed"])


def _by_speed(sign: int) -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        order = sorted(_balls(asking), key=lambda ball: sign * _speed(ball))
        return _question_with(order[0].attributes["colour"], order[:1], near=[order[1].attributes["colour"]])

    return ask


def _solve_speed(choose: Callable[[list[float]], float]) -> Callable[[SceneState, Mapping[str, str]], str]:
    """By the way from the first frame to the second that has no wall in it: the speed itself is not read."""

    def solve(state: SceneState, words: Mapping[str, str]) -> str:
        way = {ball.attributes["colour"]: abs(ball.numbers["speed"]) * EVERY_S for ball in state.of_kind("ball")}
        return next(colour for colour, length in way.items() if length == choose(list(way.values())))

    return solve


@program(
    "Which ball is faster, the {first} or the {second} one?",
    "Of the {first} and the {second} ball, which rolls faster?",
)
def _faster_of_two(asking: Asking) -> ProgramQuestion | None:
    pair = _balls(asking)[:2]
    names = [ball.attributes["colour"] for ball in pair]
    winner = max(pair, key=_speed)
    words = {"first": names[0], "second": names[1]}
    return _question_with(winner.attributes["colour"], pair, kind="choice", words=words, choices=names)


@program("How many times does the {colour} ball bounce off a wall?", "Count the bounces of the {colour} ball.")
def _bounces(asking: Asking) -> ProgramQuestion | None:
    wanted = int(asking.coin * 3)
    for ball in _balls(asking):
        times = bounce_times(ball)
        if len(times) == wanted and all(0.1 < time < LAST_S - 0.1 for time in times):
            event = (times[0], times[-1]) if times else (0.0, LAST_S)
            words = {"colour": ball.attributes["colour"]}
            return _question_with(
                str(wanted), [ball], kind="integer", words=words, near=[str(wanted + 1)], event_s=event
            )
    return None


@program(
    "Which ball is the first to hit a wall? Name its colour.",
    "What colour is the ball that bounces first?",
)
def _first_bounce(asking: Asking) -> ProgramQuestion | None:
    firsts = sorted(((bounce_times(ball) or [99.0])[0], ball.id, ball) for ball in _balls(asking))
    if firsts[0][0] > LAST_S or firsts[1][0] - firsts[0][0] < 0.35:
        return None
    time, _, ball = firsts[0]
    near = [firsts[1][2].attributes["colour"]]
    return _question_with(ball.attributes["colour"], [ball], near=near, event_s=(max(0.0, time - EVERY_S), time))


@program(
    "To which side does the {colour} ball roll at first?",
    "At the start, which way does the {colour} ball go?",
    solve=lambda state, words: next(
        "left" if ball.numbers["speed"] < 0 else "right"
        for ball in state.of_kind("ball")
        if ball.attributes["colour"] == words["colour"]
    ),
)
def _starts_towards(asking: Asking) -> ProgramQuestion | None:
    side = "left" if asking.coin < 0.5 else "right"
    for ball in _balls(asking):
        if (ball.numbers["speed"] < 0) == (side == "left") and (bounce_times(ball) or [9.0])[0] > EVERY_S:
            words = {"colour": ball.attributes["colour"]}
            return _question_with(
                side, [ball], kind="choice", words=words, choices=("left", "right"), event_s=(0.0, EVERY_S)
            )
    return None


@program(
    "In the last frame, which colour is farthest to the left?", "What is the colour of the leftmost ball at the end?"
)
def _ends_leftmost(asking: Asking) -> ProgramQuestion | None:
    order = sorted(_balls(asking), key=lambda ball: place_at(ball, LAST_S))
    if place_at(order[1], LAST_S) - place_at(order[0], LAST_S) < 10:
        return None
    near = [order[1].attributes["colour"]]
    return _question_with(order[0].attributes["colour"], order[:2], near=near, event_s=(LAST_S - EVERY_S, LAST_S))


@program("How many balls never hit a wall?", "Count the balls that do not bounce at all.")
def _never_bounce(asking: Asking) -> ProgramQuestion | None:
    quiet = [ball for ball in _balls(asking) if not bounce_times(ball)]
    if len(quiet) != asking.wanted(range(3)):
        return None
    near = [str(len(quiet) + 1)]
    return _question_with(str(len(quiet)), quiet or _balls(asking)[:1], kind="integer", near=near)


MOTION_PROGRAMS = (
    Program(
        name="fastest",
        wordings=("What colour is the fastest ball?", "What is the colour of the ball that rolls fastest?"),
        ask=_by_speed(-1),
        solve=_solve_speed(max),
    ),
    Program(
        name="slowest",
        wordings=("What colour is the slowest ball?", "What is the colour of the ball that rolls most slowly?"),
        ask=_by_speed(1),
        solve=_solve_speed(min),
    ),
    _faster_of_two,
    _bounces,
    _first_bounce,
    _starts_towards,
    _ends_leftmost,
    _never_bounce,
)
"""For videos of balls."""
