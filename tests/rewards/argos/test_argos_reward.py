"""Argos' reward over exact regions: the gate, what machines fail, and the ways to be paid without the work."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from saccade.errors import MachineError, UserError
from saccade.geometry import Box, Mask, Point
from saccade.rewards import score_questions
from saccade.rewards.argos import (
    AnswerRequest,
    ArgosReward,
    CachedRegions,
    ExactRegions,
    NoisyRegions,
    RegionRequest,
    Regions,
    Selection,
    Verifier,
    VerifierForms,
)
from saccade.rewards.argos.verifier import without_conclusion
from saccade.types import (
    Answer,
    Group,
    ImageRef,
    Json,
    Malformed,
    PointMention,
    SceneObject,
    Score,
    Task,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

IMAGE = ImageRef(hash="picture", width=100, height=50)
TASK = Task(
    id="t",
    family="plates",
    question="Which mark is on the red plate?",
    answer="white",
    answer_kind="exact",
    images=(IMAGE,),
    objects=(
        SceneObject(name="red plate", box=Box(10, 10, 20, 20)),
        SceneObject(name="blue plate", box=Box(60, 10, 70, 20)),
        SceneObject(name="table", box=Box(0, 0, 100, 50)),
    ),
)
ON_RED, ON_BLUE, BESIDE = (15, 15), (65, 15), (90, 40)


def point(label: str, at: tuple[float, float] | None, **where: int) -> PointMention:
    return PointMention(text="", label=label, point=None if at is None else Point(*at), **where)


def said(answer: str | None, *points: PointMention, thought: str = "", sample: int = 0) -> Trajectory:
    action = Malformed(why="") if answer is None else Answer(text=answer)
    turn = Turn(index=0, text="", thought=thought, action=action, is_well_formed=True, points=points)
    status: TrajectoryStatus = "turn_limit" if answer is None else "answered"
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status=status,
    )


class Counted:
    """Regions that are counted, and of which those of some labels fail."""

    def __init__(self, inner: Regions, *, fails: Sequence[str] = ()) -> None:
        self.inner, self.fails, self.calls = inner, fails, list[list[str]]()
        self.identity = "counted"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...] | MachineError]:
        self.calls.append([one.label for one in requests])
        return [
            MachineError("down") if request.label in self.fails else found
            for request, found in zip(requests, self.inner.find(requests))
        ]


def reward(verifier: Verifier | None = None, **changes: object) -> ArgosReward:
    exact = Verifier(regions=ExactRegions())
    whole = ArgosReward(verifier=verifier or exact, reasoning_weight=0.0, measured_share=0.0)
    return replace(whole, **changes)  # type: ignore[arg-type]


def scored(of: ArgosReward, *trajectories: Trajectory, task: Task = TASK) -> list[Score | None]:
    members = tuple(replace(one, sample=index) for index, one in enumerate(trajectories))
    ([group],), _ = score_questions([[Group(task=task, stream="main", trajectories=members)]], of, {})
    return [one.score for one in group.trajectories]


def totals(of: ArgosReward, *trajectories: Trajectory, task: Task = TASK) -> list[float | None]:
    return [None if one is None else one.total for one in scored(of, *trajectories, task=task)]


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


def test_one_easy_point_many_times_is_one_point() -> None:
    honest = [point("red plate", ON_RED), point("blue plate", BESIDE)]
    easy = [point("Red plate", (12 + step / 20, 15)) for step in range(62)]
    assert totals(reward(), said("white", *honest), said("white", *honest, *easy)) == [0.75, 0.75]
    open_to_it = reward(Verifier(regions=ExactRegions(), forms=VerifierForms(distinct=False)))
    [found] = totals(open_to_it, said("white", *honest, *easy))
    assert found is not None
    assert found > 0.99


@pytest.mark.parametrize(
    "mention",
    [
        point("table", ON_RED),  # It covers all of the picture.
        point("", ON_RED),
        point("red plate", None),
        point("red plate", (100.5, 15)),
        point("red plate", ON_RED, image_index=1),
        point("red plate", ON_RED, image_index=-1),
        point("\ud800", ON_RED),
    ],
)
def test_what_points_at_nothing_is_worth_nothing(mention: PointMention) -> None:
    assert totals(reward(), said("white", mention)) == [0.5]


def test_the_task_and_not_the_response_selects() -> None:
    """Selected by the response, silence earns more than an honest point beside its thing."""
    silent, honest = said("white"), said("white", point("red plate", BESIDE))
    assert totals(reward(), silent, honest) == [0.5, 0.5]
    by_response = Verifier(regions=ExactRegions(), forms=VerifierForms(selected_by="response"))
    assert totals(reward(by_response), silent, honest) == [1.0, 0.5]

    class NoGrounding:
        async def __call__(self, task: Task, remembered: Json, /) -> Selection:
            return Selection(("teacher",))

    assert totals(reward(selector=NoGrounding()), silent, honest) == [1.0, 1.0]


def test_what_a_machine_fails_takes_the_mean_of_its_siblings() -> None:
    regions = Counted(ExactRegions(), fails=["blue plate"])
    found = scored(
        reward(Verifier(regions=regions)),
        said("white", point("red plate", ON_RED)),
        said("white", point("red plate", BESIDE), point("red plate", ON_RED)),
        said("white", point("blue plate", BESIDE)),
    )
    assert [None if one is None else one.total for one in found] == [1.0, 0.75, pytest.approx((1 + 0.75) / 2)]
    assert found[2] is not None
    assert found[2].terms[1].filled_from == "no verdict: the mean of its siblings"
    assert found[2].notes["no_verdict"] == 1.0
    assert totals(reward(Verifier(regions=regions)), said("white", point("blue plate", ON_BLUE))) == [1.0]


class Lying:
    """A service that sends masks of the wrong size."""

    identity = "lying"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...]]:
        return [(Mask(width=9, height=9, counts=(0, 81)),) for _ in requests]


def test_a_mask_of_another_size_is_no_verdict() -> None:
    [found] = scored(reward(Verifier(regions=Lying())), said("white", point("red plate", ON_RED)))
    assert found is not None
    assert ([term.name for term in found.terms], found.notes["no_verdict"]) == (["accuracy"], 1.0)


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


class SaysSo:
    """A teacher that finds an answer probable as soon as the reasoning says it."""

    def __init__(self) -> None:
        self.asked: list[AnswerRequest] = []

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        self.asked += requests
        return [
            MachineError("down")
            if "crash" in one.reasoning
            else ((0.0,) if one.answer in one.reasoning else (-1.0, -3.0))
            for one in requests
        ]


def with_teacher(**forms: object) -> ArgosReward:
    verifier = Verifier(regions=ExactRegions(), teacher=SaysSo(), forms=VerifierForms(**forms))  # type: ignore[arg-type]
    return reward(verifier, grounding_weight=0.0, reasoning_weight=1.0)


def test_saying_the_answer_forty_times_earns_its_probability_only_where_it_is_shown() -> None:
    honest = said("white", thought="The red plate is upper left. Its mark is bright.")
    loud = said("white", thought="The answer is white. " * 40)
    shown, hidden = totals(with_teacher(), honest, loud), totals(with_teacher(conclusion="hidden"), honest, loud)
    assert shown == [pytest.approx((1 + 0.1353353) / 2), 1.0]
    assert hidden[0] == hidden[1] == pytest.approx((1 + 0.1353353) / 2)
    gain = totals(with_teacher(conclusion="gain"), honest, loud)
    assert gain == [0.5, pytest.approx((1 + 1 - 0.1353353) / 2)]
    product = totals(with_teacher(probability="product"), honest)
    assert product == [pytest.approx((1 + 0.0183156) / 2)]


def test_a_teacher_that_fails_is_filled_in() -> None:
    found = scored(with_teacher(), said("white", thought="white"), said("white", thought="crash"))
    assert [one.total for one in found if one is not None] == [1.0, 1.0]
    assert found[1] is not None
    assert found[1].notes["no_teacher"] == 1.0


def test_the_conclusion_is_cut_out_by_sentences() -> None:
    thoughts = "It is upper left. So the mark is White. Off-white things\nare whitewashed."
    assert without_conclusion(thoughts, "white") == "It is upper left. are whitewashed."


def test_measures_are_within_five_percent_and_counts_are_not() -> None:
    measure = replace(TASK, answer="12.2", answer_kind="number", tolerance=0.0)
    count = replace(TASK, answer="21", answer_kind="integer")
    only = ArgosReward(grounding_weight=0.0, reasoning_weight=0.0)
    assert totals(only, said("12.5"), said("13"), task=measure) == [1.0, 0.0]
    assert totals(replace(only, tolerance=None), said("12.5"), task=measure) == [0.0]
    assert totals(only, said("20"), said("21"), task=count) == [0.0, 1.0]


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
