"""Judges of drawn pictures: the exact one, and one that errs at set rates."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from ivgr_samples import BLUE, RED, TASK, UNTARGETED, tag

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.miniature.judges import PLACE, PLACES, ErringJudge, ExactJudge, JudgeErrors
from saccade.rewards.judges.consistency import ATTACK, NO_VERDICT, RUBRIC, SAYS_NOTHING, Reference, Verdict
from saccade.testing.hostile import HOSTILE_TEXTS
from saccade.types import SceneObject, Task

MARKS = ("white", "black", "cyan", "pink")
JUDGE = ExactJudge(values={PLACE: PLACES, "mark": MARKS})
WHITE_RED = Reference(text=f"red {tag(RED)} white", boxes=(RED,), box_reward=1.0)


def verdict(target: str, reference: Reference = WHITE_RED, *, judge: ExactJudge = JUDGE, task: Task = TASK) -> Verdict:
    return asyncio.run(judge(task, reference, target))


def value(target: str, reference: Reference = WHITE_RED, **settings) -> float | None:
    return verdict(target, reference, **settings).value


def in_words(text: str, *boxes: Box) -> Reference:
    return Reference(text=text, boxes=boxes, box_reward=1.0)


def test_the_same_facts_in_words_are_the_same() -> None:
    assert value("red top leftmost white") == 1.0
    assert value("I see it: the RED plate, at the top, leftmost, has a white mark.") == 1.0
    assert value("red white, yes, red top leftmost, white again") == 1.0


def test_one_kind_of_difference() -> None:
    assert value("red white") == 0.7
    assert value("red top leftmost") == 0.7
    assert value("red top leftmost white blue black") == 0.7


def test_both_kinds_of_difference() -> None:
    assert value("red white blue black") == 0.3
    assert value("blue bottom rightmost black") == 0.3


@pytest.mark.parametrize(
    "text",
    [
        "red top leftmost pink",
        "red bottom leftmost white",
        "red top leftmost white blue cyan",
        "red top leftmost white black",
    ],
)
def test_whatever_ground_truth_denies_is_a_contradiction(text: str) -> None:
    assert value(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "red is not white",
        "red isn’t white, top leftmost",
        "red is never white",
        "red top leftmost, no white",
        "red is neither white nor pink",
        "red nicht white",
        "The white mark is not on the red plate",
        "It is false that red is white",
        "It is not true that red is white, top leftmost",
        "red top leftmost white is wrong",
        "red top leftmost white. That is not so.",
    ],
)
def test_who_denies_what_is_true_contradicts(text: str) -> None:
    assert value(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "red is not pink, it is white, top leftmost",
        "red is neither pink nor cyan but white, top leftmost",
        "red top leftmost white, not pink or cyan",
        "There is no doubt: red is white, top leftmost",
        "red is not only white, also top leftmost",
        "not blue: red top leftmost white",
        "It is not false that red is top leftmost white",
    ],
)
def test_who_denies_what_is_false_says_the_same(text: str) -> None:
    assert value(text) == 1.0


def test_what_stands_before_the_first_name_is_said_of_it() -> None:
    assert value("top leftmost, white: red") == value("At the top leftmost there is a white mark on red.") == 1.0
    assert value("pink: red top leftmost white") == value("black red top leftmost white") == 0.0


def test_without_ground_truth_a_denial_is_held_against_the_reference() -> None:
    blind = replace(JUDGE, knows_truth=False)
    assert value("red is not white", judge=blind) == 0.0
    assert value("red top leftmost, not pink, white", judge=blind) == 1.0


def test_naming_every_value_is_no_way_out() -> None:
    assert value(f"red {' '.join(PLACES)} {' '.join(MARKS)}") == 0.0


def test_a_text_that_says_nothing_shares_nothing() -> None:
    assert [value(text) for text in ("", "the plate", "white", "red", "top leftmost white")] == [SAYS_NOTHING] * 5


def test_a_wrong_value_is_found_only_where_it_is_known_to_be_one() -> None:
    assert value("red top leftmost white pink", judge=ExactJudge()) == 1.0
    assert value("red top leftmost black", judge=ExactJudge()) == 0.0
    assert value("red bottom left white", judge=ExactJudge(values={})) == 0.7


def test_a_reference_that_says_nothing_gives_no_verdict_but_on_contradictions() -> None:
    nothing = in_words(f"here {tag(RED)}", RED)
    assert verdict("red white", nothing) == NO_VERDICT
    assert verdict("", nothing) == NO_VERDICT
    assert value("red pink", nothing) == 0.0


def test_a_box_says_the_place_of_its_centre() -> None:
    words = in_words("red top leftmost white")
    assert value("red top leftmost white", words) == value("red top leftmost white", WHITE_RED) == 1.0
    plate_between = in_words(f"the red plate {tag(RED)} is white", RED)
    assert value("red top leftmost white", plate_between) == 1.0


def test_a_box_belongs_to_the_name_before_it_and_a_second_one_to_nobody() -> None:
    both = in_words(f"{tag(BLUE)} red {tag(RED)} {tag(BLUE)} white blue {tag(BLUE)}", BLUE, RED, BLUE, BLUE)
    assert value("red top leftmost white blue bottom rightmost", both) == 1.0


def test_boxes_that_are_no_box_state_nothing() -> None:
    assert value("red white", in_words(f"red {tag(RED)} white")) == 1.0


def test_a_reference_with_its_box_in_the_wrong_place_contradicts_nobody() -> None:
    wrong = in_words(f"red {tag(BLUE)} white", BLUE)
    # The truth is missing in the reference, and what the reference says is missing in the text.
    assert value("red top leftmost white", wrong) == 0.3
    assert value("red bottom rightmost white", wrong) == 0.0


def test_printed_boxes_are_no_places() -> None:
    assert value(f"red {tag(RED)} white") == 0.7


def test_the_way_from_a_box_to_a_place_is_a_setting() -> None:
    halves = ExactJudge(values={PLACE: ("west", "east")}, place=lambda box: "west" if box.center.x < 128 else "east")
    red = SceneObject(name="red", box=RED, attributes={PLACE: "west", "mark": "white"})
    task = replace(TASK, objects=(red,))
    assert value("red west white", judge=halves, task=task) == 1.0
    assert value("red east white", judge=halves, task=task) == 0.0


def test_the_longest_phrase_counts_and_words_are_whole() -> None:
    cup = SceneObject(name="cup", box=RED, attributes={"side": "left", "colour": "red"})
    saucer = SceneObject(name="cup and saucer", box=BLUE, attributes={"side": "upper left", "colour": "blue"})
    task = replace(TASK, objects=(cup, saucer))
    says = in_words("cup and saucer upper left, cup left")
    judge = ExactJudge(values={})
    assert value("the Cup and Saucer: upper-left. The cup: left.", says, judge=judge, task=task) == 1.0
    assert value("cup upper left", says, judge=judge, task=task) == 0.0
    assert value("cupboard left, cup left", says, judge=judge, task=task) == 0.7
    corners = ExactJudge(values={"side": ("upper left corner",)})
    assert value("cup and saucer upper left corner", says, judge=corners, task=task) == 0.0


def test_a_value_of_two_kinds_is_meant_as_the_true_one() -> None:
    flag = SceneObject(name="flag", box=RED, attributes={"field": "red", "border": "white"})
    sail = SceneObject(name="sail", box=BLUE, attributes={"field": "white"})
    task = replace(TASK, objects=(sail, flag))
    judge = ExactJudge(values={"field": ("white", "red"), "border": ("white", "red")})
    assert value("flag white red", in_words("flag red white"), judge=judge, task=task) == 1.0
    assert value("flag white", in_words("flag red"), judge=judge, task=task) == 0.3


def test_a_task_that_names_nothing_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match=r"plain/1 of family 'plates' does not tell.*by a model"):
        verdict("red", task=UNTARGETED)


@pytest.mark.parametrize("text", [*HOSTILE_TEXTS, "<box>" * 20_000, "red <box>" * 5000])
def test_hostile_texts_get_a_verdict(text: str) -> None:
    assert value(text) in (0.0, 0.3, 0.7)
    assert value("red white", in_words(text, RED)) in (None, 0.3, 0.7, 1.0)


REFERENCE = Reference(text=f"red {tag(RED)} white", boxes=(RED,), box_reward=1.0)


def always(verdict: Verdict):  # type: ignore[no-untyped-def]
    async def judge(task: Task, reference: Reference, target: str, /) -> Verdict:
        return verdict

    return judge


def verdicts(given: Verdict, count: int = 1000, seed: int = 0, **errors: float) -> list[Verdict]:
    judge = ErringJudge(judge=always(given), errors=JudgeErrors(**errors), seed=seed)

    async def asked() -> list[Verdict]:
        return [await judge(TASK, REFERENCE, f"text {number}") for number in range(count)]

    return asyncio.run(asked())


def test_wrong_verdicts_are_the_other_values_of_the_rubric_each_as_often() -> None:
    counts = Counter(verdict.value for verdict in verdicts(Verdict(value=1.0), wrong_share=0.3))
    assert 640 < counts.pop(1.0) < 760
    assert set(counts) == {0.0, 0.3, 0.7}
    assert all(70 < count < 130 for count in counts.values())


def test_some_questions_have_no_verdict() -> None:
    given = verdicts(Verdict(value=0.7), no_verdict_share=0.2)
    assert 160 < given.count(NO_VERDICT) < 240
    assert given.count(NO_VERDICT) + given.count(Verdict(value=0.7)) == 1000


@pytest.mark.parametrize(
    ("bias", "leads"),
    [(1.0, {0.0: 0.3, 0.3: 0.7, 0.7: 1.0, 1.0: 1.0}), (-1.0, {0.0: 0.0, 0.3: 0.0, 0.7: 0.3, 1.0: 0.7})],
)
def test_a_biased_judge_is_one_value_of_the_rubric_too_kind_or_too_strict(
    bias: float, leads: dict[float, float]
) -> None:
    assert {value: verdicts(Verdict(value=value), 1, bias=bias)[0].value for value in RUBRIC} == leads
    half = verdicts(Verdict(value=0.3), bias=bias / 2)
    assert 430 < half.count(Verdict(value=0.3)) < 570


def test_the_mean_of_several_judges_leans_from_the_nearest_value() -> None:
    assert verdicts(Verdict(value=0.65), 1, bias=1.0) == [Verdict(value=1.0)]
    assert verdicts(Verdict(value=0.65), 1) == [Verdict(value=0.65)]


def test_the_same_is_asked_and_the_same_is_said_whatever_was_asked_before() -> None:
    errors = {"wrong_share": 0.4, "no_verdict_share": 0.1, "bias": 0.3}
    given = verdicts(Verdict(value=1.0), 50, **errors)
    assert verdicts(Verdict(value=1.0), 20, **errors) == given[:20]
    assert verdicts(Verdict(value=1.0), 50, seed=1, **errors) != given


def test_an_attack_stays_one_and_what_the_machine_fails_stays_failed() -> None:
    assert set(verdicts(ATTACK, 50, wrong_share=1.0, bias=1.0)) == {ATTACK}
    assert set(verdicts(NO_VERDICT, 50, wrong_share=1.0, bias=1.0)) == {NO_VERDICT}


def test_rates_are_rates() -> None:
    JudgeErrors(wrong_share=1.0, no_verdict_share=1.0, bias=-1.0).check()
    for errors in (JudgeErrors(wrong_share=1.1), JudgeErrors(no_verdict_share=-0.1), JudgeErrors(bias=-1.1)):
        with pytest.raises(UserError, match="is a share and must lie between"):
            errors.check()


def blind(text: str, reference: Reference) -> float | None:
    judge = ExactJudge(values={PLACE: PLACES, "mark": ("white", "black", "cyan", "pink")}, knows_truth=False)
    return asyncio.run(judge(TASK, reference, text)).value


def test_without_ground_truth_the_reference_is_the_truth() -> None:
    wrong = Reference(text=f"red {tag(BLUE)} black", boxes=(BLUE,), box_reward=0.4)
    assert blind("red bottom rightmost black", wrong) == 1.0
    assert blind("red top leftmost white", wrong) == 0.0
    assert blind("red bottom rightmost white", wrong) == 0.0
    assert blind("red black", wrong) == 0.7
    # Nobody knows what the reference does not speak of: it is only more than that.
    assert blind("red bottom rightmost black blue pink", wrong) == 0.7
    assert blind("blue cyan", wrong) == 0.3
    assert blind("", wrong) == 0.3
