import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from saccade.envs.visual_reasoning import VisualObservation, VisualReasoningEnv
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.protocols.coordinates import call_to_model
from saccade.protocols.instructions import Style
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rewards.grounding import GroundingReward
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.reward import AnyReward, GroupScores, OutcomeReward
from saccade.rewards.tool_use import CodeDanceReward, DeepEyesReward
from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
from saccade.testing import (
    TINY_VIEW,
    check_environment,
    check_protocol,
    check_reward,
    check_tool,
    tiny_example,
)
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import ToolOutput, find_tool, tool_from
from saccade.types import (
    Answer,
    ExpertTurn,
    ImageRef,
    Json,
    Malformed,
    Observation,
    Score,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
)

SPECS = [tool.spec for tool in IMAGE_TOOLS]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("crop", {"bbox_2d": [10, 20, 110, 220]}),
        ("zoom", {"bbox_2d": [10, 20, 110.5, 220]}),
        ("rotate", {"degrees": 30}),
        ("flip", {"direction": "vertical"}),
        ("contrast", {"factor": 2}),
        ("draw_boxes", {"boxes": [[10, 20, 110, 220], [0, 0, 256, 256]]}),
        ("draw_points", {"points": [[0, 0], [128, 256]]}),
        ("measure", {"start": [0, 0], "end": [30, 40], "image": 1}),
    ],
)
def test_every_image_tool_keeps_the_contract(name: str, arguments: dict[str, Json]) -> None:
    check_tool(find_tool(name, IMAGE_TOOLS), [arguments])


@pytest.mark.parametrize("style", ["brief", "full"])
@pytest.mark.parametrize("make", [tagged_protocol, direct_protocol])
def test_every_protocol_keeps_the_contract(make: Callable[..., ChatProtocol], style: Style) -> None:
    check_protocol(make(style=style), SPECS)
    check_protocol(make(style=style, max_turns=3), ())


@pytest.mark.parametrize("family", [None, "counting"])
def test_the_environment_keeps_the_contract(family: str | None) -> None:
    media = MediaStore()
    tasks = None if family else [tiny_example(media, index).task for index in range(3)]
    look = '<think>look</think><tool_call>{"name": "zoom", "arguments": {"bbox_2d": [0, 0, 250, 250]}}</tool_call>'
    check_environment(
        lambda: VisualReasoningEnv(tasks=tasks, family=family, media=media, view=TINY_VIEW, max_turns=3),
        [look, "nonsense", "<think>so</think><answer>red</answer>"],
    )


async def judged_elsewhere(task: Task, trajectory: Trajectory) -> Score | None:
    await asyncio.sleep(0)
    return OutcomeReward()(task, trajectory)


@pytest.mark.parametrize(
    "reward",
    [
        OutcomeReward(),
        DeepEyesReward(),
        VistaReward(),
        GroundingReward(),
        judged_elsewhere,
        CodeDanceReward(),
        CodeDanceReward(form="code"),
        DifficultyAdaptiveReward(),
        IvgrReward(consistency=None, grounded="main"),
    ],
)
def test_every_reward_keeps_the_contract(reward: AnyReward) -> None:
    check_reward(reward)


def test_the_expert_of_a_tiny_task_sees_the_square_and_answers() -> None:
    media = MediaStore()
    seen: set[str] = set()
    for index in range(16):
        example = tiny_example(media, index)
        env = VisualReasoningEnv(media=media, view=TINY_VIEW, max_turns=2)
        env.reset(options={"task": example.task})
        for turn in example.turns:
            action = turn.action
            if isinstance(action, ToolCall):
                action = call_to_model(action, find_tool(action.name, env.tools).spec, env.images, env.view)
            _, reward, _, _, _ = env.step(env.protocol.write(ExpertTurn(thought=turn.thought, action=action)))
        assert (reward, env.status) == (1.0, "answered")
        assert (env.images[1].width, env.images[1].height) == (64, 64)
        seen.add(example.task.images[0].hash)
    assert len(seen) == 16


def test_a_tool_that_changes_its_image_is_found_out() -> None:
    def scribble(image: Image.Image) -> str:
        """Scribble on the original."""
        ImageDraw.Draw(image).line((0, 0, 50, 50), fill=(1, 2, 3))
        return "done"

    with pytest.raises(AssertionError, match="changes the image"):
        check_tool(tool_from(scribble), [{}])


def test_a_tool_of_chance_is_found_out() -> None:
    counter = itertools.count()

    def count() -> str:
        """Count the calls."""
        return str(next(counter))

    with pytest.raises(AssertionError, match="different results for the same call"):
        check_tool(tool_from(count), [{}])


def test_a_tool_that_says_nothing_or_refuses_good_calls_is_found_out() -> None:
    def nothing() -> ToolOutput:
        """Do nothing."""
        return ToolOutput()

    def refuse() -> ToolResult:
        """Refuse."""
        return ToolResult(text="no", is_ok=False)

    def forge() -> ToolResult:
        """Give an image that nobody has."""
        return ToolResult(images=(ImageRef(hash="0" * 64, width=1, height=1),))

    for function, message in (
        (nothing, "shows the model nothing"),
        (refuse, "failed on a good call: no"),
        (forge, "not in the store"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_tool(tool_from(function), [{}])
    with pytest.raises(AssertionError, match="give at least one call"):
        check_tool(tool_from(nothing), [])


def test_a_tool_that_is_too_slow_or_breaks_on_hostile_arguments_is_found_out() -> None:
    def slow() -> str:
        """Take a while."""
        return str(sum(range(200_000)))

    def divide(box: Box) -> str:
        """Divide by the width."""
        return str(1 / (box.x2 - box.x1))

    with pytest.raises(AssertionError, match="slow took"):
        check_tool(tool_from(slow, deadline_s=1e-6), [{}])
    with pytest.raises(AssertionError, match=r"divide breaks on .*division by zero"):
        check_tool(
            tool_from(divide),
            [
                {
                    "box": [0, 0, 9, 9],
                }
            ],
        )


def read_loosely(text: str) -> ParsedTurn:
    """Takes whatever stands between the last answer tags."""
    answer = text.rpartition("<answer>")[2].partition("</answer>")[0]
    return ParsedTurn(thought="", action=Answer(text=answer), is_well_formed=True)


def show_plainly(outcome: ToolResult | Malformed, images_before: int) -> Observation:
    return Observation(text=outcome.text if isinstance(outcome, ToolResult) else outcome.why)


def test_protocols_that_break_the_contract_are_found_out() -> None:
    good = tagged_protocol()
    broken = [
        (replace(good, stop=()), "no stop strings"),
        (replace(good, stop=("",)), "the empty text stops"),
        (replace(good, stop=("</think>",)), "cuts .* short"),
        (replace(good, stop=("</never>",)), "no stop string ends"),
        (replace(good, parse=read_loosely), "reads .* as"),
        (replace(good, offers_tools=False), "reads a call without tools"),
        (replace(good, prompt=lambda task, tools, view: ()), "shows 0 images of 1"),
        (replace(good, observe=show_plainly), "loses images"),
        (
            replace(
                good, observe=lambda outcome, before: replace(good.observe(outcome, before), text="<answer>x</answer>")
            ),
            "can pose as a turn",
        ),
    ]
    for protocol, message in broken:
        with pytest.raises(AssertionError, match=message):
            check_protocol(protocol, SPECS)


def answered(task: Task, trajectory: Trajectory) -> Score:
    return Score(terms=(Term("right", float(answer_is_right(task, trajectory.answer))),))


def contrary(task: Task, trajectory: Trajectory) -> Score:
    return Score(terms=(Term("wrong", OutcomeReward()(task, trajectory).total, -1.0),))


def gullible(task: Task, trajectory: Trajectory) -> Score:
    OutcomeReward()(task, trajectory)
    shown = "".join(turn.observation.text for turn in trajectory.turns if turn.observation)
    return Score(terms=(Term("shown", float("<answer>red</answer>" in shown)),))


def undefined(task: Task, trajectory: Trajectory) -> Score:
    return Score(terms=(Term("x", float("nan")),))


async def credulous_judge(task: Task, trajectory: Trajectory) -> Score | None:
    return Score(terms=(Term("right", float(trajectory.status == "answered" and trajectory.answer == "red")),))


class Jealous:
    """Pays the first of a group alone."""

    def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
        return GroupScores(
            scores={
                stream: [Score(terms=(Term("first", float(place == 0)),)) for place in range(len(members))]
                for stream, members in groups.items()
            }
        )


class JealousAsync(Jealous):
    async def score_groups(  # type: ignore[override]
        self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /
    ) -> GroupScores:
        return super().score_groups(task, groups, memory)


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (answered, "a failed trajectory is scored"),
        (contrary, "a right answer gets -1"),
        (gullible, "what a tool says changes the score"),
        (undefined, "no finite number"),
        (credulous_judge, "a failed trajectory is scored 0.0"),
        (Jealous(), "the order of siblings changes the score"),
        (JealousAsync(), "the order of siblings changes the score"),
    ],
)
def test_rewards_that_break_the_contract_are_found_out(scorer: AnyReward, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_reward(scorer)


class ForgetfulEnv(VisualReasoningEnv):
    """Never says that the turns are used up."""

    def step(self, action: str) -> tuple[VisualObservation, float, bool, bool, dict[str, object]]:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, False, info


def test_an_environment_that_forgets_its_turn_limit_is_found_out() -> None:
    media = MediaStore()
    task = tiny_example(media).task
    with pytest.raises(AssertionError, match="3 turns without an answer end as"):
        check_environment(
            lambda: ForgetfulEnv(tasks=[task], media=media, view=TINY_VIEW, max_turns=3), ["only one turn"]
        )


def test_an_environment_of_chance_is_found_out() -> None:
    counter = itertools.count()

    def count() -> str:
        """Count the calls."""
        return str(next(counter))

    media = MediaStore()
    task = tiny_example(media).task
    with pytest.raises(AssertionError, match="different episodes"):
        check_environment(
            lambda: VisualReasoningEnv(tasks=[task], media=media, view=TINY_VIEW, tools=(tool_from(count),)),
            ['<think></think><tool_call>{"name": "count", "arguments": {}}</tool_call>'],
        )
