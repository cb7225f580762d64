"""The VISTA-R1 recipe: the paper's settings, the miniature and its switches, the tail patch, data sets and tools."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.config.context import RecipeContext
from saccade.curation.examples import tool_example_row
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.gym import SLOW_TYPES, TASK_TYPES, TOOL_FAMILIES, VistaQuestions
from saccade.miniature.gym_lessons import LOOPS, VistaLessons, lessons_on
from saccade.miniature.vista_r1 import TinyVistaSettings, tiny
from saccade.models.checkpoint import base_checkpoint
from saccade.recipes.vista_r1 import vista_r1
from saccade.recipes.vista_settings import VistaSettings
from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import Question, TaskSampler
from saccade.tasks.tail_patch import EasyToHard, pass_rates
from saccade.train.plan import Evaluate, Plan, RLStage, SFTStage
from saccade.train.recipe_loading import load_recipe
from saccade.train.run import run_plan
from saccade.types import Answer, Example, ExpertTurn, Task, ToolCall

SMALL = (
    "sft.steps=2",
    "sft.batch_size=7",
    "sft_questions=14",
    "rl.steps=1",
    "rl.tasks_per_step=3",
    "rl.group_size=2",
    "rl_questions=5",
    "rl.checkpoint_every=1",
    "tail.steps=3",
    "tail.samples=2",
    "evaluation_tasks=7",
    "curve_tasks=7",
    "size.hidden=32",
    "size.mlp=64",
)


def planned(*settings: str, model: Path | None = None) -> tuple[Plan, RecipeContext]:
    context = RecipeContext(overrides=(*SMALL, *settings), model=model)
    plan = tiny(context)
    plan.check()
    return plan, context


def names(plan: Plan) -> list[str]:
    return [stage.name for stage in plan.stages]


def stage(plan: Plan, name: str) -> RLStage:
    found = next(one for one in plan.stages if one.name == name)
    assert isinstance(found, RLStage)
    return found


def test_the_defaults_are_the_papers() -> None:
    settings = VistaSettings()
    rl, sft = settings.rl, settings.sft
    assert (rl.steps, rl.tasks_per_step, rl.group_size, rl.temperature) == (300, 128, 8, 0.7)
    assert (rl.optimizer.learning_rate, rl.algorithm.name, rl.algorithm.options.kl_weight) == (5e-7, "grpo", 1e-3)
    assert (sft.batch_size, sft.optimizer.learning_rate, sft.steps) == (128, 2e-6, -(-22_170 // 128))
    assert (settings.max_turns, settings.reward, settings.rollout.tool_threads) == (3, "sum", 24)
    assert (settings.tail.samples, settings.tail.low, settings.tail.high) == (8, 0.125, 0.375)


def test_both_recipes_have_names() -> None:
    assert load_recipe("vista_r1:tiny")(RecipeContext()).title == "A tiny model learns when to call which tool"
    with pytest.raises(UserError, match="--model PATH and --data PATH"):
        load_recipe("vista_r1")(RecipeContext())


def test_a_miniature_has_all_stages_and_decoding_stops_at_a_call() -> None:
    plan, _ = planned()
    assert names(plan) == ["before", "sft", "after_sft", "rl", "after_rl", "pass_rates", "tail", "after_tail"]
    [stream] = stage(plan, "rl").streams
    assert "</tool_call>" in stream.episodes.protocol.stop
    assert stream.episodes.max_turns == 3
    assert stage(plan, "rl").settings.steps == 1
    assert stage(plan, "tail").settings.steps == 3


def test_switches_choose_stages_tools_reward_and_algorithm() -> None:
    assert names(planned("stages=sft")[0]) == ["before", "sft", "after_sft"]
    assert names(planned("stages=rl,tail", "tail.easy_to_hard=false")[0]) == ["rl", "after_rl", "tail", "after_tail"]
    assert names(planned(model=base_checkpoint())[0])[:2] == ["rl", "after_rl"]
    rewards = {name: stage(planned(f"reward={name}")[0], "rl").reward for name in ("dense", "sparse", "difficulty")}
    assert rewards == {
        "dense": VistaReward(form="dense"),
        "sparse": VistaReward(form="sparse"),
        "difficulty": DifficultyAdaptiveReward(),
    }
    assert stage(planned("rl.algorithm.name=ppo")[0], "rl").applied_algorithm.critic is not None
    families = planned("tool_families=charts")[0]
    offered = [tool.spec.name for tool in stage(families, "rl").streams[0].episodes.tools]
    assert offered == list(TOOL_FAMILIES["charts"])
    measured = families.stages[0]
    assert isinstance(measured, Evaluate)
    assert len(measured.episodes.tools) == 29
    without, _ = planned("with_tools=false")
    assert stage(without, "rl").streams[0].episodes.tools == ()
    assert stage(without, "rl").streams[0].episodes.max_turns == 1


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("stages=rl,sft", "in this order"),
        ("task_types=maps", "none of chart"),
        ("tool_families=chart", "none of perception"),
        ("tail.samples=1", "tail.samples=1"),
        ("lessons.guess_share=0.9", "must not be more than 1 together"),
        ("max_turns=0", "max_turns=0"),
    ],
)
def test_wrong_settings_are_told_before_any_work(setting: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        planned(setting)


def test_one_type_of_task_alone_is_asked_in_reinforcement_and_all_are_measured() -> None:
    plan, _ = planned("task_types=geometry")
    asked = stage(plan, "rl").questions().sample(5)
    assert {question.task.family for question in asked} == {"triangle_angles"}
    measured = plan.stages[0]
    assert isinstance(measured, Evaluate)
    assert {task.family for task in measured.tasks()} == set(TASK_TYPES.values())


def test_no_question_of_the_imitation_comes_again() -> None:
    plan, _ = planned()
    imitation = next(one for one in plan.stages if isinstance(one, SFTStage))
    shown = {one.example.task.id for step in range(2) for one in imitation.demonstrations(step)}
    asked = {question.task.id for question in stage(plan, "rl").questions().sample(5)}
    assert len(shown) == 14
    assert len(asked) == 5
    assert shown.isdisjoint(asked)


def lessons(
    lessons: VistaLessons, *, progress: float, with_tools: bool = True, reasoning: bool = True
) -> list[Example]:
    asked = VistaQuestions(seed=0, media=MediaStore())
    lesson = lessons_on(
        asked, lessons, questions=70, slow_questions=10, seed=0, with_tools=with_tools, reasoning=reasoning
    )
    return [lesson(number, progress) for number in range(70)]


def test_experts_are_careful_at_first_and_careless_in_the_end() -> None:
    always = VistaLessons(guess_share=0.5, wrong_tool_share=0.2, short_share=0.3)
    careful = lessons(always, progress=0.0)
    careless = lessons(always, progress=1.0)
    assert all(one.turns[-1].action == Answer(text=one.task.answer) for one in careful)
    right = [one for one in careless if one.turns[-1].action == Answer(text=one.task.answer)]
    assert 10 <= len(right) <= 45
    assert {len(one.turns) for one in careful} == {1, 2, 3}
    assert sum(len(one.turns) == 1 for one in careless) > 20


def test_an_expert_may_go_round_in_circles_when_it_answers() -> None:
    shown = lessons(VistaLessons(loop_share=0.5), progress=1.0)
    ends = [one.turns[-1].thought for one in shown]
    looping = [thought for thought in ends if thought.endswith(LOOPS)]
    assert 20 < len(looping) < 50
    assert {loop for loop in LOOPS for thought in looping if thought.endswith(loop)} == set(LOOPS)
    assert not any(one.turns[-1].thought.endswith(LOOPS) for one in lessons(VistaLessons(), progress=1.0))


def test_of_questions_whose_tools_are_slow_a_few_come_again() -> None:
    asked = VistaQuestions(seed=0, media=MediaStore())
    lesson = lessons_on(asked, VistaLessons(), questions=70, slow_questions=2, seed=0, with_tools=True, reasoning=True)
    shown = [lesson(number, 0.0).task for number in range(70)]
    different = {family: len({task.id for task in shown if task.family == family}) for family in TASK_TYPES.values()}
    slow = {TASK_TYPES[kind] for kind in SLOW_TYPES}
    assert different == {family: 2 if family in slow else 10 for family in TASK_TYPES.values()}


def test_without_reasoning_nothing_is_thought_and_without_tools_nothing_is_called() -> None:
    silent = lessons(VistaLessons(), progress=0.0, reasoning=False)
    assert {turn.thought for one in silent for turn in one.turns} == {""}
    assert any(isinstance(turn.action, ToolCall) for one in silent for turn in one.turns)
    assert all(len(one.turns) == 1 for one in lessons(VistaLessons(), progress=0.0, with_tools=False))


class Dying:
    """Questions that end the process's run when they are drawn from for the second time."""

    def __init__(self, inner: TaskSampler) -> None:
        self._inner = inner
        self._draws = 0

    def sample(self, count: int) -> list[Question]:
        self._draws += 1
        if self._draws == 2:
            raise KeyboardInterrupt
        return self._inner.sample(count)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def test_a_run_that_dies_in_the_tail_patch_ends_like_one_that_was_left_alone(tmp_path: Path) -> None:
    def run(name: str, *, dies: bool = False, resume: bool = False) -> Plan:
        plan, context = planned("stages=tail", "rollout.max_turn_tokens=8")
        if dies:
            tail = stage(plan, "tail")
            dying = replace(tail, questions=lambda: Dying(tail.questions()))  # type: ignore[arg-type, return-value]
            plan = replace(plan, stages=tuple(dying if one is tail else one for one in plan.stages))
        run_plan(plan, out=tmp_path / name, media=context.media, seed=0, resume=resume, progress=Progress("quiet"))
        return plan

    whole = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("died", dies=True)
    run("died", resume=True)
    for file in ("evaluations/pass_rates.jsonl", "evaluations/after_tail.jsonl"):
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "died" / file).read_bytes()
    weights = [
        next((tmp_path / name / "checkpoints" / "tail-000003").rglob("model.safetensors")).read_bytes()
        for name in ("whole", "died")
    ]
    assert weights[0] == weights[1]
    attempts = list(read_records(tmp_path / "whole" / "evaluations" / "pass_rates.jsonl"))
    assert len(attempts) == 5 * 2
    assert [attempt.trajectory.sample for attempt in attempts] == [0, 1] * 5
    # Each sample of a question has a seed of its own.
    assert len({attempt.trajectory.seed for attempt in attempts}) == 10
    questions = stage(whole, "tail").questions()
    assert isinstance(questions, EasyToHard)
    rates = pass_rates(attempts)
    asked = [rates[question.task.id] for question in questions.sample(3)]
    assert asked == sorted(asked, reverse=True)


# The recipe on files


def mapqa(folder: Path, split: str, count: int, *, shade: int) -> None:
    """A release of MapQA in its layout."""
    (folder / "mapqa" / "images").mkdir(parents=True, exist_ok=True)
    (folder / "mapqa" / "questions").mkdir(exist_ok=True)
    rows = []
    for number in range(count):
        name = f"{split}{number}.png"
        Image.new("RGB", (64, 64), (shade, 9 * number, 90)).save(folder / "mapqa" / "images" / name)
        rows.append(
            {
                "question_id": f"{split}{number}",
                "map_id": name,
                "question": f"Which state has the highest value in map {number}?",
                "answer": "Ohio",
                "question_template_id": "all-states",
            }
        )
    (folder / "mapqa" / "questions" / f"{split}-QA.json").write_text(json.dumps(rows))


def tools_file(folder: Path) -> Path:
    path = folder / "tools.toml"
    path.write_text("[tools.crop]\n[tools.solve_geometry]\n")
    return path


def shown_examples(folder: Path, count: int = 3) -> Path:
    """Trajectories of a crop and an answer."""
    folder.mkdir()
    media, rows = MediaStore(), []
    for number in range(count):
        image = media.add(Image.new("RGB", (64, 64), (10 * number, 20, 30)))
        media.export(image, folder / "images")
        task = Task(
            id=f"shown{number}",
            family="mapqa",
            question="Which state?",
            answer="Ohio",
            answer_kind="exact",
            images=(image,),
            source="mapqa",
        )
        turns = (
            ExpertTurn(thought="closer", action=ToolCall(name="crop", arguments={"bbox_2d": [8, 8, 40, 40]})),
            ExpertTurn(thought="Ohio it is", action=Answer(text="Ohio")),
        )
        rows.append(tool_example_row(Example(task=task, turns=turns), [f"images/{image.hash}.png"]))
    (folder / "examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def on_files(tmp_path: Path, *settings: str) -> Plan:
    plan = vista_r1(RecipeContext(model=base_checkpoint(), data=tmp_path / "data", overrides=settings))
    plan.check()
    return plan


def test_data_sets_of_a_folder_are_trained_on_and_measured_on_apart(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    mapqa(tmp_path / "data", "train", 6, shade=200)
    mapqa(tmp_path / "data", "test", 3, shade=100)
    # A training question on a picture of the test is left out.
    shutil.copy(
        tmp_path / "data" / "mapqa" / "images" / "test0.png", tmp_path / "data" / "mapqa" / "images" / "train5.png"
    )
    plan = on_files(
        tmp_path, f"tools={tools_file(tmp_path)}", f"sft_data={shown_examples(tmp_path / 'shown')}", "sft.batch_size=2"
    )
    assert names(plan) == ["before", "sft", "after_sft", "rl", "after_rl", "pass_rates", "tail", "after_tail"]
    measured = plan.stages[0]
    assert isinstance(measured, Evaluate)
    assert {task.id for task in measured.tasks()} == {f"mapqa/test/test{number}" for number in range(3)}
    asked = stage(plan, "rl").questions().sample(5)
    assert {question.task.id for question in asked} == {f"mapqa/train/train{number}" for number in range(5)}
    imitation = next(one for one in plan.stages if isinstance(one, SFTStage))
    assert len({one.example.task.id for step in range(3) for one in imitation.demonstrations(step)}) == 3
    assert [tool.spec.name for tool in measured.episodes.tools] == ["crop", "solve_geometry"]


def test_thoughts_and_tools_can_be_left_out_of_what_is_imitated(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    mapqa(tmp_path / "data", "train", 3, shade=200)
    mapqa(tmp_path / "data", "test", 2, shade=100)
    settings = (f"tools={tools_file(tmp_path)}", f"sft_data={shown_examples(tmp_path / 'shown')}")

    def turns(*more: str) -> set[int]:
        plan = on_files(tmp_path, *settings, *more)
        imitation = next(one for one in plan.stages if isinstance(one, SFTStage))
        examples = [one.example for one in imitation.demonstrations(0)]
        assert {turn.thought for one in examples for turn in one.turns} <= {"", "closer", "Ohio it is"}
        return {len(one.turns) for one in examples}

    assert turns("with_tools=false") == {1}
    assert turns("reasoning=false") == {2}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ((), "there is no tool to call"),
        (("tools=TOOLS", "service=http://127.0.0.1:9"), "give one of them"),
        (("tools=TOOLS", "tool_families=maths"), "none of perception"),
        (("tools=TOOLS", "tool_families=charts"), "no tool that is configured"),
        (("tools=TOOLS", "data_sets=mapqa,geoqa"), "no folder 'geoqa'"),
        (("tools=TOOLS", "data_sets=mapsqa"), "none of"),
    ],
)
def test_what_is_missing_is_told_before_the_model_is_loaded(
    tmp_path: Path, settings: tuple[str, ...], why: str
) -> None:
    (tmp_path / "data").mkdir()
    mapqa(tmp_path / "data", "train", 3, shade=200)
    mapqa(tmp_path / "data", "test", 2, shade=100)
    with pytest.raises(UserError, match=why):
        on_files(tmp_path, *(one.replace("TOOLS", str(tools_file(tmp_path))) for one in settings))


def test_the_miniature_differs_from_the_paper_where_it_is_small() -> None:
    assert TinyVistaSettings().rl.group_size == VistaSettings().rl.group_size
    assert TinyVistaSettings().max_turns == VistaSettings().max_turns


def test_all_stages_run_on_a_checkpoint_with_tools_of_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    mapqa(tmp_path / "data", "train", 3, shade=200)
    mapqa(tmp_path / "data", "test", 1, shade=100)
    overrides = (
        *(f"tools={tools_file(tmp_path)}", f"sft_data={shown_examples(tmp_path / 'shown')}"),
        *("sft.steps=1", "sft.batch_size=2", "rl.steps=1", "rl.tasks_per_step=2", "rl.group_size=2"),
        *("tail.steps=1", "tail.samples=2", "rollout.max_turn_tokens=8", "rollout.max_tokens=2048"),
    )
    context = RecipeContext(model=base_checkpoint(), data=tmp_path / "data", overrides=overrides)
    summaries = run_plan(
        vista_r1(context), out=tmp_path / "run", media=context.media, seed=0, progress=Progress("quiet")
    )
    assert {name: one.overall.n for name, one in summaries.items()} == {
        "before": 1,
        "after_sft": 1,
        "after_rl": 1,
        "pass_rates": 3,
        "after_tail": 1,
    }
