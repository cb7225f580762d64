"""The recipes that ship: their plans are what their docstrings say."""

import pytest

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.gym.drawn import FAMILIES, LESSON_FAMILIES
from saccade.gym.registry import gym_families
from saccade.miniature.demo import demo
from saccade.miniature.look_closer import look_closer
from saccade.miniature.perception import LESSONS, PerceptionSettings, perception
from saccade.miniature.perception_words import GYM_HELD_OUT, PRINTED, PerceptionWordsSettings, perception_words
from saccade.tasks.scene import PLACE_NAMES
from saccade.train.plan import Evaluate, Plan, RLStage, SFTStage
from saccade.types import ImageRef, ToolCall


def stages(plan: Plan) -> list[str]:
    return [stage.name for stage in plan.stages]


def imitation(plan: Plan) -> SFTStage:
    return next(stage for stage in plan.stages if isinstance(stage, SFTStage))


def reinforcement(plan: Plan) -> RLStage:
    return next(stage for stage in plan.stages if isinstance(stage, RLStage))


def test_demo_imitates_reinforces_and_measures_with_and_without_the_tool() -> None:
    plan = demo(RecipeContext())
    plan.check()
    assert stages(plan) == ["sft", "after_sft", "rl", "after_rl", "after_rl_without_tool"]
    evaluations = [stage for stage in plan.stages if isinstance(stage, Evaluate)]
    assert [bool(stage.episodes.tools) for stage in evaluations] == [True, True, False]
    assert all(len(stage.tasks()) >= 200 for stage in evaluations)


def test_demo_never_shows_a_picture_twice_across_stages() -> None:
    plan = demo(RecipeContext(overrides=("sft.steps=6", "rl.steps=3")))
    shown: list[set[ImageRef]] = [
        {
            image
            for step in range(6)
            for one in imitation(plan).demonstrations(step)
            for image in one.example.task.images
        },
        {image for question in reinforcement(plan).questions().sample(48) for image in question.task.images},
        {
            image
            for stage in plan.stages[1:2]
            if isinstance(stage, Evaluate)
            for t in stage.tasks()
            for image in t.images
        },
    ]
    assert not shown[0] & shown[1]
    assert not (shown[0] | shown[1]) & shown[2]


def test_demo_s_expert_looks_first_and_mostly_guesses_later() -> None:
    plan = demo(RecipeContext(overrides=("sft.steps=20",)))

    def looks(steps: range) -> float:
        turns = [one.example.turns[0].action for step in steps for one in imitation(plan).demonstrations(step)]
        return sum(isinstance(action, ToolCall) for action in turns) / len(turns)

    assert looks(range(17)) == pytest.approx(0.9, abs=0.06)
    assert looks(range(17, 20)) == pytest.approx(0.9 * 0.25, abs=0.15)


def test_the_same_seed_asks_the_same_questions_and_two_of_sixteen_without_the_tool() -> None:
    first, second, other = (reinforcement(demo(RecipeContext(seed=seed))).questions().sample(16) for seed in (4, 4, 5))
    assert first == second
    assert first != other
    assert [question.streams for question in first] == [("looking",)] * 14 + [("silent",)] * 2


def test_perception_covers_all_families_with_and_without_tools() -> None:
    plan = perception(RecipeContext(overrides=("evaluation_tasks=13",)))
    plan.check()
    assert stages(plan) == ["sft", "with_tools", "without_tools"]
    begin = sum(lesson.steps for lesson in LESSONS)
    demonstrations = imitation(plan).demonstrations
    later = {one.example.task.family for step in range(begin, begin + 40) for one in demonstrations(step)}
    assert later == {*FAMILIES, *(family for lesson in LESSONS for family in lesson.families)}


def test_perception_teaches_one_thing_after_the_other_and_repeats_what_was_taught() -> None:
    demonstrations = imitation(perception(RecipeContext())).demonstrations
    begin, seen = 0, set[str]()
    for lesson in LESSONS:
        shown = [one for step in range(begin, begin + 8) for one in demonstrations(step)]
        families = {one.example.task.family for one in shown}
        assert set(lesson.families) <= families <= seen | set(lesson.families)
        assert bool(families & seen) == bool(seen)
        assert all(not one.episodes.tools for one in shown if one.example.task.family in LESSON_FAMILIES)
        begin, seen = begin + lesson.steps, seen | set(lesson.families)
    assert begin < PerceptionSettings().sft.steps


def test_the_base_is_taught_digits_then_words_then_everything_and_measured_before_and_after() -> None:
    plan = perception_words(RecipeContext(overrides=("sft.steps=40", "sft.batch_size=4", "evaluation_tasks=13")))
    plan.check()
    ways = ("looking", "silent", "reading", "gym", "gym_held_out")
    assert stages(plan) == [*(f"{way}_before" for way in ways), "sft", *(f"{way}_after" for way in ways)]
    shown = [{one.example.task.family for one in imitation(plan).demonstrations(step)} for step in range(40)]
    known = {*PerceptionWordsSettings().known, *PerceptionWordsSettings().costly}
    assert set().union(*shown[:5]) - known == {"reading_digits"}
    assert set().union(*shown[5:11]) - known == {"reading_print"}
    last = set().union(*shown[13:])
    assert {*PRINTED, "finding_words"} <= last
    assert len(last & {*gym_families()}) > 10
    assert not last & {*GYM_HELD_OUT}


def test_a_place_is_one_token_of_the_base_model() -> None:
    tokenizer = perception(RecipeContext()).build_model().tokenizer
    for place in PLACE_NAMES:
        assert len(tokenizer.encode(f"red {place}")) == 2
        assert tokenizer.decode(tokenizer.encode(f"red {place} blue")) == f"red {place} blue"


def test_look_closer_starts_from_the_base_model() -> None:
    plan = look_closer(RecipeContext())
    plan.check()
    assert stages(plan) == ["before", "sft", "after_sft", "rl", "after_rl"]
    assert stages(look_closer(RecipeContext(overrides=("sft.steps=0",)))) == ["before", "rl", "after_rl"]
    assert plan.build_model().layer_count >= 2


def test_families_whose_experts_do_not_crop_first_cannot_teach_the_habit() -> None:
    plan = look_closer(RecipeContext(overrides=('families=["counting"]', "careless_share=1")))
    with pytest.raises(UserError, match=r"the expert of task counting/.* does not begin with a crop.*careless_share=0"):
        imitation(plan).batch(0)


def test_a_demo_whose_every_question_is_asked_without_the_tool_is_refused() -> None:
    with pytest.raises(UserError, match=r"no_tool_tasks=16 must lie between 0 and rl.tasks_per_step - 1 \(15\)"):
        demo(RecipeContext(overrides=("no_tool_tasks=16",)))


def test_an_unknown_setting_of_a_recipe_is_named() -> None:
    with pytest.raises(UserError, match=r"sft\.learning_rate"):
        demo(RecipeContext(overrides=("sft.learning_rate=1",)))
