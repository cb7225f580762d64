"""Questions without a picture beside questions with one; an environment that cannot be imitated in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.config import RecipeContext, split_held_out, without_held_out
from saccade.errors import ToolError, UserError
from saccade.evaluation.views import Views
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths
from saccade.tasks.curriculum import InOrder, Shuffled
from saccade.testing.tasks import TINY_VIEW
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, RLStage, SFTStage, Stage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings, SFTSettings
from saccade.types import Answer, Example, ExpertTurn, Task

MEDIA = MediaStore()
LIMITS = RolloutSettings(max_turn_tokens=6, max_tokens=200)
LOOKING = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=LIMITS, max_turns=2)


def task(name: str, *, has_picture: bool, question: str = "Which colour?") -> Task:
    images = (MEDIA.add(Image.new("RGB", (64, 64), name)),) if has_picture else ()
    return Task(id=name, family="f", question=question, answer=name, answer_kind="exact", images=images)


TASKS = [task("red", has_picture=True), task("blue", has_picture=False, question="Which colour has the sky?")]


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def build_model() -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["Which colour has the sky?"] * 9, MEDIA, size=size, vocab_size=300, seed=4)


def run(out: Path, *stages: Stage) -> RunPaths:
    plan = Plan(title="t", settings=Nothing(), build_model=build_model, stages=stages)
    run_plan(plan, out=out, media=MEDIA, seed=0, progress=Progress("quiet"))
    return RunPaths(root=out)


def imitation(episodes: EpisodeSpec) -> SFTStage:
    def shown(index: int, _: float) -> Demonstration:
        asked = TASKS[index % 2]
        answer = ExpertTurn(thought="", action=Answer(text=asked.answer))
        return Demonstration(example=Example(task=asked, turns=(answer,)), episodes=episodes)

    return SFTStage(name="sft", source=shown, settings=SFTSettings(steps=1, batch_size=4))


def learning(tasks: Sequence[Task], episodes: EpisodeSpec, *, micro_batch_tokens: int = 4096) -> RLStage:
    return RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=lambda: InOrder(lambda index: tasks[index % len(tasks)]),
        reward=OutcomeReward(),
        settings=RLSettings(
            steps=1, tasks_per_step=2, group_size=2, optimizer=OptimizerSettings(micro_batch_tokens=micro_batch_tokens)
        ),
    )


@pytest.mark.parametrize("tasks", [TASKS, TASKS[1:]], ids=["mixed", "text alone"])
def test_questions_without_a_picture_are_imitated_learnt_from_and_measured(tmp_path: Path, tasks: list[Task]) -> None:
    measured = Evaluate(name="after", tasks=lambda: tasks, episodes=LOOKING, reward=OutcomeReward())
    paths = run(tmp_path / "run", imitation(LOOKING), learning(tasks, LOOKING), measured)
    records = list(read_records(paths.evaluation("after")))
    assert [record.task for record in records] == tasks
    assert [record.trajectory.status != "failed" for record in records] == [True] * len(tasks)


def test_a_second_look_at_no_picture_asks_in_words_alone(tmp_path: Path) -> None:
    one_turn = EpisodeSpec(protocol=textual_protocol(style="brief"), rollout=LIMITS, max_turns=1)
    grounded = replace(one_turn, protocol=grounded_protocol(style="brief"))
    twice = Evaluate(
        name="twice",
        tasks=lambda: TASKS,
        episodes=one_turn,
        reward=OutcomeReward(),
        first_pass=grounded,
        views=Views(crops=True, union=True),
    )
    paths = run(tmp_path / "run", imitation(one_turn), twice)
    assert [record.trajectory.images for record in read_records(paths.evaluation("twice"))][1] == ()


def test_a_text_that_does_not_fit_says_so_without_a_word_of_pictures(tmp_path: Path) -> None:
    crowded = replace(LOOKING, rollout=RolloutSettings(max_turn_tokens=4, max_tokens=10))
    with pytest.raises(UserError) as caught:
        run(tmp_path / "run", replace(learning(TASKS[1:], crowded), questions=lambda: Shuffled(TASKS[1:], seed=0)))
    assert "picture" not in str(caught.value)


def test_the_imitation_says_what_an_environment_lacks(tmp_path: Path) -> None:
    class Mute:
        """Takes turns, and writes none."""

        prompt, turns, stop = (), (), ()

        def reset(self, **_: object) -> tuple[str, dict[str, object]]:
            return "", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
            return "", 0.0, True, False, {}

        def close(self) -> None: ...

    with pytest.raises(UserError, match=r"nothing can be imitated in Mute, .* write_turn"):
        run(tmp_path / "run", imitation(replace(LOOKING, make_env=lambda _: Mute())))


def test_questions_of_one_text_are_held_out_together() -> None:
    asked = [task(f"{name}", has_picture=False, question=f"q{number // 2}") for number, name in enumerate("abcdefgh")]
    training, held_out = split_held_out(asked, 0.5, RecipeContext())
    assert {one.question for one in training}.isdisjoint(one.question for one in held_out)
    assert sorted(one.id for one in (*training, *held_out)) == list("abcdefgh")
    assert without_held_out(asked, held_out, lambda one: one, what="questions") == training


def test_a_tool_on_images_says_that_there_is_none() -> None:
    env = LOOKING.environment(MEDIA, TINY_VIEW)
    env.reset(options={"task": TASKS[1]})
    env.step('<think>look</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>')
    assert env.turns[0].result is None
    with pytest.raises(ToolError, match="there is no image that it could be called on"):
        tool_from(crop).bind({"bbox_2d": [0, 0, 9, 9]}, ())
