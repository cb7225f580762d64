"""The CodeDance recipe: the paper's settings, its choices of reward, and the same in miniature."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.miniature.codedance import EASY, HARD, Lessons, TinyCodeDanceSettings, tiny
from saccade.models.checkpoint import base_checkpoint
from saccade.recipes.codedance import codedance
from saccade.recipes.codedance_settings import CodeDanceSettings
from saccade.rewards.judges.evidence_judge import WithEvidenceJudge
from saccade.rewards.reward import OutcomeReward
from saccade.rewards.tool_use import CodeDanceReward, DeepEyesReward
from saccade.tools.code import PythonTool
from saccade.train.plan import Evaluate, Plan, RLStage, SFTStage
from saccade.train.recipe_loading import load_recipe
from saccade.train.run import run_plan
from saccade.types import Answer, Example, Group, ImageRef, Score, Task, Term, ToolCall, ToolResult, Trajectory, Turn

RUN = Turn(
    index=0, text="", thought="", action=ToolCall(name="python", arguments={}), is_well_formed=True, result=ToolResult()
)
FAILED = replace(RUN, result=ToolResult(is_ok=False))
ANSWERED = replace(RUN, action=Answer(text="red"), result=None)


def played(*turns: Turn) -> Trajectory:
    return Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=turns,
        status="answered",
        score=Score(terms=(Term("one", 1.0),)),
    )


def stages(plan: Plan) -> list[str]:
    return [stage.name for stage in plan.stages]


def imitation(plan: Plan) -> SFTStage:
    return next(stage for stage in plan.stages if isinstance(stage, SFTStage))


def reinforcement(plan: Plan) -> RLStage:
    return next(stage for stage in plan.stages if isinstance(stage, RLStage))


def is_coded(example: Example) -> bool:
    return isinstance(example.turns[0].action, ToolCall)


def is_right(example: Example) -> bool:
    return example.turns[-1].action == Answer(text=example.task.answer)


def test_the_defaults_are_the_paper_s() -> None:
    settings = CodeDanceSettings()
    assert (settings.rl.group_size, settings.rl.tasks_per_step) == (8, 256)
    assert settings.rl.optimizer.learning_rate == 1e-6
    assert settings.rl.algorithm.options.kl_weight == 0
    assert (settings.training_turns, settings.evaluation_turns) == (6, 10)
    assert settings.rollout.max_tokens == 2 * 10_240
    assert (settings.sft.batch_size, settings.sft.optimizer.learning_rate) == (128, 5e-5)
    assert settings.sft.warmup_steps == pytest.approx(0.05 * settings.sft.steps, abs=0.5)
    assert (settings.adaptive.gamma, settings.adaptive.shift) == (4.0, 0.2)
    assert (settings.turns.discount, settings.turns.penalty, settings.turns.weight) == (0.2, -0.5, 0.2)
    assert (settings.turn_credit, settings.reward) == (True, "adaptive")


def test_each_reward_has_its_name() -> None:
    adaptive = apply_overrides(CodeDanceSettings(), ("adaptive.gamma=3", "adaptive.shift=0.1")).chosen_reward
    assert isinstance(adaptive, CodeDanceReward)
    assert (adaptive.gamma, adaptive.shift) == (3.0, 0.1)
    assert isinstance(CodeDanceSettings(reward="deepeyes").chosen_reward, DeepEyesReward)
    assert isinstance(CodeDanceSettings(reward="outcome").chosen_reward, OutcomeReward)
    with pytest.raises(UserError, match="reward"):
        apply_overrides(CodeDanceSettings(), ("reward=best",))


def test_the_public_code_s_form_can_be_asked_for() -> None:
    overrides = (
        *("adaptive.form=code", "adaptive.base_weight=1", "outcome.accuracy_weight=1.2", "outcome.format_weight=0.4"),
        *("turns.includes_final_turn=false", "turns.keeps_equal=true", "turns.limit=inf"),
        *("paid_calls=successful", "adaptive.pays_unanswered=true"),
    )
    settings = apply_overrides(CodeDanceSettings(), overrides)
    assert settings.chosen_reward == CodeDanceReward(
        outcome=OutcomeReward(accuracy_weight=1.2, format_weight=0.4),
        form="code",
        base_weight=1.0,
        pays_unanswered=True,
    )
    assert CodeDanceSettings().chosen_reward == CodeDanceReward()
    plan = tiny(RecipeContext(overrides=overrides))
    (measured, *_) = [stage for stage in plan.stages if isinstance(stage, Evaluate)]
    assert measured.reward == OutcomeReward(accuracy_weight=1.2, format_weight=0.4)
    task = Task(id="t", family="f", question="?", answer="red", answer_kind="exact", images=())
    alike = (played(FAILED, RUN, ANSWERED), played(FAILED, ANSWERED))
    batch = [Group(task=task, stream="main", trajectories=alike)]
    public, ours = (reinforcement(one).applied_algorithm.advantages(batch) for one in (plan, tiny(RecipeContext())))
    # Returns -0.5, 0 and -0.5, without the answers: mean -1/3, std sqrt(1/18).
    assert public == [[pytest.approx([-(0.02**0.5), 0.08**0.5, 0.0]), pytest.approx([-(0.02**0.5), 0.0])]]
    first, second = -0.06 / 0.06**0.5, 0.04 / 0.06**0.5
    assert ours == [[pytest.approx([first, second, second]), pytest.approx([first, second])]]


def test_work_is_checked_where_a_reward_reads_it() -> None:
    def checks(*overrides: str) -> list[list[bool]]:
        plan = tiny(RecipeContext(overrides=("sft.steps=1", "sft.batch_size=1", *overrides)))
        shown = [one.episodes for one in imitation(plan).demonstrations(0)]
        trained = [stream.episodes for stream in reinforcement(plan).streams]
        measured = [stage.episodes for stage in plan.stages if isinstance(stage, Evaluate)]
        tools = [[tool for one in each for tool in one.tools] for each in (shown, trained, measured[:1])]
        return [[tool.checks_work for tool in each if isinstance(tool, PythonTool)] for each in tools]

    assert checks() == checks("reward=deepeyes") == [[False], [True], [False]]
    assert checks("reward=outcome") == checks("paid_calls=successful") == [[False], [False], [False]]
    paid = ("reward=outcome", "rl.evidence.weight=0.5", "rollout.probes_calls=true")
    assert checks(*paid, "rl.evidence.form=difference") == [[False], [True], [False]]
    assert checks(*paid, "paid_calls=successful", "rl.evidence.form=difference") == [[False], [False], [False]]


@pytest.mark.parametrize("name", ["training_turns", "evaluation_turns"])
def test_one_turn_leaves_none_for_code_and_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"{name}=1 leaves no turn for code"):
        apply_overrides(CodeDanceSettings(), (f"{name}=1",))


def test_turns_have_credit_of_their_own_unless_it_is_switched_off() -> None:
    assert reinforcement(tiny(RecipeContext())).applied_algorithm.name == "grpo with turn credit"
    plain = tiny(RecipeContext(overrides=("turn_credit=false",)))
    assert reinforcement(plain).applied_algorithm.name == "grpo"


def test_a_checkpoint_and_questions_are_needed() -> None:
    with pytest.raises(UserError, match="--model PATH and --data PATH"):
        codedance(RecipeContext())


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Six questions on pictures of their own."""
    from PIL import Image

    rows = []
    for number in range(6):
        Image.new("RGB", (32, 32), (40 * number, 90, 120)).save(tmp_path / f"{number}.png")
        rows.append(
            {"id": str(number), "question": "How red?", "answer": str(40 * number), "images": [f"{number}.png"]}
        )
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_own_questions_are_reinforced_with_six_turns_and_measured_with_ten(questions: Path) -> None:
    plan = codedance(RecipeContext(model=base_checkpoint(), data=questions))
    plan.check()
    assert stages(plan) == ["before", "rl", "after_rl"]
    assert reinforcement(plan).streams[0].episodes.max_turns == 6
    measured = [stage for stage in plan.stages if isinstance(stage, Evaluate)]
    assert [stage.episodes.max_turns for stage in measured] == [10, 10]
    trained = {question.task.id for question in reinforcement(plan).questions().sample(20)}
    assert not trained & {task.id for task in measured[0].tasks()}


def test_curated_examples_come_first(questions: Path) -> None:
    row = {
        "id": "curated",
        "question": "How red?",
        "answer": "40",
        "images": ["1.png"],
        "turns": [{"thought": "", "code": "print(input_image.getpixel((0, 0))[0])"}, {"thought": "", "answer": "40"}],
    }
    path = questions.parent / "examples.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    overrides = (f"sft_data={path}", "sft.batch_size=3")
    plan = codedance(RecipeContext(model=base_checkpoint(), data=questions, overrides=overrides))
    assert stages(plan) == ["before", "sft", "after_sft", "rl", "after_rl"]
    shown = imitation(plan).demonstrations(0)
    assert [one.example.task.id for one in shown] == ["curated"] * 3
    assert all(is_coded(one.example) for one in shown)


def test_curated_examples_of_held_out_pictures_are_never_shown(questions: Path) -> None:
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    rows = [row | {"turns": [{"thought": "", "answer": row["answer"]}]} for row in rows]
    path = questions.parent / "examples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    overrides = (f"sft_data={path}", f"sft.batch_size={len(rows)}")
    plan = codedance(RecipeContext(model=base_checkpoint(), data=questions, overrides=overrides))
    shown = {image for one in imitation(plan).demonstrations(0) for image in one.example.task.images}
    measured = next(stage for stage in plan.stages if isinstance(stage, Evaluate))
    held_out = {image for task in measured.tasks() for image in task.images}
    assert held_out
    assert shown
    assert not shown & held_out


def test_tiny_is_found_beside_its_recipe() -> None:
    plan = load_recipe("codedance:tiny")(RecipeContext())
    assert plan.title == tiny(RecipeContext()).title
    with pytest.raises(UserError, match="no function 'tini'"):
        load_recipe("codedance:tini")


def test_tiny_imitates_reinforces_and_measures_easy_and_hard_questions_apart() -> None:
    plan = tiny(RecipeContext(overrides=("evaluation_tasks=8",)))
    plan.check()
    assert stages(plan) == ["sft", "after_sft_easy", "after_sft_hard", "rl", "after_rl_easy", "after_rl_hard"]
    families = [{task.family for task in stage.tasks()} for stage in plan.stages if isinstance(stage, Evaluate)]
    assert families == [set(EASY), set(HARD), set(EASY), set(HARD)]
    assert len(plan.resources) == 1


def test_tiny_starts_from_an_earlier_imitation() -> None:
    plan = tiny(RecipeContext(model=base_checkpoint()))
    assert stages(plan) == ["rl", "after_rl_easy", "after_rl_hard"]


def test_tiny_never_shows_a_picture_twice_across_stages() -> None:
    plan = tiny(RecipeContext(overrides=("sft_questions=48", "evaluation_tasks=24")))
    shown: list[set[ImageRef]] = [
        {
            image
            for step in range(4)
            for one in imitation(plan).demonstrations(step)
            for image in one.example.task.images
        },
        {image for question in reinforcement(plan).questions().sample(40) for image in question.task.images},
        {image for stage in plan.stages if isinstance(stage, Evaluate) for t in stage.tasks() for image in t.images},
    ]
    assert not shown[0] & shown[1]
    assert not (shown[0] | shown[1]) & shown[2]


def test_tiny_repeats_its_questions_with_the_same_solutions() -> None:
    plan = tiny(RecipeContext(overrides=("sft_questions=32", "lessons.careless_from=1")))
    first, again = (imitation(plan).demonstrations(step) for step in (0, 2))
    assert [one.example for one in first] == [one.example for one in again]


def test_tiny_s_experts_are_right_at_first_and_careless_later() -> None:
    plan = tiny(RecipeContext(overrides=("sft.steps=20", "sft_questions=400")))
    stage = imitation(plan)
    skilled = [one.example for step in range(8) for one in stage.demonstrations(step)]
    careless = [one.example for step in range(15, 20) for one in stage.demonstrations(step)]
    assert all(is_right(example) for example in skilled)
    assert all(is_coded(example) for example in skilled if example.task.family in HARD)
    assert {is_coded(example) for example in skilled if example.task.family in EASY} == {True, False}
    assert not all(is_right(example) for example in careless)
    assert not all(is_coded(example) for example in careless if example.task.family in HARD)
    assert all(is_right(example) for example in careless if example.task.family in EASY)


@pytest.mark.parametrize("share", ["easy_share=1.5", "slip_share=-0.1"])
def test_shares_out_of_range_are_refused(share: str) -> None:
    with pytest.raises(UserError, match="share"):
        apply_overrides(TinyCodeDanceSettings(), (f"lessons.{share}",))


def test_shares_that_are_too_much_together_are_refused() -> None:
    with pytest.raises(UserError, match="together"):
        Lessons(guess_share=0.8, give_up_share=0.3).check()


def test_tiny_runs_in_the_sandbox_from_nothing_to_its_last_evaluation(tmp_path: Path) -> None:
    overrides = (
        "sft.steps=3",
        "sft.batch_size=4",
        "sft_questions=6",
        "lessons.careless_from=0.3",
        "lessons.slip_share=1",
        "rl.steps=1",
        "rl.tasks_per_step=2",
        "rl.group_size=2",
        "rl.evaluate_every=0",
        "evaluation_tasks=4",
    )
    context = RecipeContext(overrides=overrides)
    summaries = run_plan(tiny(context), out=tmp_path / "run", media=context.media, seed=0)
    assert list(summaries) == ["after_sft_easy", "after_sft_hard", "after_rl_easy", "after_rl_hard"]
    assert all(summary.unfinished.failed == 0 and summary.overall.n == 4 for summary in summaries.values())


def test_the_miniature_asks_the_judge_of_evidence_that_it_is_given() -> None:
    judge = ("evidence_judge.kind=server", "evidence_judge.base_url=http://127.0.0.1:9/v1", "evidence_judge.model=m")
    paid = ("rl.evidence.form=judged", "rl.evidence.weight=0.5")
    assert isinstance(reinforcement(tiny(RecipeContext(overrides=(*judge, *paid)))).reward, WithEvidenceJudge)
    with pytest.raises(UserError, match=r"evidence_judge\.kind=server has no effect"):
        tiny(RecipeContext(overrides=judge))
