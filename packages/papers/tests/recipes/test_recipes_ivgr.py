"""The iVGR recipe: the paper's settings, questions of one's own in two streams, its judges, and the miniature."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.miniature.ivgr import EXACT, TinyIvgrSettings, tiny
from saccade.miniature.judges import ErringJudge, JudgeErrors
from saccade.miniature.tiny_model import TinySize
from saccade.models.checkpoint import base_checkpoint
from saccade.models.loading import LoadSettings
from saccade.protocols.box_text import find_boxes
from saccade.recipes.ivgr import ivgr
from saccade.recipes.ivgr_settings import IvgrSettings
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.judges.consistency import Ensemble
from saccade.rewards.judges.llm_judge import AnswerJudge, LlmJudge
from saccade.runs.metrics import read_metrics
from saccade.runs.records import read_records
from saccade.tasks.curriculum import HARD_OF_FIVE
from saccade.train.plan import Evaluate, Plan, RLStage, SFTStage
from saccade.train.recipe_loading import load_recipe
from saccade.train.run import run_plan
from saccade.types import ImageRef

SERVER = ("judge.base_url=http://127.0.0.1:9/v1", "judge.model=judge-72b")
SIDE = 64


def stages(plan: Plan) -> list[str]:
    return [stage.name for stage in plan.stages]


def imitation(plan: Plan) -> SFTStage:
    return next(stage for stage in plan.stages if isinstance(stage, SFTStage))


def reinforcement(plan: Plan) -> RLStage:
    return next(stage for stage in plan.stages if isinstance(stage, RLStage))


def held_out(plan: Plan) -> set[ImageRef]:
    measured = next(stage for stage in plan.stages if isinstance(stage, Evaluate))
    return {image for task in measured.tasks() for image in task.images}


def rewarded(plan: Plan) -> IvgrReward:
    found = reinforcement(plan).reward
    assert isinstance(found, IvgrReward)
    return found


def written(path: Path, rows: list[Mapping[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def picture(folder: Path, number: int, name: str = "p") -> str:
    Image.new("RGB", (SIDE, SIDE), (9 * number, 90, 120 if name == "p" else 10)).save(folder / f"{name}{number}.png")
    return f"{name}{number}.png"


def boxed_row(folder: Path, number: int) -> dict[str, object]:
    return {
        "id": f"boxed{number}",
        "problem": "Which mark?",
        "query": "Say which mark.",
        "answer": "a white one",
        "images": [picture(folder, number)],
        "target_instances": [{"bbox": [8, 8, 40, 40], "label": "plate"}],
    }


def general_row(folder: Path, number: int, name: str = "g") -> dict[str, object]:
    images = [picture(folder, number, name)]
    return {"id": f"general{number}", "problem": "Which colour?", "answer": "blue", "images": images}


def trajectory_row(folder: Path, number: int, *, has_boxes: bool) -> dict[str, object]:
    """An example of the cold start on the picture of a boxed question."""
    thought = "the plate <box>[8,8,40,40]</box> is white" if has_boxes else "the plate is white"
    return {
        "messages": [
            {"role": "user", "content": "<image>\nWhich mark?"},
            {"role": "assistant", "content": f"<think>{thought}</think><answer>white</answer>"},
        ],
        "images": [picture(folder, number)],
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Twenty questions with boxes on pictures of their own."""
    return written(tmp_path / "boxed.jsonl", [boxed_row(tmp_path, number) for number in range(20)])


def planned(data: Path, *settings: str, judge: tuple[str, ...] = SERVER) -> Plan:
    plan = ivgr(RecipeContext(model=base_checkpoint(), data=data, overrides=(*judge, *settings)))
    plan.check()
    return plan


# The paper's settings


def test_the_defaults_are_the_paper_s() -> None:
    settings = IvgrSettings()
    rl, sft, judge = settings.rl, settings.sft, settings.judge
    assert (rl.steps, rl.tasks_per_step, rl.group_size, rl.temperature) == (360, 282, 5, 1.0)
    assert (rl.optimizer.learning_rate, rl.decay, rl.warmup_steps) == (1e-6, "constant", 0)
    assert rl.algorithm.name == "grpo"
    assert (rl.algorithm.options.kl_weight, rl.algorithm.options.kl_estimator) == (0.01, "k3")
    assert settings.counts(has_plain=True) == {"boxed": 230, "plain": 52}
    assert settings.rollout.max_turn_tokens == 4096
    assert (sft.batch_size, sft.optimizer.learning_rate, sft.decay, sft.warmup_steps) == (64, 1e-5, "cosine", 0)
    assert sft.steps == -(-35_000 // 64)
    assert (settings.reward.tau, settings.reward.use_archive) == (0.3, True)
    assert (settings.consistency, settings.streams) == (True, "both")
    assert (judge.kind, judge.samples, judge.temperature, settings.accuracy_judge) == ("server", 1, 0.01, True)
    assert (HARD_OF_FIVE.low, HARD_OF_FIVE.high) == (1 / 5, 2 / 5)


def test_where_the_paper_is_silent_the_public_code_counts() -> None:
    rl = IvgrSettings().rl
    assert rl.algorithm.clips == (0.2, 0.28)
    assert rl.optimizer.weight_decay == 0.01


def test_where_the_public_code_says_otherwise_the_paper_counts() -> None:
    settings = IvgrSettings()
    assert (settings.reward.grounding.validity_weight, settings.reward.plain_accuracy_weight) == (0.0, 1.0)
    public = apply_overrides(settings, ("reward.grounding.validity_weight=1", "reward.plain_accuracy_weight=1.5"))
    assert (public.reward.grounding.validity_weight, public.reward.plain_accuracy_weight) == (1.0, 1.5)


@pytest.mark.parametrize("count", ["0", "283", "-1"])
def test_a_number_of_questions_with_boxes_that_cannot_be_is_refused(count: str) -> None:
    with pytest.raises(UserError, match=f"boxed_per_step={count} must be 1 or more, and at most .*282"):
        apply_overrides(IvgrSettings(), (f"boxed_per_step={count}",))


def test_minibatches_are_checked_against_the_questions_that_are_asked(data: Path) -> None:
    with pytest.raises(UserError, match="minibatches=257 is more than the 256 questions of a step"):
        planned(data, "rl.minibatches=257")


# Questions of one's own


def test_it_is_found_by_its_name_and_needs_a_checkpoint_and_questions() -> None:
    with pytest.raises(UserError, match="--model PATH and --data PATH"):
        load_recipe("ivgr")(RecipeContext())


def test_own_questions_are_asked_in_both_streams_and_measured_in_three_ways(data: Path) -> None:
    plan = planned(data)
    when = ["before", "after_rl"]
    assert stages(plan) == [
        *(f"{when[0]}_{how}" for how in ("textual", "grounded", "crops_union")),
        "rl",
        *(f"{when[1]}_{how}" for how in ("textual", "grounded", "crops_union")),
    ]
    last = plan.stages[-1]
    assert isinstance(last, Evaluate)
    assert (last.episodes.protocol.name, last.first_pass.protocol.name) == ("textual", "grounded")
    assert (last.views.crops, last.views.union) == (True, True)
    drawn = reinforcement(plan).questions().sample(40)
    assert {question.streams for question in drawn} == {("grounded", "textual")}
    # Without any general question those with boxes fill the step.
    assert reinforcement(plan).settings.tasks_per_step == 256


def test_a_second_look_may_be_left_out_and_cut_otherwise(data: Path) -> None:
    assert stages(planned(data, "test_time=false")) == [
        *("before_textual", "before_grounded", "rl", "after_rl_textual", "after_rl_grounded")
    ]
    last = planned(data, "views.padding=0.1").stages[-1]
    assert isinstance(last, Evaluate)
    assert last.views.cut.padding == 0.1


def test_held_out_pictures_are_never_trained_on(data: Path, tmp_path: Path) -> None:
    rows = [trajectory_row(tmp_path, number, has_boxes=number % 2 == 0) for number in range(20)]
    sft = written(tmp_path / "sft.jsonl", rows)
    same_pictures = [general_row(tmp_path, number, "p") for number in range(20)]
    general = written(tmp_path / "general.jsonl", same_pictures)
    plan = planned(data, f"sft_data={sft}", f"general_data={general}", "held_out_share=0.3", "sft.batch_size=40")
    measured = held_out(plan)
    asked = {image for one in reinforcement(plan).questions().sample(564) for image in one.task.images}
    imitated = {image for one in imitation(plan).demonstrations(0) for image in one.example.task.images}
    assert measured
    assert len(asked) == len(imitated) == 20 - len(measured)
    assert not measured & (asked | imitated)


def test_data_without_any_box_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "plain.jsonl", [general_row(tmp_path, number) for number in range(3)])
    with pytest.raises(UserError, match=r"none of the 3 questions of .*plain.jsonl has a box"):
        planned(path)


def test_questions_without_boxes_come_from_both_files_and_are_asked_in_plain_words(data: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    mixed = written(tmp_path / "mixed.jsonl", [*rows, general_row(tmp_path, 0), general_row(tmp_path, 1)])
    more = written(tmp_path / "general.jsonl", [general_row(tmp_path, number) for number in (2, 3)])
    drawn = reinforcement(planned(mixed, f"general_data={more}")).questions().sample(282)
    by_streams = {
        streams: {one.task.id for one in drawn if one.streams == streams}
        for streams in (("grounded", "textual"), ("textual",))
    }
    assert by_streams["textual",] == {f"general{number}" for number in range(4)}
    assert all(key.startswith("boxed") for key in by_streams["grounded", "textual"])
    assert sum(one.streams == ("textual",) for one in drawn) == 52


def test_boxes_of_general_questions_are_not_used(data: Path, tmp_path: Path) -> None:
    row = general_row(tmp_path, 0) | {"target_instances": [{"bbox": [1, 2, 30, 40], "label": "cup"}]}
    drawn = reinforcement(planned(data, f"general_data={written(tmp_path / 'general.jsonl', [row])}")).questions()
    [task] = {one.task.id: one.task for one in drawn.sample(282) if one.streams == ("textual",)}.values()
    assert (task.id, task.targets) == ("general0", ())


def test_the_textual_stream_asks_in_its_own_words(data: Path) -> None:
    [one] = reinforcement(planned(data)).questions().sample(1)
    assert (one.task.question, one.task.wordings["textual"]) == ("Which mark?", "Say which mark.")


def test_an_id_that_means_two_questions_is_refused(data: Path, tmp_path: Path) -> None:
    row = general_row(tmp_path, 0) | {"id": "boxed3"}
    with pytest.raises(UserError, match=r"1 ids name .*\(boxed3\)"):
        planned(data, f"general_data={written(tmp_path / 'general.jsonl', [row])}")


def test_general_questions_that_nobody_would_be_asked_are_refused(data: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "general.jsonl", [general_row(tmp_path, 0)])
    with pytest.raises(UserError, match=r"boxed_per_step=282 leaves no room"):
        planned(data, f"general_data={path}", "boxed_per_step=282")


def test_pass_rates_choose_questions_that_are_right_once_or_twice_of_five(data: Path, tmp_path: Path) -> None:
    general = written(tmp_path / "general.jsonl", [general_row(tmp_path, number) for number in range(6)])
    lines = [{"id": f"general{number}", "pass_rate": number / 5} for number in range(6)]
    settings = (f"general_data={general}", "rl.tasks_per_step=11", "boxed_per_step=9")
    rates = written(tmp_path / "pass_rates.jsonl", lines)
    source = reinforcement(planned(data, *settings, f"general_pass_rates={rates}")).questions()
    asked = [one.task.id for _ in range(3) for one in source.sample(11) if one.streams == ("textual",)]
    assert set(asked) == {"general1", "general2"}

    of_others = written(tmp_path / "others.jsonl", [{"id": "another", "pass_rate": 0.4}])
    with pytest.raises(UserError, match="has the id of none of the 6 questions"):
        planned(data, *settings, f"general_pass_rates={of_others}")


def test_a_cold_start_imitates_both_streams_in_each_one_s_protocol(data: Path, tmp_path: Path) -> None:
    rows = [trajectory_row(tmp_path, number, has_boxes=number < 8) for number in range(20)]
    path = written(tmp_path / "sft.jsonl", rows)
    plan = planned(data, f"sft_data={path}", "sft.batch_size=16")
    assert stages(plan)[3:7] == ["sft", "after_sft_textual", "after_sft_grounded", "after_sft_crops_union"]
    shown = [one for step in range(3) for one in imitation(plan).demonstrations(step)]
    assert {one.episodes.protocol.name for one in shown} == {"grounded", "textual"}
    for one in shown:
        has_boxes = bool(find_boxes(one.example.turns[0].thought).mentions)
        assert one.episodes.protocol.name == ("grounded" if has_boxes else "textual")
    # An epoch shows each example once.
    first = [one.example.task.id for one in shown[:16]]
    assert len(set(first)) == 16
    assert imitation(plan).demonstrations(0) == shown[:16]
    assert "sft" not in stages(planned(data, f"sft_data={path}", "sft.steps=0"))


def test_the_grounded_stream_may_crop(data: Path) -> None:
    grounded, textual = reinforcement(planned(data, "grounded_crops=true")).streams
    assert [tool.spec.name for tool in grounded.episodes.tools] == ["crop"]
    assert (grounded.episodes.max_turns, grounded.episodes.protocol.name) == (4, "grounded_with_crop")
    assert (textual.episodes.max_turns, textual.episodes.tools) == (1, ())


def test_one_stream_alone_is_asked_alone(data: Path, tmp_path: Path) -> None:
    general = written(tmp_path / "general.jsonl", [general_row(tmp_path, 0)])
    counts = {}
    for streams in ("both", "textual", "grounded"):
        stage = reinforcement(planned(data, f"general_data={general}", f"streams={streams}"))
        drawn = stage.questions().sample(stage.settings.tasks_per_step)
        counts[streams] = sum(len(one.streams) for one in drawn)
        assert stage.reward.consistency is None or streams == "both"
    assert counts == {"both": 512, "textual": 512, "grounded": 512}


# Judges


def test_a_server_s_model_judges_texts_and_answers(data: Path) -> None:
    plan = planned(data, "judge.samples=4", "judge.temperature=0.5")
    found = rewarded(plan)
    assert isinstance(found.consistency, LlmJudge)
    assert isinstance(found.accuracy, AnswerJudge)
    assert found.consistency.asking is found.accuracy.asking
    assert (found.consistency.asking.samples, found.consistency.asking.temperature) == (4, 0.5)
    assert len(plan.resources) == 1
    assert rewarded(planned(data, "accuracy_judge=false")).accuracy is None


def test_several_models_are_an_ensemble_and_the_first_judges_answers(data: Path) -> None:
    plan = planned(data, "judge.model=a,b,c")
    found = rewarded(plan)
    assert isinstance(found.consistency, Ensemble)
    assert len(found.consistency.judges) == len(plan.resources) == 3
    assert found.accuracy.asking.model is found.consistency.judges[0].asking.model
    assert len(planned(data, "judge.model=a,b", "consistency=false").resources) == 1


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ((), r"give judge\.base_url .* and judge\.model"),
        (("judge.base_url=http://localhost:8000/v1",), r"judge\.model"),
        (("judge.base_url=localhost",), "judge"),
        (("judge.base_url=localhost", "judge.model=a"), "no address of a server"),
        ((SERVER[0] + ",http://x/v1", "judge.model=a,b,c"), "2 addresses for the 3 names"),
        (("judge.kind=exact",), "only drawn questions state"),
        (("judge.kind=checkpoint",), r"needs judge\.checkpoint"),
        (("judge.kind=checkpoint", "judge.checkpoint=/nowhere"), "no checkpoint directory"),
        (("judge.kind=none", "judge.model=a"), "model would have no effect"),
        ((*SERVER, "judge.checkpoint=/nowhere"), "checkpoint would have no effect"),
        ((*SERVER, "judge.samples=0"), "samples=0"),
        ((*SERVER, "judge.kind=anyone"), "server, checkpoint, exact, none"),
        ((*SERVER, "judge.server.extra_body=[]"), "no JSON object"),
    ],
)
def test_a_judge_that_cannot_be_is_refused_before_any_work(data: Path, judge: tuple[str, ...], why: str) -> None:
    with pytest.raises(UserError, match=why):
        planned(data, judge=judge)


def test_a_key_in_the_place_of_its_variable_is_refused_and_not_shown(data: Path) -> None:
    with pytest.raises(UserError, match="name of a variable") as refused:
        planned(data, "judge.api_key_env=sk-very-secret")
    assert "secret" not in str(refused.value)


def test_without_a_judge_the_rules_decide_and_nothing_agrees(data: Path) -> None:
    for settings in (("judge.kind=none",), ("consistency=false", "accuracy_judge=false")):
        plan = planned(data, *settings, judge=())
        assert (rewarded(plan).consistency, rewarded(plan).accuracy, plan.resources) == (None, None, ())


# The miniature


def test_tiny_is_found_beside_its_recipe_and_judged_by_ground_truth() -> None:
    plan = load_recipe("ivgr:tiny")(RecipeContext())
    plan.check()
    looks = ("textual", "grounded", "crops", "union", "crops_union")
    assert stages(plan) == [
        "before_textual",
        "sft",
        *(f"after_sft_{how}" for how in looks),
        "rl",
        *(f"after_rl_{how}" for how in looks),
    ]
    assert (rewarded(plan).consistency, rewarded(plan).accuracy) == (EXACT, None)
    assert plan.resources == ()


def test_tiny_starts_from_an_earlier_imitation() -> None:
    plan = tiny(RecipeContext(model=base_checkpoint(), overrides=("test_time=false",)))
    assert stages(plan) == ["rl", "after_rl_textual", "after_rl_grounded"]


def test_tiny_never_shows_a_picture_twice_across_stages() -> None:
    plan = tiny(RecipeContext(overrides=("sft_questions=48", "evaluation_tasks=24")))
    steps = range(3)
    imitated = {
        image for step in steps for one in imitation(plan).demonstrations(step) for image in one.example.task.images
    }
    asked = {image for question in reinforcement(plan).questions().sample(33) for image in question.task.images}
    assert not imitated & asked
    assert not (imitated | asked) & held_out(plan)


def test_tiny_repeats_its_questions_in_each_epoch_in_another_order() -> None:
    plan = tiny(RecipeContext(overrides=("rl_questions=18",)))
    source = reinforcement(plan).questions()
    epochs = [
        [one.task.id for one in source.sample(11) + source.sample(11) if "grounded" in one.streams] for _ in range(2)
    ]
    assert len(set(epochs[0])) == 18
    assert sorted(epochs[0]) == sorted(epochs[1])
    assert epochs[0] != epochs[1]


def test_tiny_may_be_judged_by_a_model_too() -> None:
    plan = tiny(RecipeContext(overrides=("judge.kind=server", *SERVER)))
    assert isinstance(rewarded(plan).consistency, LlmJudge)
    assert len(plan.resources) == 1


# Whole runs


def test_tiny_runs_from_nothing_to_its_last_evaluation(tmp_path: Path) -> None:
    overrides = (
        *("sft.steps=3", "sft.batch_size=6", "sft_questions=12"),
        *(
            "rl.steps=2",
            "rl.tasks_per_step=3",
            "boxed_per_step=2",
            "rl.group_size=2",
            "rl.evaluate_every=2",
            "rl_questions=4",
        ),
        *("evaluation_tasks=4", "curve_tasks=2"),
        *("size.hidden=32", "size.heads=2", "size.kv_heads=1", "size.mlp=64", "size.vision_hidden=32"),
    )
    context = RecipeContext(overrides=overrides)
    summaries = run_plan(tiny(context), out=tmp_path / "run", media=context.media, seed=0)
    # The boxes of the views are those of the grounded evaluation: the same pass is not played again.
    looks = ("textual", "grounded", "crops", "union", "crops_union")
    after = [f"{when}_{how}" for when in ("after_sft", "after_rl") for how in looks]
    assert list(summaries) == ["before_textual", *after]
    assert all(summary.unfinished.failed == 0 for summary in summaries.values())
    assert {summaries[name].overall.n for name in after} == {4}


def test_own_questions_run_through_all_stages_with_a_judge_in_this_process(data: Path, tmp_path: Path) -> None:
    rows = [trajectory_row(tmp_path, number, has_boxes=number % 2 == 0) for number in range(20)]
    general = written(tmp_path / "general.jsonl", [general_row(tmp_path, number) for number in range(3)])
    settings = (
        f"sft_data={written(tmp_path / 'sft.jsonl', rows)}",
        *("sft.steps=2", "sft.batch_size=4"),
        f"general_data={general}",
        *("rl.steps=1", "rl.tasks_per_step=3", "boxed_per_step=2", "rl.group_size=2"),
        *("rollout.max_turn_tokens=8", "rollout.max_tokens=900", "judge.server.max_tokens=4", "judge.tries=1"),
    )
    judge = ("judge.kind=checkpoint", f"judge.checkpoint={base_checkpoint()}")
    context = RecipeContext(model=base_checkpoint(), data=data, overrides=(*judge, *settings))
    out = tmp_path / "run"
    summaries = run_plan(ivgr(context), out=out, media=context.media, seed=0)
    assert [name for name in summaries if name.endswith("_textual")] == [
        *("before_textual", "after_sft_textual", "after_rl_textual")
    ]
    assert all(summary.unfinished.failed == 0 for summary in summaries.values())
    step = list(read_records(out / "trajectories" / "rl" / "step-000001.jsonl"))
    assert {one.trajectory.stream for one in step} == {"grounded", "textual"}
    [values] = [values for position, values in read_metrics(out / "metrics.jsonl") if position.stage == "rl"]
    assert "time/judge_requests" in values


def test_the_settings_of_tiny_are_its_own() -> None:
    settings = TinyIvgrSettings()
    assert (settings.judge.kind, settings.size) == ("exact", TinySize())
    assert settings.counts(has_plain=True) == {"boxed": 9, "plain": 2}
    with pytest.raises(UserError, match="general_data"):
        apply_overrides(settings, ("general_data=x.jsonl",))
    assert IvgrSettings().model == LoadSettings()


def test_the_miniatures_judge_errs_as_its_settings_say() -> None:
    def judge(*settings: str) -> object:
        return rewarded(tiny(RecipeContext(overrides=settings))).consistency

    assert judge() == EXACT
    blind = replace(EXACT, knows_truth=False)
    assert judge("judge.knows_truth=false") == blind
    erring = judge("judge.knows_truth=false", "judge.errors.wrong_share=0.2", "judge.errors.bias=-0.5")
    assert isinstance(erring, ErringJudge)
    assert (erring.judge, erring.errors) == (blind, JudgeErrors(wrong_share=0.2, bias=-0.5))
    with pytest.raises(UserError, match="knows_truth=false would have no effect"):
        judge("judge.kind=none", "judge.knows_truth=false")
    with pytest.raises(UserError, match="bias=2"):
        judge("judge.errors.bias=2")
