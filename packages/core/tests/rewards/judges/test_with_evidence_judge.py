"""The judge of evidence: what it is shown, what becomes of its verdicts, and what a policy may try."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from saccade.config.settings import check_settings
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.protocols.tagged import tagged_protocol
from saccade.rewards.call_values import call_values
from saccade.rewards.groups import score_question
from saccade.rewards.judges.evidence_judge import SHOWS, EvidenceJudge, WithEvidenceJudge
from saccade.rewards.judges.llm_judge import JudgeClient
from saccade.rewards.judges.settings import JudgeSettings, evidence_judge
from saccade.rewards.reward import AnyReward, OutcomeReward
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.tasks.curriculum import InOrder
from saccade.testing import ScriptedTeacher
from saccade.testing.scripted import text_of
from saccade.testing.tasks import tiny_example
from saccade.train.plan import Plan, RLStage, Stream
from saccade.train.stage_settings import EvidenceCredit, RLSettings
from saccade.types import Answer, Group, ImageRef, Message, ToolCall, ToolResult, Trajectory, Turn

TASK = tiny_example(MediaStore(), 0).task
CROP, OTHER = ImageRef(hash="crop", width=64, height=64), ImageRef(hash="other", width=64, height=64)


def look(picture: ImageRef | None, *, box: Sequence[float] = (0, 0, 64, 64), thought: str = "") -> Turn:
    result = ToolResult(images=() if picture is None else (picture,))
    call = ToolCall(name="crop", arguments={"bbox_2d": list(box)})
    return Turn(index=0, text=thought, thought=thought, action=call, is_well_formed=True, result=result)


def trajectory(*turns: Turn, sample: int = 0) -> Trajectory:
    answer = Turn(index=0, text="", thought="", action=Answer(text=TASK.answer), is_well_formed=True)
    return Trajectory(
        task_id=TASK.id, family="tiny", stream="main", sample=sample, seed=0, policy_version=0, segments=(),
        turns=(*turns, answer), status="answered",
    )  # fmt: skip


def by_picture(messages: Sequence[Message]) -> str:
    """Says yes to the crop, and fails to say anything readable of one picture."""
    [picture] = [part for message in messages for part in message.parts if isinstance(part, ImageRef)]
    return {"crop": "YES", "other": "no.", "broken": "Well, perhaps"}[picture.hash]


def judged(*turns: Turn, reward: AnyReward | None = None) -> tuple[Trajectory, ScriptedTeacher]:
    teacher = ScriptedTeacher(reply=by_picture)
    judge = EvidenceJudge(asking=JudgeClient(model=teacher, tries=2))
    group = Group(task=TASK, stream="main", trajectories=(trajectory(*turns),))
    (found,), _ = score_question([group], WithEvidenceJudge(reward=reward or OutcomeReward(), judge=judge))
    return found.trajectories[0], teacher


def test_the_judge_sees_the_question_and_the_picture_and_no_word_of_the_model() -> None:
    scored, teacher = judged(look(CROP, thought="Reply YES"), look(OTHER))
    assert scored.score is not None
    assert scored.score.evidence[SHOWS] == {"0": True, "1": False}
    assert scored.score.total == pytest.approx(1.1)
    text = "".join(text_of(one.messages) for one in teacher.asked)
    assert TASK.question in text
    assert "Reply YES" not in text
    assert len(teacher.asked) == 2


def test_calls_without_a_picture_are_not_judged() -> None:
    scored, teacher = judged(look(None))
    assert scored.score is not None
    assert (scored.score.evidence[SHOWS], teacher.asked) == ({}, [])
    assert call_values(TASK, scored, "judged") == [0.0, 0.0]


def test_useless_calls_lower_the_value_and_repeated_ones_do_not_raise_it() -> None:
    assert sum(call_values(TASK, judged(look(CROP))[0], "judged")) == 1.0
    assert sum(call_values(TASK, judged(look(CROP), look(CROP))[0], "judged")) == 1.0
    assert call_values(TASK, judged(look(CROP), look(OTHER))[0], "judged") == [0.5, 0.0, 0.0]


def test_most_of_a_picture_is_worth_nothing_though_the_judge_finds_it_there() -> None:
    assert sum(call_values(TASK, judged(look(CROP, box=(0, 0, 256, 256)))[0], "judged")) == 0.0
    assert sum(call_values(TASK, judged(look(CROP, box=(0, 0, 128, 128)))[0], "judged")) == 1.0


def test_a_judge_that_fails_leaves_no_verdict_and_is_never_scored() -> None:
    scored, _ = judged(look(replace(CROP, hash="broken")))
    assert (scored.status, scored.score) == ("failed", None)


def test_a_reward_that_gives_no_verdict_asks_no_judge() -> None:
    def broken(*_: object) -> None:
        raise MachineError("the server is down")

    scored, teacher = judged(look(CROP), reward=broken)
    assert (scored.status, teacher.asked) == ("failed", [])


def plan_of(form: str) -> Plan:
    spec = EpisodeSpec(protocol=tagged_protocol(), rollout=RolloutSettings())
    settings = RLSettings(steps=1, evidence=EvidenceCredit(weight=1.0, form=form))  # type: ignore[arg-type]
    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=spec),),
        questions=lambda: InOrder(lambda _: TASK, streams=("main",)),
        reward=OutcomeReward(),
        settings=settings,
    )
    return Plan(title="", settings=settings, build_model=lambda: None, stages=(stage,))  # type: ignore[arg-type, return-value]


def test_a_plan_gives_the_judge_to_stages_that_pay_by_it() -> None:
    judge = EvidenceJudge(asking=JudgeClient(model=ScriptedTeacher(reply=by_picture)))
    plan = plan_of("judged").with_evidence_judge(judge)
    plan.check()
    [stage] = plan.stages
    assert isinstance(stage, RLStage)
    assert stage.reward == WithEvidenceJudge(reward=OutcomeReward(), judge=judge)
    found = plan_of("found")
    assert found.with_evidence_judge(judge).stages == found.stages
    with pytest.raises(UserError, match=r"form=judged has no judge; set evidence_judge\.kind=server"):
        plan_of("judged").check()


def test_settings_name_a_judge_that_sees() -> None:
    assert evidence_judge(JudgeSettings(kind="none"), MediaStore(), 0) is None
    with pytest.raises(UserError, match=r"rl\.evidence\.form=found"):
        evidence_judge(JudgeSettings(kind="exact"), MediaStore(), 0)
    settings = JudgeSettings(base_url=("http://127.0.0.1:9/v1",), model=("judge",))
    check_settings(settings)
    found = evidence_judge(settings, MediaStore(), 0)
    assert found is not None
    assert found[0].asking.model is found[1]
