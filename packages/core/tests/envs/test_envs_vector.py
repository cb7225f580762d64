"""Gymnasium's vector environments and ours, over the same environment."""

import threading
import warnings
from typing import Literal

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

import saccade.envs
from saccade.envs.vector import VisualReasoningVectorEnv
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.testing import TINY_VIEW, tiny_example
from saccade.tools.tool import Tool, tool_from

Mode = Literal["ours", "sync", "async"]
MODES: tuple[Mode, ...] = ("ours", "sync", "async")
NOTHING = "nothing"
ANSWER = "<think>so</think><answer>no such thing</answer>"


def make(mode: Mode, count: int = 3, *, autoreset: AutoresetMode = AutoresetMode.NEXT_STEP, seed: int = 0) -> VectorEnv:
    settings = {"family": "counting", "view": TINY_VIEW, "max_turns": 2, "seed": seed}
    if mode == "ours":
        return gymnasium.make_vec(saccade.envs.VISUAL_REASONING_ID, count, autoreset_mode=autoreset, **settings)
    vector = {"autoreset_mode": autoreset} | ({"shared_memory": False} if mode == "async" else {})
    with warnings.catch_warnings():
        # Other threads of the tests' process may live; the children use none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        return gymnasium.make_vec(
            saccade.envs.VISUAL_REASONING_ID, count, vectorization_mode=mode, vector_kwargs=vector, **settings
        )


def test_the_modes_are_what_they_are_called() -> None:
    kinds = {"ours": VisualReasoningVectorEnv, "sync": SyncVectorEnv, "async": AsyncVectorEnv}
    for mode in MODES:
        env = make(mode, 1)
        assert type(env.unwrapped) is kinds[mode]
        env.close()


@pytest.mark.parametrize("mode", MODES)
def test_observations_and_actions_lie_in_the_batched_spaces(mode: Mode) -> None:
    env = make(mode)
    observation, _ = env.reset(seed=1)
    assert observation in env.observation_space
    assert [len(pictures) for pictures in observation["images"]] == [1, 1, 1]
    assert env.action_space.sample() in env.action_space
    observation, rewards, terminated, truncated, _ = env.step((NOTHING, ANSWER, NOTHING))
    assert observation in env.observation_space
    assert rewards.tolist() == [0.0, 0.0, 0.0]
    assert terminated.tolist() == [False, True, False]
    assert truncated.tolist() == [False, False, False]
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_all_modes_play_the_same_episodes_from_the_same_seed(mode: Mode) -> None:
    def played(env: VectorEnv) -> list[object]:
        seen: list[object] = []
        observation, info = env.reset(seed=7)
        for _ in range(4):
            seen += [tuple(observation["text"]), tuple(info["task_id"])]
            observation, rewards, terminated, truncated, info = env.step((NOTHING, ANSWER, NOTHING))
            seen += [rewards.tolist(), terminated.tolist(), truncated.tolist()]
        env.close()
        return seen

    assert played(make(mode)) == played(make("sync"))


@pytest.mark.parametrize("mode", MODES)
def test_next_step_autoreset_spends_a_step_without_an_action(mode: Mode) -> None:
    env = make(mode, 2)
    _, before = env.reset(seed=1)
    _, _, terminated, _, _ = env.step((ANSWER, NOTHING))
    assert terminated.tolist() == [True, False]
    observation, _, terminated, truncated, info = env.step((ANSWER, NOTHING))
    assert terminated.tolist() == [False, False]
    assert truncated.tolist() == [False, True]
    assert observation["text"][0].startswith("You answer questions")
    assert info["task_id"][0] != before["task_id"][0]
    assert info["turns"].tolist() == [0, 2]
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_same_step_autoreset_gives_the_last_observation_apart(mode: Mode) -> None:
    env = make(mode, 2, autoreset=AutoresetMode.SAME_STEP)
    env.reset(seed=1)
    observation, _, terminated, _, info = env.step((ANSWER, NOTHING))
    assert terminated.tolist() == [True, False]
    assert observation["text"][0].startswith("You answer questions")
    assert info["final_obs"][0]["text"] == ""
    assert info["final_info"]["status"][0] == "answered"
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_without_autoreset_chosen_environments_are_reset_by_a_mask(mode: Mode) -> None:
    env = make(mode, 2, autoreset=AutoresetMode.DISABLED)
    env.reset(seed=1)
    env.step((ANSWER, NOTHING))
    _, info = env.reset(options={"reset_mask": np.array([True, False])})
    assert info["turns"][0] == 0
    _, _, terminated, truncated, info = env.step((NOTHING, NOTHING))
    assert info["turns"].tolist() == [1, 2]
    assert (terminated.tolist(), truncated.tolist()) == ([False, False], [False, True])
    env.close()


def test_ours_draws_other_tasks_for_each_environment_also_without_a_seed() -> None:
    env = make("ours")
    tasks = list(env.reset()[1]["task_id"])
    assert len(set(tasks)) == 3
    assert list(env.reset()[1]["task_id"]) != tasks
    env.close()
    again, other = make("ours"), make("ours", seed=1)
    assert list(again.reset()[1]["task_id"]) == tasks
    assert list(other.reset()[1]["task_id"]) != tasks
    again.close()
    other.close()


def tiny(tool: Tool, count: int, *, retries: int = 2) -> VisualReasoningVectorEnv:
    media = MediaStore()
    tasks = [tiny_example(media, index).task for index in range(4)]
    return VisualReasoningVectorEnv(
        count, retries=retries, tasks=tasks, media=media, tools=[tool], view=TINY_VIEW, max_turns=3
    )


def test_tools_of_all_environments_wait_together() -> None:
    meet = threading.Barrier(6, timeout=120)

    def gather() -> str:
        """Return when all the others are here."""
        meet.wait()
        return "all here"

    env = tiny(tool_from(gather, deadline_s=120), 6)
    env.reset(seed=0)
    observation, *_ = env.step(['<think>a</think><tool_call>{"name": "gather", "arguments": {}}</tool_call>'] * 6)
    assert list(observation["text"]) == ["all here"] * 6
    env.close()


def test_machine_that_fails_once_is_forgiven_and_one_that_keeps_failing_ends_its_episode_alone() -> None:
    calls: dict[str, int] = {}

    def fragile(name: str) -> str:
        """Break as often as the name says."""
        calls[name] = calls.get(name, 0) + 1
        if calls[name] <= int(name):
            raise ConnectionError("a wire came loose")
        return "done"

    def asks(times: int) -> str:
        return f'<think>a</think><tool_call>{{"name": "fragile", "arguments": {{"name": "{times}"}}}}</tool_call>'

    env = tiny(tool_from(fragile), 3, retries=2)
    env.reset(seed=0)
    observation, rewards, terminated, truncated, info = env.step([asks(0), asks(2), asks(3)])
    assert list(observation["text"]) == ["done", "done", ""]
    assert observation in env.observation_space
    assert (rewards.tolist(), terminated.tolist()) == ([0.0] * 3, [False] * 3)
    assert truncated.tolist() == [False, False, True]
    assert info["status"].tolist() == ["running", "running", "failed"]
    assert "a wire came loose" in info["failure"][2]
    _, _, _, truncated, info = env.step([asks(0)] * 3)
    assert info["turns"].tolist() == [2, 2, 0]
    assert not truncated.any()
    env.close()


def test_wrong_settings_are_refused() -> None:
    for wrong in ({"num_envs": 0}, {"retries": -1}):
        with pytest.raises(UserError):
            VisualReasoningVectorEnv(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no_such_setting"):
        VisualReasoningVectorEnv(1, family="counting", no_such_setting=1)
