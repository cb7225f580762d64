"""Argos' reward over exact regions: the gate, the weights, what machines fail, and what is asked of back ends."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from argos_samples import BESIDE, IMAGE, ON_BLUE, ON_RED, TASK, Counted, point, reward, said, scored, totals

from saccade.errors import UserError
from saccade.geometry import Mask
from saccade.rewards import score_questions
from saccade.rewards.argos import (
    AnswerRequest,
    ArgosReward,
    CachedRegions,
    ExactRegions,
    NoisyRegions,
    RegionRequest,
    Selection,
    Verifier,
)
from saccade.rewards.argos.selection import by_rules
from saccade.types import Group


def test_a_right_answer_is_paid_for_its_points_and_a_wrong_one_is_not() -> None:
    assert totals(
        reward(),
        said("white", point("red plate", ON_RED)),
        said("white", point("red plate", ON_BLUE)),
        said("white", point("red plate", ON_RED), point("blue plate", BESIDE)),
        said("white"),
        said("black", point("red plate", ON_RED)),
        said(None, point("red plate", ON_RED)),
    ) == [1.0, 0.5, 0.75, 0.5, 0.0, 0.0]


def test_weights_and_the_plain_sum() -> None:
    right, wrong = said("white", point("red plate", ON_BLUE)), said("black", point("red plate", ON_RED))
    assert totals(reward(grounding_weight=3.0), right, wrong) == [0.25, 0.0]
    assert totals(reward(aggregation="sum"), right, wrong) == [0.5, 0.5]
    assert totals(reward(grounding_weight=0.0, verifier=Verifier()), right, wrong) == [1.0, 0.0]


def test_what_a_machine_fails_on_has_no_score_and_its_siblings_have_theirs() -> None:
    regions = Counted(ExactRegions(), fails=["blue plate"])
    assert totals(
        reward(Verifier(regions=regions)),
        said("white", point("red plate", ON_RED)),
        said("white", point("red plate", BESIDE), point("red plate", ON_RED)),
        said("white", point("blue plate", BESIDE)),
        said("black", point("blue plate", BESIDE)),
    ) == [1.0, 0.75, None, 0.0]
    assert totals(reward(Verifier(regions=regions)), said("white", point("blue plate", ON_BLUE))) == [None]


class Lying:
    """A service that sends masks of the wrong size."""

    identity = "lying"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...]]:
        return [(Mask(width=9, height=9, counts=(0, 81)),) for _ in requests]


def test_a_mask_of_another_size_is_no_verdict() -> None:
    assert totals(reward(Verifier(regions=Lying())), said("white", point("red plate", ON_RED))) == [None]


def test_a_batch_asks_once_for_each_picture_and_label() -> None:
    regions = Counted(ExactRegions())
    of = reward(Verifier(regions=regions))
    tasks = [replace(TASK, id=f"t{number}") for number in range(5)]
    members = tuple(said("white", point("red plate", ON_RED), point("blue plate", BESIDE)) for _ in range(4))
    questions = [[Group(task=task, stream="main", trajectories=members)] for task in tasks]
    score_questions(questions, of, {})
    assert len(regions.calls) == 1
    score_questions(questions, of, {})  # Another step, in an event loop of its own.
    assert len(regions.calls) == 2


def test_what_the_gate_makes_worthless_is_not_measured_but_for_a_share() -> None:
    wrong = [said("black", point("red plate", ON_RED)) for _ in range(64)]
    regions = Counted(ExactRegions())
    scored(reward(Verifier(regions=regions)), *wrong)
    assert regions.calls == []
    found = scored(reward(Verifier(regions=regions), measured_share=0.25), *wrong)
    measured = sum("grounding" in one.notes for one in found if one is not None)
    assert 4 <= measured <= 32
    assert {one.total for one in found if one is not None} == {0.0}


def test_a_reward_without_its_back_ends_says_so() -> None:
    right = said("white", point("red plate", ON_RED))
    with pytest.raises(UserError, match="has no verifier"):
        totals(ArgosReward(), right)
    with pytest.raises(UserError, match="has no regions"):
        totals(ArgosReward(verifier=Verifier()), right)
    with pytest.raises(UserError, match="has no teacher"):
        totals(reward(reasoning_weight=1.0), right)
    with pytest.raises(UserError, match="no scorer 'spacial'"):
        Selection(("spacial",))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="both measure grounding"):
        Selection(("detector", "video"))


def test_measures_are_within_five_percent_and_counts_are_not() -> None:
    measure = replace(TASK, answer="12.2", answer_kind="number", tolerance=0.0)
    count = replace(TASK, answer="21", answer_kind="integer")
    only = ArgosReward(grounding_weight=0.0, reasoning_weight=0.0)
    assert totals(only, said("12.5"), said("13"), task=measure) == [1.0, 0.0]
    assert totals(replace(only, tolerance=None), said("12.5"), task=measure) == [0.0]
    assert totals(only, said("20"), said("21"), task=count) == [0.0, 1.0]
    # Of the kind number it measures, however it is written.
    whole = replace(TASK, answer="21", answer_kind="number")
    assert totals(only, said("20"), said("19"), task=whole) == [1.0, 0.0]


def test_noisy_regions_are_wrong_for_a_share_of_labels_always_the_same() -> None:
    tasks = [replace(TASK, images=(replace(IMAGE, hash=f"picture {number}"),)) for number in range(400)]
    requests = [RegionRequest(task=task, image_index=0, label="red plate") for task in tasks]
    noisy = NoisyRegions(inner=ExactRegions(), share=0.3, seed=1)
    found, true = noisy.find(requests), ExactRegions().find(requests)
    assert noisy.find(requests) == found
    assert 0.22 < sum(one != right for one, right in zip(found, true)) / 400 < 0.38
    assert list(NoisyRegions(inner=ExactRegions(), share=0.0).find(requests)) == list(true)


def test_seconds_of_each_back_end_and_what_was_known_are_told_once() -> None:
    class Sure:
        def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...]]:
            return [(0.0,)] * len(requests)

    verifier = Verifier(regions=CachedRegions(inner=ExactRegions()), teacher=Sure())
    of = reward(verifier, reasoning_weight=1.0)
    right = said("white", point("red plate", ON_RED), thought="white")
    assert totals(of, right, right) == [1.0, 1.0]
    assert totals(of, right) == [1.0]
    told = verifier.meters()
    assert {name: value for name, value in told.items() if not name.endswith("_s")} == {
        "region_requests": 2.0,
        "regions_sought": 1.0,
        "regions_failed": 0.0,
        "regions_known": 0.5,
    }
    assert all(told[name] > 0 for name in ("regions_s", "teacher_s"))
    assert verifier.meters() == {"region_requests": 0.0, "regions_sought": 0.0, "regions_failed": 0.0}


def test_a_thought_that_ends_with_another_answer_is_noted() -> None:
    found = scored(
        reward(),
        said("white", thought='a <point x="1" y="1">white</point> mark'),
        said("white", thought="it is black, no, black"),
        said("black", thought="it is white"),
        said("white"),
    )
    assert [None if one is None else one.notes.get("agreement") for one in found] == [1.0, None, 0.0, None]


@pytest.mark.parametrize(
    ("family", "metric", "finder"),
    [
        ("vegetables", "", "detector"),
        ("stable", "", "detector"),
        ("mapillary photos", "", "detector"),
        ("uncharted", "", "detector"),
        ("figurines", "", "detector"),
        ("bar charts", "", "pointer"),
        ("map_regions", "", "pointer"),
        ("geometry3k", "", "pointer"),
        ("own", "chartqa", "pointer"),
    ],
)
def test_scorers_are_chosen_by_words(family: str, metric: str, finder: str) -> None:
    assert by_rules(replace(TASK, family=family, metric=metric)).grounding == (finder,)
    # The name of a file stands for the family of rows that give none.
    assert by_rules(replace(TASK, family=family, source=family)).grounding == ("detector",)
