"""Both passes of test-time scaling at a scripted engine: what each is shown, what counts, what is failed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError
from saccade.evaluation.evaluate import (
    FIRST_PASS,
    TwoPasses,
    at_engine,
    evaluation_requests,
    play,
    play_with_views,
    view_metrics,
)
from saccade.evaluation.views import CropSettings, Views
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.protocols.instructions import Style
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import tagged_protocol
from saccade.protocols.two_streams import grounded_protocol, grounded_with_crop_protocol, textual_protocol
from saccade.rewards.mentions import readable_boxes
from saccade.rewards.reward import AnyReward, OutcomeReward
from saccade.rollout.batch import PlayedAs
from saccade.rollout.episodes import RolloutSettings
from saccade.testing.scripted import ScriptedEngine, letter_chat
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import Tool, tool_from
from saccade.types import Score, Task, Term, Trajectory

CHAT = letter_chat(TINY_VIEW)
BOTH = Views(cut=CropSettings(min_side_px=1))
LEFT, RIGHT = "<box>[0,0,250,250]</box>", "<box>[500,250,1000,500]</box>"
"""In the tiny view's frame of a thousand; the scenes have 256 pixels."""
LEFT_PX, RIGHT_PX = Box(0, 0, 64, 64), Box(128, 64, 256, 128)


def turn(thought: str, answer: str = "red") -> str:
    return f"<think>{thought}</think><answer>{answer}</answer>"


def broken(far: bool) -> str:
    """Looks far away."""
    raise MachineError("the telescope is out of reach")


BREAK = '<think></think><tool_call>{"name": "broken", "arguments": {"far": true}}</tool_call>'


@dataclass(kw_only=True)
class Stage:
    """Tasks about coloured squares, and an engine that says ``first`` and ``second`` by the number of the task."""

    first: list[str]
    second: list[str]
    first_protocol: ChatProtocol = field(default_factory=grounded_protocol)
    first_tools: tuple[Tool, ...] = ()
    max_turns: int = 1
    style: Style = "full"
    views: Views = BOTH
    media: MediaStore = field(default_factory=MediaStore)

    def __post_init__(self) -> None:
        self.tasks = [tiny_example(self.media, index).task for index in range(len(self.first))]
        self.engine = ScriptedEngine(script=self.say, chat=CHAT, policy_version=7)

    def say(self, label: str, turn: int) -> str:
        task_id, stream = label.rsplit("/", 2)[0], label.rsplit("/", 2)[1]
        index = [task.id for task in self.tasks].index(task_id)
        texts = (self.first if stream == FIRST_PASS else self.second)[index]
        return texts.split("||")[turn]

    def one_pass(self, protocol: ChatProtocol, tools: tuple[Tool, ...] = (), max_turns: int = 1) -> PlayedAs:
        return PlayedAs(
            make_env=lambda: VisualReasoningEnv(
                protocol=protocol,
                tools=tools,
                media=self.media,
                view=TINY_VIEW,
                max_turns=max_turns,
                shows_pixels=False,
            ),
            settings=RolloutSettings(max_turn_tokens=5000, max_tokens=20_000, machine_retries=0),
        )

    def play(
        self,
        *,
        reward: AnyReward = OutcomeReward(format_weight=0.0),
        on_finished: Callable[[Trajectory], None] = lambda _: None,
    ) -> TwoPasses:
        return play_with_views(
            self.tasks,
            playing=at_engine(self.engine, CHAT, reward, on_finished),
            media=self.media,
            first=self.one_pass(self.first_protocol, self.first_tools, self.max_turns),
            second=self.one_pass(textual_protocol(style=self.style)),
            views=self.views,
            seed=3,
            name="look",
        )

    def plain(self) -> list[Trajectory]:
        once = self.one_pass(textual_protocol(style=self.style))
        attempts = play(
            evaluation_requests(self.tasks, seed=3, name="look"),
            engine=self.engine,
            chat=CHAT,
            make_env=once.make_env,
            settings=once.settings,
            reward=OutcomeReward(format_weight=0.0),
        )
        return [attempt.trajectory for attempt in attempts]


def test_the_second_pass_sees_the_original_then_the_crops_then_the_union_and_its_answer_counts() -> None:
    stage = Stage(first=[turn(f"a {LEFT}, b {RIGHT}", "blue")], second=[turn("so")])
    passes = stage.play()
    [views] = passes.views
    assert [(view.kind, view.box) for view in views] == [
        ("crop", LEFT_PX),
        ("crop", RIGHT_PX),
        ("union", Box(0, 0, 256, 128)),
    ]
    [first], [second] = passes.first, passes.second
    assert first.task == stage.tasks[0]
    assert second.task == replace(first.task, images=(*first.task.images, *(view.image for view in views)))
    assert second.trajectory.images == second.task.images
    assert (first.trajectory.score, second.trajectory.score) == (
        Score(terms=(Term("accuracy", 0.0), Term("format", 1.0, 0.0)), is_right=False),
        Score(terms=(Term("accuracy", 1.0), Term("format", 1.0, 0.0)), is_right=True),
    )
    assert (first.trajectory.stream, second.trajectory.stream) == ("first_pass", "evaluation")
    assert readable_boxes(first.trajectory) == (LEFT_PX, RIGHT_PX)
    assert readable_boxes(second.trajectory) == ()


def test_the_full_prompt_numbers_the_views_after_the_original() -> None:
    stage = Stage(first=[turn(f"{LEFT}{RIGHT}")], second=[turn("")])
    [second] = stage.play().second
    shown = CHAT.decode([token for token in second.trajectory.segments[0].ids if token != CHAT.image_token_id])
    assert [f"Image {number}: <|vision_start|>" in shown for number in range(1, 6)] == [True] * 4 + [False]


def test_the_brief_prompt_shows_the_views_without_a_word() -> None:
    stage = Stage(first=[turn(f"{LEFT}{RIGHT}")], second=[turn("")], style="brief")
    [second] = stage.play().second
    shown = CHAT.decode([token for token in second.trajectory.segments[0].ids if token != CHAT.image_token_id])
    assert "<|vision_start|><|vision_end|>" * 4 + "Which colour" in shown


@pytest.mark.parametrize(
    ("views", "kinds"),
    [
        (Views(union=False, cut=BOTH.cut), ["crop", "crop"]),
        (Views(crops=False, cut=BOTH.cut), ["union"]),
        (BOTH, ["crop", "crop", "union"]),
    ],
)
def test_only_the_views_that_were_asked_for_are_shown(views: Views, kinds: list[str]) -> None:
    stage = Stage(first=[turn(f"{LEFT}{RIGHT}")], second=[turn("")], views=views)
    passes = stage.play()
    assert [view.kind for view in passes.views[0]] == kinds
    assert len(passes.second[0].trajectory.images) == 1 + len(kinds)


@pytest.mark.parametrize(
    "thought",
    [
        "I see nothing.",
        "<box>[1,2,3]</box> <box>here</box>",
        "<box>[250,250,0,0]</box>",
        "<box>[500,500,500,500]</box>",
        "<box>[2000,2000,3000,3000]</box>",
        "<box>[-500,-500,9999,9999]</box>",
        "<box>[1,2,3,4]",
        LEFT + "and so on " * 1000,
    ],
    ids=["none", "unreadable", "inverted", "empty", "outside", "all", "unclosed", "cut off"],
)
def test_a_first_pass_without_a_usable_box_leaves_a_plain_evaluation_to_the_byte(thought: str) -> None:
    stage = Stage(first=[turn(thought)], second=[turn("so")])
    passes = stage.play()
    assert passes.views == ((),)
    assert [one.trajectory for one in passes.second] == stage.plain()
    assert passes.second[0].task == stage.tasks[0]


def test_boxes_count_though_the_first_pass_gave_no_answer_or_was_not_well_formed() -> None:
    stage = Stage(
        first=[f"<think>{LEFT}</think>", f"well <think>{LEFT} <box>[1]</box></think><answer>red</answer>"],
        second=[turn("", "red"), turn("", "green")],
    )
    passes = stage.play()
    assert [[view.box for view in views] for views in passes.views] == [[LEFT_PX], [LEFT_PX]]
    assert [one.trajectory.status for one in passes.first] == ["turn_limit", "answered"]
    assert [one.trajectory.score and one.trajectory.score.total for one in passes.second] == [1.0, 1.0]


def test_a_box_in_the_answer_is_no_view() -> None:
    assert Stage(first=[turn("", LEFT)], second=[turn("")]).play().views == ((),)


def test_a_hundred_boxes_show_no_more_than_the_settings_allow() -> None:
    boxes = "".join(f"<box>[{10 * n},{10 * n},{10 * n + 9},{10 * n + 9}]</box>" for n in range(100))
    stage = Stage(first=[turn(boxes)], second=[turn("")])
    [views] = stage.play().views
    assert [view.kind for view in views] == ["crop"] * 8 + ["union"]


def test_the_boxes_of_all_turns_are_shown() -> None:
    look = '<tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'
    stage = Stage(
        first=[f"<think>{LEFT}</think>{look}||{turn(RIGHT)}"],
        second=[turn("")],
        first_protocol=grounded_with_crop_protocol(),
        first_tools=(tool_from(crop),),
        max_turns=2,
    )
    passes = stage.play()
    assert [view.box for view in passes.views[0]] == [LEFT_PX, RIGHT_PX, Box(0, 0, 256, 128)]
    # What the tool gave in the first pass is gone in the second.
    assert len(passes.second[0].trajectory.images) == 4


def test_where_the_machine_failed_the_first_pass_the_second_is_failed_unplayed_and_the_others_go_on() -> None:
    stage = Stage(
        first=[turn(LEFT), BREAK, turn("none")],
        second=[turn("", "red"), "never asked", turn("", "blue")],
        first_protocol=tagged_protocol(),
        first_tools=(tool_from(broken),),
        max_turns=2,
    )
    finished: list[tuple[str, str]] = []
    passes = stage.play(on_finished=lambda one: finished.append((one.task_id, one.stream)))
    failed = passes.second[1].trajectory
    assert [one.trajectory.status for one in passes.second] == ["answered", "failed", "answered"]
    assert failed.failure.startswith("the first pass failed: ")
    assert "the telescope is out of reach" in failed.failure
    assert (failed.score, failed.turns, failed.segments, failed.policy_version) == (None, (), (), 7)
    assert failed.task_id == passes.second[1].task.id == stage.tasks[1].id
    assert [one.trajectory.task_id for one in passes.second] == [task.id for task in stage.tasks]
    assert sorted(finished) == sorted(
        [(task.id, "first_pass") for task in stage.tasks]
        + [(stage.tasks[0].id, "evaluation")]
        # The second task is not played again.
        + [(stage.tasks[2].id, "evaluation")]
    )
    assert view_metrics(passes) == {"views/crops": 0.0, "views/union": 0.0, "views/none": 1.0}


def test_a_task_without_images_is_asked_twice_and_shown_nothing() -> None:
    stage = Stage(first=[turn(LEFT)], second=[turn("so")])
    stage.tasks = [replace(stage.tasks[0], images=())]
    passes = stage.play()
    assert passes.views == ((),)
    assert passes.second[0].trajectory.images == ()


def test_views_of_a_question_on_several_images_are_of_the_first_and_come_after_all() -> None:
    stage = Stage(first=[turn(LEFT)], second=[turn("so")])
    other = tiny_example(stage.media, 5).task.images[0]
    stage.tasks = [replace(stage.tasks[0], images=(*stage.tasks[0].images, other))]
    [second] = stage.play().second
    first, shown_other, view = second.trajectory.images
    assert (first, shown_other) == stage.tasks[0].images
    pixels = stage.media.get(first).crop((0, 0, 64, 64))
    assert stage.media.get(view).tobytes() == pixels.tobytes()


def test_nothing_to_play_is_nothing_played() -> None:
    passes = Stage(first=[], second=[]).play()
    assert passes == TwoPasses(first=(), views=(), second=())
    assert view_metrics(passes) == {"views/crops": 0.0, "views/union": 0.0, "views/none": 0.0}


def test_metrics_count_crops_unions_and_questions_without_views() -> None:
    stage = Stage(first=[turn(f"{LEFT}{RIGHT}"), turn(LEFT), turn(""), turn("")], second=[turn("")] * 4)
    assert view_metrics(stage.play()) == {"views/crops": 0.75, "views/union": 0.25, "views/none": 0.5}


def test_seeds_of_the_passes_differ_and_depend_on_the_task_alone() -> None:
    three = Stage(first=[turn(LEFT)] * 3, second=[turn("")] * 3).play()
    one = Stage(first=[turn("")], second=[turn("")]).play()
    seeds = [attempt.trajectory.seed for attempt in (*three.first, *three.second)]
    assert len(set(seeds)) == 6
    assert [one.first[0].trajectory.seed, one.second[0].trajectory.seed] == [seeds[0], seeds[3]]


def test_a_first_pass_that_only_the_judge_failed_has_its_second_pass() -> None:
    async def judge(task: Task, trajectory: Trajectory) -> Score | None:
        return None if trajectory.stream == FIRST_PASS else OutcomeReward(format_weight=0.0)(task, trajectory)

    passes = Stage(first=[turn(LEFT)], second=[turn("so")]).play(reward=judge)
    [first], [second] = passes.first, passes.second
    assert (first.trajectory.status, first.trajectory.failure) == ("failed", "the reward gave no verdict")
    assert (second.trajectory.status, len(second.task.images)) == ("answered", 2)
    assert view_metrics(passes)["views/crops"] == 1.0


def test_a_reward_is_told_of_both_passes() -> None:
    seen: list[tuple[str, int]] = []

    def reward(task: Task, trajectory: Trajectory) -> Score:
        seen.append((trajectory.stream, len(task.images)))
        return Score(terms=(Term("one", 1.0),))

    Stage(first=[turn(LEFT)], second=[turn("")]).play(reward=reward)
    assert seen == [("first_pass", 1), ("evaluation", 2)]
