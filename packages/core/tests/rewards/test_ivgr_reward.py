"""iVGR's reward over both streams of a question: equation 3, the archive from step to step, and failing judges."""

import json
from dataclasses import replace

import pytest
from ivgr_samples import BLUE, RED, TASK, UNTARGETED, FixedJudge, grounded, scored, tag, textual

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.miniature.judges import PLACE, PLACES, ExactJudge
from saccade.rewards.groups import NO_VERDICT as NO_SCORE
from saccade.rewards.groups import score_question, score_questions
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.judges.consistency import ATTACK, NO_VERDICT, Ensemble, Verdict
from saccade.rewards.reward import GroupReward
from saccade.testing import check_reward
from saccade.types import Group, Score, Task, Term, Trajectory

EXACT = ExactJudge(values={PLACE: PLACES, "mark": ("white", "black", "cyan", "pink")})
REWARD = IvgrReward(consistency=EXACT)
GOOD = grounded(f"red {tag(RED)} white")
HALF = grounded(f"red {tag(Box(8, 8, 56, 32))} white", sample=1)
SAME, SHORT, FALSE = textual("red top leftmost white"), textual("red white"), textual("red pink", "pink")


def verdicts(**by_text: float | None) -> FixedJudge:
    return FixedJudge({text: Verdict(value=value) for text, value in by_text.items()})


def texts(*words: str) -> list[Trajectory]:
    return [textual(word, sample=index) for index, word in enumerate(words)]


def test_equation_3_by_hand() -> None:
    found, _ = scored(REWARD, GOOD, SAME, SHORT, FALSE)
    assert [score.total for score in found["textual"]] == [3.0, 2.7, 1.0]
    assert found["textual"][1] == Score(
        terms=(Term("format", 1.0), Term("accuracy", 1.0), Term("consistency", 0.7)),
        is_right=True,
        notes={"reference": 1.0, "from_archive": 0.0, "no_verdict": 0.0, "unjudgeable": 0.0, "judge_attack": 0.0},
    )
    assert found["grounded"] == [
        Score(
            terms=(Term("format", 1.0), Term("accuracy", 1.0), Term("box", 1.0)),
            is_right=True,
            notes={"boxes": 1.0, "box_recall": 1.0, "is_reference": 1.0},
        )
    ]


def test_weights_are_settings() -> None:
    weighted = IvgrReward(consistency=EXACT, format_weight=0.5, accuracy_weight=2.0, consistency_weight=10.0)
    found, _ = scored(weighted, GOOD, SHORT)
    assert found["textual"][0].total == 0.5 + 2.0 + 7.0


def test_the_reference_of_this_step_counts_whatever_order_the_streams_come_in() -> None:
    textual_first, memory = scored(REWARD, SHORT, GOOD)
    assert textual_first["textual"][0].values["consistency"] == 0.7
    assert memory == {"text": GOOD.turns[0].thought, "boxes": [[8.0, 8.0, 56.0, 56.0]], "box_reward": 1.0}


def test_without_a_reference_consistency_is_nothing_and_no_part() -> None:
    found, memory = scored(REWARD, grounded("red white"), SAME)
    assert found["textual"] == [
        Score(terms=(Term("format", 1.0), Term("accuracy", 1.0)), is_right=True, notes={"reference": 0.0})
    ]
    assert found["grounded"][0].notes["is_reference"] == 0.0
    assert memory is None


def test_a_reference_of_an_earlier_step_is_found_after_json() -> None:
    _, memory = scored(REWARD, GOOD)
    found, later = scored(REWARD, SAME, memory=json.loads(json.dumps(memory)))
    assert found["textual"][0].values["consistency"] == 1.0
    assert found["textual"][0].notes["from_archive"] == 1.0
    assert later == memory


def test_a_worse_reference_never_replaces_a_better_one() -> None:
    _, memory = scored(REWARD, GOOD)
    found, later = scored(REWARD, HALF, SAME, memory=memory)
    assert (later, found["textual"][0].notes["from_archive"]) == (memory, 1.0)
    _, lesser = scored(REWARD, HALF)
    found, later = scored(REWARD, GOOD, SAME, memory=lesser)
    assert (later, found["textual"][0].notes["from_archive"]) == (memory, 0.0)


def test_an_equal_reference_does_not_replace_the_one_that_is_there() -> None:
    _, memory = scored(REWARD, GOOD)
    found, later = scored(REWARD, grounded(f"blue and red {tag(RED)} white"), SAME, memory=memory)
    assert (later, found["textual"][0].notes["from_archive"]) == (memory, 1.0)


def test_without_the_archive_only_this_step_counts() -> None:
    variant = IvgrReward(consistency=EXACT, use_archive=False)
    found, memory = scored(variant, GOOD, SAME)
    assert (found["textual"][0].values["consistency"], memory) == (1.0, None)
    _, kept = scored(REWARD, GOOD)
    found, _ = scored(variant, SAME, memory=kept)
    assert found["textual"][0].notes == {"reference": 0.0}


def test_without_a_judge_both_streams_are_scored_alone() -> None:
    found, _ = scored(IvgrReward(consistency=None), GOOD, SAME, FALSE)
    assert [score.total for score in found["textual"]] == [2.0, 1.0]
    assert found["textual"][0].notes == {"reference": 1.0, "from_archive": 0.0}


def test_tau_decides_who_is_a_reference() -> None:
    assert scored(IvgrReward(consistency=EXACT, tau=0.5), HALF)[1] is None
    assert scored(IvgrReward(consistency=EXACT, tau=0.4), HALF)[1] is not None


def test_a_task_without_targets_is_scored_plainly() -> None:
    judge = FixedJudge({})
    right = textual("it is", task=UNTARGETED)
    found, memory = scored(IvgrReward(consistency=judge, plain_accuracy_weight=1.5), right, task=UNTARGETED)
    assert found["textual"] == [Score(terms=(Term("format", 1.0), Term("accuracy", 1.0, 1.5)), is_right=True)]
    assert memory is None


def test_without_a_verdict_a_trajectory_gets_no_more_than_the_lowest_of_its_siblings() -> None:
    reward = IvgrReward(consistency=verdicts(a=1.0, b=0.3, c=None))
    found, _ = scored(reward, GOOD, *texts("a", "b", "c"))
    assert [score.total for score in found["textual"]] == [3.0, 2.3, 2.3]
    assert found["textual"][2].values == {"format": 1.0, "accuracy": 1.0}
    assert [score.notes["no_verdict"] for score in found["textual"]] == [0.0, 0.0, 1.0]


def test_a_missing_verdict_among_equals_makes_no_difference_to_the_last_bit() -> None:
    reward = IvgrReward(consistency=verdicts(a=0.7, b=0.7, c=0.7))
    found, _ = scored(reward, GOOD, *texts("a", "b", "c", "lost", "gone"))
    assert len({score.total for score in found["textual"]}) == 1


def test_when_nobody_has_a_verdict_nobody_has_the_component() -> None:
    found, memory = scored(IvgrReward(consistency=verdicts()), GOOD, *texts("a", "b"))
    assert [score.total for score in found["textual"]] == [2.0, 2.0]
    assert all("consistency" not in score.values for score in found["textual"])
    assert all(score.notes["no_verdict"] == 1.0 for score in found["textual"])
    assert memory is not None


def test_an_attack_is_noted_and_is_no_missing_verdict() -> None:
    reward = IvgrReward(consistency=FixedJudge({"a": ATTACK, "b": Verdict(value=1.0)}))
    found, _ = scored(reward, GOOD, *texts("a", "b"))
    attack, honest = found["textual"]
    assert (attack.total, attack.values["consistency"]) == (2.0, 0.0)
    assert attack.notes == {"reference": 1.0, "from_archive": 0.0, "judge_attack": 1.0}
    assert (honest.total, honest.notes["judge_attack"]) == (3.0, 0.0)


def test_siblings_that_say_the_same_are_judged_once() -> None:
    asked: list[str] = []

    async def judge(task: Task, reference: object, target: str) -> Verdict:
        asked.append(target)
        return Verdict(value=1.0)

    scored(IvgrReward(consistency=judge), GOOD, *texts("a", "b", "a", "a"))
    assert asked == ["a", "b"]


def test_an_answer_without_a_verdict_leaves_its_trajectories_out() -> None:
    async def judge(task: Task, answer: str) -> float | None:
        return {"white": 1.0, "pale": 1.0}.get(answer)

    reward = IvgrReward(consistency=EXACT, accuracy=judge)
    pale = grounded(f"red {tag(RED)} white", "pale", sample=0)
    lost = grounded(f"red {tag(RED)} white", "?", sample=1)
    groups = [
        Group(task=TASK, stream="grounded", trajectories=(lost, pale)),
        Group(task=TASK, stream="textual", trajectories=(textual("red white", "?"), textual("red white", "pale"))),
    ]
    (boxed, words), memory = score_question(groups, reward)
    assert [one.failure for one in (*boxed.trajectories, *words.trajectories)] == [NO_SCORE, "", NO_SCORE, ""]
    assert boxed.trajectories[1].score.total == 3.0
    assert words.trajectories[1].score.total == 2.7
    assert memory is not None


def test_who_did_not_answer_is_wrong_without_asking() -> None:
    async def judge(task: Task, answer: str) -> float | None:
        raise AssertionError(f"asked about {answer!r}")

    cut = replace(SAME, status="token_limit")
    found, _ = scored(IvgrReward(consistency=None, accuracy=judge), cut)
    assert found["textual"][0].values == {"format": 0.0, "accuracy": 0.0}


def test_one_stream_is_never_scored_by_the_others_rewards() -> None:
    alone, _ = scored(REWARD, GOOD, HALF)
    beside, _ = scored(REWARD, GOOD, HALF, SAME, FALSE)
    assert beside["grounded"] == alone["grounded"]
    (boxed, words), _ = score_question(
        [
            Group(task=TASK, stream="grounded", trajectories=(GOOD,)),
            Group(task=TASK, stream="textual", trajectories=(SAME,)),
        ],
        REWARD,
    )
    assert (boxed.stream, words.stream) == ("grounded", "textual")
    assert set(boxed.trajectories[0].score.values) != set(words.trajectories[0].score.values)


def test_streams_may_have_other_names_but_no_unknown_one() -> None:
    named = IvgrReward(consistency=EXACT, grounded="looking", textual="talking")
    groups = [
        Group(task=TASK, stream="looking", trajectories=(GOOD,)),
        Group(task=TASK, stream="talking", trajectories=(SAME,)),
    ]
    (_, words), _ = score_question(groups, named)
    assert words.trajectories[0].score.values["consistency"] == 1.0
    with pytest.raises(UserError, match=r"not \['looking', 'talking'\]"):
        score_question(groups, REWARD)


def test_a_stream_whose_every_trajectory_failed_is_an_empty_one() -> None:
    lost = replace(GOOD, status="failed", failure="the engine is gone")
    found, memory = scored(REWARD, lost, SAME)
    assert (found["grounded"], found["textual"][0].notes, memory) == ([None], {"reference": 0.0}, None)


def test_printed_boxes_do_not_pay_in_the_textual_stream() -> None:
    plain, printed = textual("red top leftmost white"), textual(f"red {tag(RED)} top leftmost white")
    found, _ = scored(REWARD, GOOD, plain, printed)
    assert found["textual"][1].values == {"format": 0.0, "accuracy": 1.0, "consistency": 1.0}
    assert found["textual"][1].total < found["textual"][0].total


def test_a_question_that_comes_twice_in_a_batch_finds_its_own_reference() -> None:
    other = replace(TASK, id="plates/8")
    batch = [
        [Group(task=TASK, stream="grounded", trajectories=(GOOD,))],
        [Group(task=other, stream="textual", trajectories=(textual("red white", task=other),))],
        [Group(task=TASK, stream="textual", trajectories=(SAME,))],
    ]
    (_, (elsewhere,), (again,)), memory = score_questions(batch, REWARD, {})
    assert elsewhere.trajectories[0].score.notes == {"reference": 0.0}
    assert again.trajectories[0].score.notes["from_archive"] == 1.0
    assert set(memory) == {TASK.id}


def test_the_place_of_a_whole_reasoning_over_several_turns_is_understood() -> None:
    last = grounded(f"blue {tag(BLUE)} black").turns[0]
    both = replace(GOOD, turns=(GOOD.turns[0], replace(last, index=1)))
    two = replace(TASK, targets=(*TASK.targets, replace(TASK.targets[0], label="blue plate", box=BLUE)), answer="white")
    both = replace(both, turns=(both.turns[0], replace(both.turns[1], action=GOOD.turns[0].action)))
    found, _ = scored(REWARD, both, textual("red top leftmost white blue bottom rightmost black", task=two), task=two)
    assert found["textual"][0].values["consistency"] == 1.0


@pytest.mark.parametrize(
    "settings", [{"tau": 1.0}, {"tau": -0.1}, {"textual": "grounded"}, {"consistency_weight": float("inf")}]
)
def test_settings_that_mean_nothing_are_refused(settings: dict) -> None:
    with pytest.raises(
        UserError, match=next(iter(settings.values())) if "textual" in settings else next(iter(settings))
    ):
        IvgrReward(consistency=None, **settings)


def test_the_reward_keeps_the_contract_in_either_stream() -> None:
    assert isinstance(REWARD, GroupReward)
    check_reward(IvgrReward(consistency=EXACT, grounded="main"))
    check_reward(IvgrReward(consistency=EXACT, textual="main"))


def test_an_ensemble_is_the_mean_of_those_with_a_verdict() -> None:
    ensemble = Ensemble([verdicts(a=1.0, b=0.7), verdicts(a=0.0), FixedJudge({"c": ATTACK, "b": NO_VERDICT})])
    found, _ = scored(IvgrReward(consistency=ensemble), GOOD, *texts("a", "b", "c", "d"))
    assert [score.values.get("consistency") for score in found["textual"]] == [0.5, 0.7, 0.0, None]
    assert [score.notes["judge_attack"] for score in found["textual"]] == [0.0, 0.0, 1.0, 0.0]
    with pytest.raises(UserError, match="at least one"):
        Ensemble([])
