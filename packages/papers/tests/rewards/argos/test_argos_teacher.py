"""The teacher's part of Argos' reward: what it is shown of a reasoning, and what saying the answer earns."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from argos_samples import TASK, SaysSo, point, reward, said, scored, totals

from saccade.errors import MachineError, RefusalError
from saccade.rewards.argos import AnswerRequest, ArgosReward, ExactRegions, Verifier, VerifierForms
from saccade.rewards.argos.conclusion import spellings_of, with_one_conclusion, without_conclusion
from saccade.rewards.judges.llm_judge import BLAMED_AFTER


@dataclass
class Swayed:
    """A teacher to whom an answer is the more probable, the more often the reasoning says it; it refuses some."""

    refuses: str = "\0"
    asked: list[AnswerRequest] = field(default_factory=list)

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        self.asked += requests
        return [
            RefusalError("too long") if self.refuses in one.reasoning else (-1 / (1 + one.reasoning.count(one.answer)),)
            for one in requests
        ]


def with_teacher(teacher: Swayed | SaysSo | None = None, **forms: object) -> ArgosReward:
    of = VerifierForms(**forms)  # type: ignore[arg-type]
    verifier = Verifier(regions=ExactRegions(), teacher=teacher or SaysSo(), forms=of)
    return reward(verifier, grounding_weight=0.0, reasoning_weight=1.0)


def test_saying_the_answer_earns_its_probability_only_where_it_is_shown() -> None:
    honest = said("white", thought="The red plate is upper left. Its mark is bright.")
    loud = said("white", thought="The answer is white. " * 40)
    shown = totals(with_teacher(conclusion="shown"), honest, loud)
    hidden = totals(with_teacher(conclusion="hidden"), honest, loud)
    assert shown == [pytest.approx((1 + 0.1353353) / 2), 1.0]
    assert hidden[0] == hidden[1] == pytest.approx((1 + 0.1353353) / 2)
    gain = totals(with_teacher(conclusion="gain"), honest, loud)
    assert gain == [0.5, pytest.approx((1 + 1 - 0.1353353) / 2)]
    product = totals(with_teacher(probability="product"), honest)
    assert product == [pytest.approx((1 + 0.0183156) / 2)]


@pytest.mark.parametrize("loud", ["white " * 40, "So it is white. " * 40, "White, white; " * 20 + "w h i t e. " * 20])
def test_saying_the_answer_forty_times_is_worth_no_more_than_once(loud: str) -> None:
    once, forty = said("white", thought="It is white"), said("white", thought=f"{loud} It is white")
    closed, gain = (totals(with_teacher(Swayed(), conclusion=form), once, forty) for form in ("once", "gain"))
    assert (closed[0], gain[0]) == (closed[1], gain[1])
    open_to_it = totals(with_teacher(Swayed(), conclusion="shown"), once, forty)
    assert open_to_it[0] is not None
    assert open_to_it[1] is not None
    assert open_to_it[1] > open_to_it[0] + 0.1


@pytest.mark.parametrize(
    ("thoughts", "answer", "kept"),
    [
        ("The white plate is left. So it is White.", "white", "The … plate is left. So it is White."),
        ("red white blue black red white blue black", "white and black", "red … blue … red white blue black"),
        ("red white blue white", "white and white", "red white blue white"),
        ("A plate with a B. Is it A? It is A.", "A", "A plate with a B. Is it …? It is A."),
        ("It is w h i t e. ｗｈｉｔｅ! It is bright.", "white", "It is bright."),
        ("whiteness of snow", "white", "whiteness of snow"),
        ("nothing", " ", "nothing"),
        (
            "Bar A is 2.5, bar B 2.25. In 2,000 homes there are 2 bars, so 2.",
            "2",
            "Bar A is 2.5, bar B 2.25. In 2,000 homes there are … bars, so 2.",
        ),
        ("The 2nd of 12 is -2 or 2/3 or 2%. So 2.", "2", "The 2nd of 12 is -2 or 2/3 or 2%. So 2."),
        ("A car is left of a bus. A man waits. So A.", "A", "A car is left of a bus. A man waits. So A."),
        ("Here is a car. Option A shows it.", "A", "Here is a car. Option A shows it."),
        ("The no parking sign says no. It is red, so no.", "no", "The no parking sign says …. It is red, so no."),
        ("A yes vote. Is it? Yes.", "yes", "A … vote. Is it? Yes."),
        ("Paris is big. The capital is Paris.", "Paris", "… is big. The capital is Paris."),
        ("Two dogs and a dog. So dog.", "dog", "Two dogs and a …. So dog."),
        ("pinks pinks pinks", "pink", "pinks"),
    ],
)
def test_of_mentions_of_the_answer_the_last_is_kept(thoughts: str, answer: str, kept: str) -> None:
    assert with_one_conclusion(thoughts, answer) == kept


def test_repeats_of_an_option_s_text_and_of_a_number_s_word_are_one() -> None:
    options = replace(TASK, answer="A", answer_kind="choice", choices=("church tower", "bridge"))
    kept = with_one_conclusion("church tower " * 40 + "So A.", "A", *spellings_of(options, "A"))
    assert kept == "church tower So A."
    assert with_one_conclusion("four " * 40 + "4", "4", *spellings_of(TASK, "4")) == "four 4"


@pytest.mark.parametrize(
    ("thoughts", "answer", "kept"),
    [
        ("It is 2.5 m. So 2.", "2", "It is 2.5 m."),
        ("A car is here. So it is A.", "A", "A car is here."),
        ("There is a car. So Ａ.", "A", "There is a car."),
        ("A no parking sign. So no.", "no", "A no parking sign."),
    ],
)
def test_what_only_holds_the_answer_s_letters_is_no_conclusion(thoughts: str, answer: str, kept: str) -> None:
    assert without_conclusion(thoughts, answer) == kept


def test_the_conclusion_is_cut_out_by_sentences() -> None:
    thoughts = "It is upper left. So the mark is White. Off-white things\nare whitewashed."
    assert without_conclusion(thoughts, "white") == "It is upper left. are whitewashed."


@pytest.mark.parametrize(
    "disguise", ["WHITE", "w-h-i-t-e", "w h i t e", "ｗｈｉｔｅ", "whіte", "wh\u200bite", "*wh*ite"]
)
def test_a_disguise_hides_no_conclusion(disguise: str) -> None:
    assert without_conclusion(f"It is upper left. So it is {disguise}.", "white") == "It is upper left."


def test_an_option_s_text_and_a_number_s_word_are_conclusions_too() -> None:
    options = replace(TASK, answer="B", answer_kind="choice", choices=("black", "white"))
    assert spellings_of(options, "B") == ("B", "white")
    assert spellings_of(TASK, "7") == ("7", "seven")
    assert without_conclusion("I count. There are seven.", *spellings_of(TASK, "7")) == "I count."


def test_a_label_that_is_the_answer_says_it() -> None:
    """Points are taken out for the teacher, their labels stay: they are words of the reasoning."""
    labelled = said("white", point("white", (15, 15)), thought='It is <point x="15" y="15">white</point>.')
    plain = said("white", thought="It is bright.")
    hidden = totals(with_teacher(conclusion="hidden"), labelled, plain)
    assert hidden[0] == hidden[1]


def test_a_teacher_that_fails_leaves_no_score(caplog: pytest.LogCaptureFixture) -> None:
    found = scored(with_teacher(), said("white", thought="white"), said("white", thought="crash"))
    assert [None if one is None else one.total for one in found] == [1.0, None]
    assert [one.getMessage().partition(",")[0] for one in caplog.records] == [
        "the verifier's teacher failed on 1 of 2 requests"
    ]


def test_a_reasoning_that_makes_the_teacher_refuse_is_worth_nothing() -> None:
    teacher = Swayed(refuses="lorem")
    honest, tricky = said("white", thought="It is white"), said("white", thought="lorem ipsum")
    assert totals(with_teacher(teacher), honest, tricky) == [pytest.approx((1 + 0.6065307) / 2), 0.5]
    assert sum("lorem" in one.reasoning for one in teacher.asked) == BLAMED_AFTER + 1
    down = Swayed(refuses="")
    assert totals(with_teacher(down), honest, tricky) == [None, None]
