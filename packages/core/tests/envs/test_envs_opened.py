"""Tools with a state of their own, opened and closed by the environment."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import gymnasium
import pytest
from PIL import Image

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, UserError
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.tools.images import crop
from saccade.tools.tool import Episode, EpisodeTool, OpenTool, Tool, tool_from
from saccade.types import Task, ToolSpec

VIEW = ResizeRule(factor=16, min_pixels=64 * 64, max_pixels=64 * 64, convention="relative_1000")
COUNT = '<think></think><tool_call>{"name": "count", "arguments": {}}</tool_call>'
ANSWER = "<think></think><answer>red</answer>"


@dataclass
class Counter:
    """A tool that counts its calls in an episode."""

    episodes: list[Episode] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    """How often each episode was closed."""
    error: Exception | None = None

    @property
    def spec(self) -> ToolSpec:
        return tool_from(self._function([0])).spec

    def open(self, episode: Episode) -> OpenTool:
        if self.error is not None:
            raise self.error
        index = len(self.episodes)
        self.episodes.append(episode)
        self.closed.append(0)

        def close() -> None:
            self.closed[index] += 1

        return OpenTool(tool=tool_from(self._function([0])), close=close)

    def _function(self, calls: list[int]):
        def count() -> str:
            """Count."""
            calls[0] += 1
            return str(calls[0])

        return count


def make_env(*tools: Tool | EpisodeTool, max_turns: int = 4, seed: int = 0, ids: Sequence[str] = ("t",)):
    media = MediaStore()
    image = media.add(Image.new("RGB", (256, 256)))
    tasks = [
        Task(id=name, family="t", question="?", answer="red", answer_kind="exact", images=(image,)) for name in ids
    ]
    return VisualReasoningEnv(
        tasks=tasks,
        media=media,
        tools=tools,
        view=VIEW,
        max_turns=max_turns,
        seed=seed,
        protocol=tagged_protocol(style="brief"),
    )


def test_a_tools_state_lasts_from_reset_to_the_end_of_the_episode() -> None:
    counter = Counter()
    env = make_env(tool_from(crop), counter)
    for episode in range(2):
        env.reset(seed=0)
        assert [env.step(COUNT)[0]["text"] for _ in range(3)] == ["1", "2", "3"]
        assert counter.closed == [1] * episode + [0]
        env.step(ANSWER)
        assert counter.closed == [1] * (episode + 1)


def test_a_tool_learns_of_the_tasks_images_the_media_the_view_and_a_seed_of_the_task_alone() -> None:
    counter = Counter()
    env = make_env(counter, ids=("a", "b"))
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(20)]
    seeds = {(name, episode.seed) for name, episode in zip(drawn, counter.episodes, strict=True)}
    assert sorted(name for name, _ in seeds) == ["a", "b"]
    assert len({seed for _, seed in seeds}) == 2
    assert {(one.images, one.media, one.view) for one in counter.episodes} == {(env.task.images, env.media, VIEW)}
    elsewhere = Counter()
    make_env(elsewhere, seed=9, ids=("a",)).reset()
    assert elsewhere.episodes[0].seed not in {seed for _, seed in seeds}


@pytest.mark.parametrize("end", ["reset", "close", "turn_limit"])
def test_a_tool_is_closed_whichever_way_the_episode_ends(end: str) -> None:
    counter = Counter()
    env = make_env(counter, max_turns=1 if end == "turn_limit" else 4)
    env.reset()
    if end == "reset":
        env.reset()
    elif end == "close":
        env.close()
        env.close()
    else:
        env.step(COUNT)
    assert counter.closed[0] == 1


def test_a_closed_environment_keeps_its_turns_and_goes_on_after_the_next_reset_only() -> None:
    env = make_env(Counter())
    env.reset()
    env.step(COUNT)
    env.close()
    assert len(env.turns) == 1
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(COUNT)
    env.reset()
    assert env.step(COUNT)[0]["text"] == "1"


def test_a_call_in_the_last_turn_is_not_run() -> None:
    counter = Counter()
    env = make_env(counter, max_turns=2)
    env.reset()
    env.step(COUNT)
    env.step(COUNT)
    assert env.turns[0].result is not None
    assert (env.turns[1].result, env.turns[1].observation) == (None, None)


def test_when_one_tool_cannot_be_opened_those_before_it_are_closed() -> None:
    counter = Counter()
    env = make_env(counter, Other(error=MachineError("gone")))
    with pytest.raises(MachineError):
        env.reset()
    env.close()
    assert counter.closed == [1]


def test_two_tools_of_one_name_are_refused_also_when_they_have_a_state() -> None:
    with pytest.raises(UserError, match="two tools are called count"):
        make_env(Counter(), Counter())


class Other(Counter):
    """The same under another name."""

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(name="other", description="Count.", parameters={"properties": {}})
