"""Check of an environment's contract."""

from collections.abc import Callable, Sequence
from contextlib import closing

import gymnasium
from gymnasium.utils.env_checker import check_env

from saccade.envs.environment import Environment
from saccade.testing.hostile import HOSTILE_TEXTS
from saccade.types import Task, Turn

MOST_TURNS = 1000
"""An episode without an answer must end before."""

Ends = list[tuple[bool, bool]]
"""(terminated, truncated) of each step."""


def check_environment(make_env: Callable[[], Environment], texts: Sequence[str], *, task: Task | None = None) -> None:
    """Checks the environments that ``make_env`` gives; an ``AssertionError`` says what is wrong.

    Checked: Gymnasium's own checker is content, where they are Gymnasium's; ``texts``, an episode of any length, played
    twice from the same seed give the same turns and rewards; an episode without an answer ends by itself, after
    exactly ``max_turns`` turns where the environment has such an attribute; hostile texts are turns like any other and
    change nothing but the episode. ``task`` is what environments that draw none are asked.
    """
    options: dict[str, object] = {} if task is None else {"task": task}
    first = make_env()
    if isinstance(first, gymnasium.Env):
        check_env(first, skip_render_check=True)
    assert _play(make_env(), texts, options) == _play(make_env(), texts, options), (
        "the same task and texts give different episodes"
    )
    with closing(make_env()) as env:
        _check_turn_limit(env, options)
    with closing(make_env()) as env:
        _check_hostile(env, options)


def _play(env: Environment, texts: Sequence[str], options: dict[str, object]) -> tuple[tuple[Turn, ...], list[object]]:
    rewards: list[object] = []
    with closing(env):
        env.reset(seed=0, options=options)
        assert env.prompt, "there is no prompt after reset"
        for text in texts:
            observation, reward, terminated, truncated, _ = env.step(text)
            rewards.append(reward)
            _check_space(env, observation, text)
            assert not (terminated and truncated), "an episode is both answered and out of turns"
            shown = env.turns[-1].observation
            assert (shown is None) == (terminated or truncated), "an observation is shown exactly when a turn follows"
            if terminated or truncated:
                break
        assert [turn.text for turn in env.turns] == list(texts[: len(env.turns)]), "a turn's text is not the action"
        assert [turn.index for turn in env.turns] == list(range(len(env.turns))), "turns are not counted from 0"
        return env.turns, rewards


def _check_turn_limit(env: Environment, options: dict[str, object]) -> None:
    limit = getattr(env, "max_turns", None)
    env.reset(seed=0, options=options)
    ends: Ends = []
    while len(ends) < (limit or MOST_TURNS) and not any(map(any, ends)):
        ends.append(env.step("nothing")[2:4])
    expected: Ends = [(False, False)] * ((limit or len(ends)) - 1) + [(False, True)]
    assert ends == expected, f"{len(expected)} turns without an answer end as {ends[-3:]}"


def _check_hostile(env: Environment, options: dict[str, object]) -> None:
    for text in HOSTILE_TEXTS:
        env.reset(seed=0, options=options)
        observation, reward, terminated, _, _ = env.step(text)
        _check_space(env, observation, text)
        assert reward == 0.0 or terminated, f"{text[:60]!r} is rewarded without an answer"
        assert env.turns[0].text == text, f"{text[:60]!r} is not kept verbatim"


def _check_space(env: Environment, observation: object, text: str) -> None:
    if isinstance(env, gymnasium.Env):
        assert observation in env.observation_space, f"the observation after {text[:60]!r} is outside its space"
