"""Credit for evidence beside a reward: which scores and advantages it changes, and what it refuses."""

from dataclasses import replace

import pytest

from saccade.algorithms.policy_gradient import grpo, ppo
from saccade.config.settings import check_settings
from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.tasks.curriculum import InOrder
from saccade.testing.tasks import tiny_example
from saccade.tools.images import IMAGE_TOOLS
from saccade.train.stage_checks import check_stages
from saccade.train.stage_settings import EvidenceCredit, RLSettings
from saccade.train.stages import RLStage, Stream
from saccade.types import GAIN, Answer, Group, Json, Score, Task, Term, ToolCall, ToolResult, Trajectory, Turn

TASK = tiny_example(MediaStore(), 0).task
"""Its square is at 16 to 48 of 256 pixels both ways."""
AIMED, ELSEWHERE = [0.0, 0.0, 64.0, 64.0], [128.0, 128.0, 192.0, 192.0]
BESIDE = (64 * 64 - 32 * 32) / 256**2
"""Share of the picture that the aimed crop shows beside the square; one of a half is worth nothing."""
EPISODES = EpisodeSpec(protocol=tagged_protocol(), tools=IMAGE_TOOLS, rollout=RolloutSettings())


def trajectory(sample: int, box: list[float], gain: float = 0.0, reward: float | None = 0.0) -> Trajectory:
    data: dict[str, Json] = {GAIN: gain}
    call = ToolCall(name="crop", arguments={"bbox_2d": box})
    look = Turn(index=0, text="", thought="", action=call, is_well_formed=True, result=ToolResult(data=data))
    answer = Turn(index=1, text="", thought="", action=Answer(text="red"), is_well_formed=True)
    return Trajectory(
        task_id=TASK.id, family="tiny", stream="main", sample=sample, seed=0, policy_version=0, segments=(),
        turns=(look, answer), status="answered",
        score=None if reward is None else Score(terms=(Term("accuracy", reward),)),
    )  # fmt: skip


GROUP = Group(
    task=TASK,
    stream="main",
    trajectories=(trajectory(0, AIMED, 0.6), trajectory(1, ELSEWHERE, -0.2), trajectory(2, ELSEWHERE, reward=None)),
)


def test_without_a_weight_nothing_changes() -> None:
    algorithm = grpo()
    assert EvidenceCredit().credited(GROUP) is GROUP
    assert EvidenceCredit().added_to(algorithm) is algorithm


@pytest.mark.parametrize(("form", "values"), [("found", [1 - 2 * BESIDE, 0.0]), ("difference", [0.6, -0.2])])
def test_the_term_is_beside_the_reward_and_says_who_added_it(form: str, values: list[float]) -> None:
    credit = EvidenceCredit(weight=0.5, form=form)  # type: ignore[arg-type]
    first, second, failed = credit.credited(GROUP).trajectories
    for one, value in zip((first, second), values):
        assert one.score is not None
        reward, evidence = one.score.terms
        assert reward == Term("accuracy", 0.0)
        assert evidence == Term("evidence", pytest.approx(value), 0.5, added_by=f"rl.evidence ({form})")
        assert one.score.total == pytest.approx(0.5 * value)
    assert failed.score is None
    assert credit.added_to(grpo()).name == "grpo"


def test_turns_are_paid_for_their_own_calls_and_the_score_is_not() -> None:
    credit = EvidenceCredit(weight=0.5, form="found", to="turns")
    group = replace(GROUP, trajectories=GROUP.trajectories[:2])
    assert [one.score and one.score.total for one in credit.credited(group).trajectories] == [0.0, 0.0]
    algorithm = credit.added_to(grpo())
    assert algorithm.name == "grpo with evidence"
    # Values 1, 0, 0, 0 over the batch: mean 1/4, deviation sqrt(3)/4. The rewards are equal and compare to nothing.
    look, other = 0.5 * 3 / 3**0.5, -0.5 / 3**0.5
    [[aimed, elsewhere]] = algorithm.advantages([group])
    assert aimed == pytest.approx([look, other])
    assert elsewhere == pytest.approx([other, other])


def test_a_question_without_regions_and_a_critic_are_refused() -> None:
    bare = replace(GROUP, task=replace(TASK, targets=()))
    with pytest.raises(UserError, match=r"tiny/000000 names none \(1 of 1 questions\); give the rows boxes"):
        EvidenceCredit(weight=1.0).credited(bare)
    assert EvidenceCredit(weight=1.0, form="difference").credited(bare).trajectories[0].score is not None
    with pytest.raises(UserError, match=r"rl\.evidence\.to=turns is added to advantages of groups"):
        EvidenceCredit(weight=1.0, to="turns").added_to(ppo())
    with pytest.raises(UserError, match="weight"):
        check_settings(EvidenceCredit(weight=-1.0))


def stage(evidence: EvidenceCredit, episodes: EpisodeSpec) -> RLStage:
    return RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=lambda: InOrder(lambda _: TASK, streams=("main",)),
        reward=lambda task, one: Score(),
        settings=RLSettings(steps=1, evidence=evidence),
    )


def test_differences_need_the_probe_and_a_stage_applies_what_is_set() -> None:
    difference = EvidenceCredit(weight=1.0, form="difference", to="turns")
    with pytest.raises(UserError, match=r"the stream main does not ask for it; set rollout\.probes_calls=true"):
        check_stages([stage(difference, EPISODES)])
    probing = replace(EPISODES, rollout=RolloutSettings(probes_calls=True))
    check_stages([stage(difference, probing)])
    assert stage(difference, probing).applied_algorithm.name == "grpo with evidence"


def test_a_task_of_two_regions_is_paid_by_halves() -> None:
    far = replace(TASK.targets[0], box=Box(200, 200, 232, 232))
    task: Task = replace(TASK, targets=(*TASK.targets, far))
    group = replace(GROUP, task=task, trajectories=GROUP.trajectories[:1])
    [one] = EvidenceCredit(weight=1.0).credited(group).trajectories
    assert one.score is not None
    assert one.score.total == pytest.approx(0.5 * (1 - 2 * BESIDE))
