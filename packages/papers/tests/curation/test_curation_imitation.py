"""Trajectories to imitate: played with real tools, kept when right, thought out at length or left as they are."""

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.codec.codecs import plain_json
from saccade.curation.examples import read_tool_examples
from saccade.curation.journal import FAILURES_IN_A_ROW, Journal
from saccade.curation.reports import ImitationReport
from saccade.curation.vista.densifying import Refused, SeenTurn, at_length, densified_turns
from saccade.curation.vista.imitation import (
    Imitation,
    Player,
    VistaImitationSettings,
    expert_player,
    imitable_from,
    teacher_player,
)
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.miniature.gym import VistaQuestions, gym_tools
from saccade.miniature.gym_lessons import careful
from saccade.protocols.tagged import tagged_protocol, write
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.tasks.files import read_tasks
from saccade.testing.scripted import ScriptedTeacher, text_of
from saccade.types import Answer, Example, ExpertTurn, Message, Task, ToolCall

TOOLS = tuple(gym_tools().values())
DENSE = "I ask myself what is wanted here and which of the tools can tell me that"
ONE_AT_A_TIME = VistaImitationSettings(questions_at_once=1)


class Gym:
    """A few drawn questions with their careful experts, in a folder of their own."""

    def __init__(self, folder: Path, count: int = 3, types: tuple[str, ...] = ("chart", "document")) -> None:
        self.folder = folder
        self.media = MediaStore()
        asked = VistaQuestions(seed=4, media=self.media, types=types)
        drawn = [asked.example("train", number) for number in range(count)]
        self.experts = {one.task.id: careful(one) for one in drawn}
        self.tasks = [one.task for one in drawn]

    def expert_of(self, messages: Sequence[Message]) -> Example:
        text = text_of(messages)
        return next(one for one in self.experts.values() if one.task.question in text)

    def next_turn(self, messages: Sequence[Message]) -> str:
        """What the expert does after the turns that the messages hold."""
        done = sum(message.role == "assistant" for message in messages)
        return write(self.expert_of(messages).turns[done])

    def run(
        self,
        player: Player,
        *,
        densifier: ScriptedTeacher | None = None,
        settings: VistaImitationSettings = ONE_AT_A_TIME,
        resume: bool = False,
    ) -> ImitationReport:
        def make_env(seed: int) -> VisualReasoningEnv:
            return VisualReasoningEnv(
                protocol=tagged_protocol(max_turns=3),
                tools=TOOLS,
                media=self.media,
                view=ORIGINAL_VIEW,
                max_turns=3,
                seed=seed,
                shows_pixels=False,
            )

        imitation = Imitation(
            player=player, make_env=make_env, media=self.media, densifier=densifier, settings=settings
        )
        with Journal(self.folder, {"seed": 0}, imitable_from, resume=resume) as journal:
            return asyncio.run(imitation.run(self.tasks, journal))

    def examples(self) -> Sequence[Example]:
        # A fresh process would know nothing but the folder.
        return read_tool_examples(self.folder, MediaStore())


def dense_reply(example: Example) -> str:
    return "".join(f"<turn>{write(replace(turn, thought=f'{DENSE}. {turn.thought}'))}</turn>" for turn in example.turns)


@pytest.fixture
def gym(tmp_path: Path) -> Gym:
    return Gym(tmp_path / "out")


def asks(gym: Gym, settings: VistaImitationSettings = ONE_AT_A_TIME, **said: str) -> tuple[ScriptedTeacher, Player]:
    """A teacher that does as the expert, but for the first turn of the ``nth`` question asked."""
    numbers = itertools.count(1)

    def reply(messages: Sequence[Message]) -> str:
        other = said.get(f"reply{next(numbers)}")
        return other if other is not None else gym.next_turn(messages)

    teacher = ScriptedTeacher(reply=reply)
    return teacher, teacher_player(teacher, settings)


def test_an_experts_calls_are_really_run_and_its_examples_read_back(gym: Gym) -> None:
    report = gym.run(expert_player(lambda task: gym.experts[task.id]))
    assert (report.questions, report.kept, report.dense, report.failed) == (3, 3, 0, 0)
    assert sum(report.tools.values()) == sum(len(one.turns) - 1 for one in gym.experts.values())
    assert [(one.task.id, one.turns) for one in gym.examples()] == [
        (one.task.id, one.turns) for one in gym.experts.values()
    ]
    # The file is one of questions too.
    tasks = read_tasks(gym.folder / "examples.jsonl", media=MediaStore()).tasks
    assert [task.answer for task in tasks] == [task.answer for task in gym.tasks]
    assert json.loads((gym.folder / "report.json").read_text()) == plain_json(report)
    assert (gym.folder / "report.txt").read_text().startswith("3 examples of 3 questions, 0 with long thoughts\n")


def test_a_teacher_plays_turn_by_turn_and_reads_what_tools_say(gym: Gym) -> None:
    teacher, player = asks(gym)
    assert gym.run(player).kept == 3
    first = gym.experts[gym.tasks[0].id]
    assert len(teacher.asked) == sum(len(one.turns) for one in gym.experts.values())
    assert "answer_chart" in teacher.asked[0].text
    last = teacher.asked[len(first.turns) - 1].messages
    assert [message.role for message in last[-2:]] == ["assistant", "user"]
    assert first.task.answer in text_of(last[-1:])


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("<think>so</think><answer>-1</answer>", "wrong_answer"),
        ("<answer>1</answer>", "ill_formed"),
        ("I do not know", "ill_formed"),
        ('<think>so</think><tool_call>{"name": "read_bars", "arguments": {"color": "red"}}</tool_call>', "failed_run"),
        ('<think>so</think><tool_call>{"name": "read_cells", "arguments": {"line": "row", "number": 9}}</tool_call>',
         "failed_run"),
    ],
)  # fmt: skip
def test_a_try_that_is_wrong_in_any_way_is_counted_and_made_again(gym: Gym, said: str, reason: str) -> None:
    _, player = asks(gym, reply1=said)
    report = gym.run(player)
    assert (report.kept, dict(report.tries)) == (3, {reason: 1})


def test_what_is_never_right_is_given_up_and_a_right_guess_calls_no_tool(gym: Gym) -> None:
    settings = replace(ONE_AT_A_TIME, attempts=2)
    guess = ScriptedTeacher(
        reply=lambda messages: f"<think>so</think><answer>{gym.expert_of(messages).task.answer}</answer>"
    )
    report = gym.run(teacher_player(guess, settings), settings=settings)
    assert (report.kept, dict(report.given_up), dict(report.tries)) == (0, {"no_call": 3}, {"no_call": 6})
    assert (gym.folder / "examples.jsonl").read_text() == ""
    other = Gym(gym.folder.parent / "other")
    free = replace(settings, needs_call=False)
    guess = ScriptedTeacher(
        reply=lambda messages: f"<think>so</think><answer>{other.expert_of(messages).task.answer}</answer>"
    )
    assert other.run(teacher_player(guess, free), settings=free).kept == 3


def test_thoughts_are_written_anew_and_nothing_else(gym: Gym) -> None:
    densifier = ScriptedTeacher(reply=lambda messages: dense_reply(gym.expert_of(messages)))
    report = gym.run(expert_player(lambda task: gym.experts[task.id]), densifier=densifier)
    assert (report.kept, report.dense) == (3, 3)
    for one in gym.examples():
        before = gym.experts[one.task.id]
        assert [turn.action for turn in one.turns] == [turn.action for turn in before.turns]
        assert [turn.thought for turn in one.turns] == [f"{DENSE}. {turn.thought}" for turn in before.turns]


def test_a_refused_rewriting_is_tried_again_and_then_the_terse_thoughts_stay_or_all_goes(gym: Gym) -> None:
    def reply(messages: Sequence[Message]) -> str:
        return dense_reply(gym.expert_of(messages)).replace("<answer>", "<answer>1")

    report = gym.run(expert_player(lambda task: gym.experts[task.id]), densifier=ScriptedTeacher(reply=reply))
    assert (report.kept, report.dense, dict(report.tries)) == (3, 0, {"changed": 6})
    assert gym.examples()[0].turns == gym.experts[gym.tasks[0].id].turns
    strict = replace(ONE_AT_A_TIME, keeps_terse=False)
    other = Gym(gym.folder.parent / "other")
    report = other.run(
        expert_player(lambda task: other.experts[task.id]), densifier=ScriptedTeacher(reply=reply), settings=strict
    )
    assert (report.kept, dict(report.given_up)) == (0, {"changed": 3})


def test_a_killed_curation_goes_on_and_asks_nothing_twice(gym: Gym) -> None:
    def failing(messages: Sequence[Message]) -> str:
        if gym.expert_of(messages).task.id != gym.tasks[0].id:
            raise KeyboardInterrupt
        return gym.next_turn(messages)

    with pytest.raises(KeyboardInterrupt):
        gym.run(teacher_player(ScriptedTeacher(reply=failing), ONE_AT_A_TIME))
    teacher, player = asks(gym)
    with pytest.raises(UserError, match="--resume"):
        gym.run(player)
    report = gym.run(player, resume=True)
    assert (report.kept, report.failed) == (3, 0)
    assert len(teacher.asked) == sum(len(gym.experts[task.id].turns) for task in gym.tasks[1:])


def test_what_the_machine_fails_is_left_for_the_next_run(tmp_path: Path) -> None:
    gym = Gym(tmp_path / "out", count=FAILURES_IN_A_ROW - 1, types=("spatial",))

    def down(messages: Sequence[Message]) -> str:
        raise MachineError("the server is down")

    report = gym.run(teacher_player(ScriptedTeacher(reply=down), ONE_AT_A_TIME))
    assert (report.kept, report.failed) == (0, FAILURES_IN_A_ROW - 1)
    assert "resume to try them again" in report.describe()
    assert gym.run(expert_player(lambda task: gym.experts[task.id]), resume=True).kept == FAILURES_IN_A_ROW - 1


# What a rewriting may not do

IMAGE = MediaStore().add(Image.new("RGB", (32, 32), (90, 90, 90)))
TASK = Task(
    id="t",
    family="chart",
    question="How much higher is red than blue?",
    answer="33",
    answer_kind="integer",
    images=(IMAGE,),
)
READ = ExpertTurn(thought="red blue", action=ToolCall(name="read_bars", arguments={"colours": "red blue"}))
WORK = ExpertTurn(thought="73 and 40", action=ToolCall(name="calculate", arguments={"expression": "73-40"}))
SAY = ExpertTurn(thought="33", action=Answer(text="33"))
SEEN = (SeenTurn(turn=READ, shown="73 40"), SeenTurn(turn=WORK, shown="33"), SeenTurn(turn=SAY))
LONG = ("First I read both of the bars", "They are 73 and 40, so I subtract", "The difference is 33, as it should be")


def reply(*thoughts: str, change: Callable[[str], str] = lambda text: text) -> str:
    turns = (replace(one.turn, thought=thought) for one, thought in zip(SEEN, thoughts))
    return change("\n".join(f"<turn>{write(turn)}</turn>" for turn in turns))


def refused(text: str, task: Task = TASK, seen: Sequence[SeenTurn] = SEEN) -> str:
    read = densified_turns(task, seen, text)
    assert isinstance(read, Refused)
    return read.reason


def test_a_good_rewriting_is_taken_and_the_prompt_shows_all_turns() -> None:
    read = densified_turns(TASK, SEEN, f"Here it is:\n{reply(*LONG)}\nDone.")
    assert not isinstance(read, Refused)
    assert [turn.thought for turn in read] == list(LONG)
    assert [turn.action for turn in read] == [READ.action, WORK.action, SAY.action]
    [message] = at_length(TASK, SEEN)
    text = text_of([message])
    assert text.count("(the tool then said:") == 2
    assert "Write exactly 3 turns" in text
    assert message.parts[0] == IMAGE


def test_a_call_or_an_answer_that_is_not_the_same_is_refused() -> None:
    assert refused(reply(*LONG, change=lambda text: text.replace("73-40", "40-73"))) == "changed"
    assert refused(reply(*LONG, change=lambda text: text.replace("<answer>33", "<answer>34"))) == "changed"
    assert refused(reply(*LONG, change=lambda text: text.replace("read_bars", "read_cells"))) == "changed"


def test_what_is_no_trajectory_of_as_many_turns_is_refused() -> None:
    assert refused("") == "unreadable"
    assert refused(reply(*LONG[:2])) == "unreadable"
    assert refused(reply(*LONG, change=lambda text: text.replace("</think>", "", 1))) == "unreadable"
    assert refused(reply(*LONG, change=lambda text: text.replace("<think>", "So: <think>", 1))) == "unreadable"
    assert refused("<turn>" * 3 + "x" * (1 << 18)) == "unreadable"


@pytest.mark.parametrize(
    "thought",
    ["The bars will be 73 and 40, let me read them", "It must be 33 in the end", "One is 40 higher than the other"],
)
def test_a_thought_that_knows_what_comes_later_is_refused(thought: str) -> None:
    assert refused(reply(thought, *LONG[1:])) == "leaked"


def test_an_answer_in_words_leaks_too_but_not_where_the_question_names_it() -> None:
    seen = (SeenTurn(turn=READ, shown="Ohio"), SeenTurn(turn=replace(SAY, action=Answer(text="Ohio"))))
    task = replace(TASK, question="Which state is it?", answer="Ohio", answer_kind="exact")

    def told(first: str) -> str:
        turns = (replace(seen[0].turn, thought=first), replace(seen[1].turn, thought="It says Ohio, so Ohio it is"))
        return "".join(f"<turn>{write(turn)}</turn>" for turn in turns)

    assert refused(told("It looks like Ohio to me, I check"), task, seen) == "leaked"
    assert not isinstance(densified_turns(task, seen, told("I look at the bars first")), Refused)
    named = replace(task, question="Is it Ohio or Iowa?")
    assert not isinstance(densified_turns(named, seen, told("It may be Ohio or Iowa, I check")), Refused)


def test_talk_of_the_terse_version_shorter_thoughts_and_loops_are_refused() -> None:
    assert refused(reply(LONG[0], LONG[1], "33 is the expected answer, as given")) == "told_of"
    assert refused(reply("I rewrite the original reasoning here", *LONG[1:])) == "told_of"
    assert refused(reply("red", *LONG[1:])) == "not_longer"
    assert refused(reply(*(one.turn.thought for one in SEEN))) == "not_longer"
    assert refused(reply("and so on " * 40, *LONG[1:])) == "repeats"


def test_settings_that_mean_nothing_are_told() -> None:
    with pytest.raises(UserError, match="attempts=0"):
        VistaImitationSettings(attempts=0).check()
    with pytest.raises(UserError, match="densifier_temperature"):
        VistaImitationSettings(densifier_temperature=-1).check()
