"""Does an environment keep its contract?"""

from collections.abc import Callable, Sequence

from gymnasium.utils.env_checker import check_env

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.testing.hostile import HOSTILE_TEXTS
from saccade.types import Turn

MakeEnv = Callable[[], VisualReasoningEnv]


def check_environment(make_env: MakeEnv, texts: Sequence[str]) -> None:
    """``AssertionError`` says what is wrong with the environments that ``make_env`` gives.

    Checked: Gymnasium's own checker is content; ``texts``, an episode of any length, played twice from the same seed
    give the same turns, images and rewards; exactly ``max_turns`` turns without an answer are possible; hostile texts
    are turns like any other and change nothing but the episode.
    """
    check_env(make_env(), skip_render_check=True)
    first, second = _play(make_env(), texts), _play(make_env(), texts)
    assert first == second, "the same task and texts give different episodes"
    _check_turn_limit(make_env())
    _check_hostile(make_env())


def _play(env: VisualReasoningEnv, texts: Sequence[str]) -> tuple[tuple[Turn, ...], list[float]]:
    env.reset(seed=0)
    rewards: list[float] = []
    for text in texts:
        observation, reward, terminated, truncated, _ = env.step(text)
        rewards.append(reward)
        assert observation in env.observation_space, f"the observation after {text[:60]!r} is outside its space"
        assert not (terminated and truncated), "an episode is both answered and out of turns"
        shown = env.turns[-1].observation
        assert (shown is None) == (terminated or truncated), "an observation is shown exactly when a turn follows"
        if terminated or truncated:
            break
    assert [turn.text for turn in env.turns] == list(texts[: len(env.turns)]), "a turn's text is not the action"
    assert [turn.index for turn in env.turns] == list(range(len(env.turns))), "turns are not counted from 0"
    return env.turns, rewards


def _check_turn_limit(env: VisualReasoningEnv) -> None:
    env.reset(seed=0)
    ends = [env.step("nothing")[2:4] for _ in range(env.max_turns)]
    expected = [(False, False)] * (env.max_turns - 1) + [(False, True)]
    assert ends == expected, f"{env.max_turns} turns without an answer end as {ends}"


def _check_hostile(env: VisualReasoningEnv) -> None:
    for text in HOSTILE_TEXTS:
        env.reset(seed=0)
        observation, reward, _, _, _ = env.step(text)
        assert observation in env.observation_space, f"{text[:60]!r} gives an observation outside its space"
        assert reward == 0.0 or env.status == "answered", f"{text[:60]!r} is rewarded without an answer"
        assert env.turns[0].text == text, f"{text[:60]!r} is not kept verbatim"
