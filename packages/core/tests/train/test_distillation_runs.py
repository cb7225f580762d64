"""Runs that learn from a teacher: who it is, what it sees, what becomes of the policy, and kills in between."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from dying_run import Killed
from test_overlap import metric, outcome, plan_of

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import load_model
from saccade.runs.progress import Progress
from saccade.runs.signals import read_signals
from saccade.testing.vllm_server import FakeVllm
from saccade.train.plan import Plan, RLStage
from saccade.train.run import run_plan
from saccade.train.stage_settings import TeacherSettings
from saccade.train.teachers import GAPS_HEARD, TeacherWatch

pytestmark = pytest.mark.usefixtures("warm_engines")

ALONE = ("rl.algorithm.distill.weight=1", "rl.algorithm.distill.reward_weight=0")
REVERSE = (*ALONE, "rl.algorithm.distill.loss=reverse_kl")
AHEAD = ("rl.overlap=true", "rl.staleness=1")
NOW = ("rl.staleness=0",)
SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)


def taught(plan: Plan, teacher: TeacherSettings | None) -> Plan:
    stages = (replace(one, teacher=teacher) if isinstance(one, RLStage) else one for one in plan.stages)
    return replace(plan, stages=tuple(stages))


def run(
    out: Path, *overrides: str, teacher: TeacherSettings | None = None, die_at: int = 0, resume: bool = False
) -> None:
    media = MediaStore()
    plan = taught(plan_of(media, *overrides, die_at=die_at), teacher or TeacherSettings())
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model with the policy's tokenizer."""
    path = tmp_path_factory.mktemp("teacher") / "checkpoint"
    texts = ["Which colour has the square? I look."] * 9
    tiny_model(texts, MediaStore(), family="qwen3_vl", size=SIZE, vocab_size=320, seed=9).save(path)
    return path


@pytest.fixture(scope="module")
def self_taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("distilled") / "run"
    run(out, *AHEAD, *ALONE)
    return out


def numbers(out: Path, name: str) -> list[float]:
    found = metric(out, name)
    assert all(one is not None for one in found)
    return [one for one in found if one is not None]


def test_a_policy_that_is_shown_the_region_teaches_itself_and_leaves_no_picture_of_it(
    self_taught: Path, tmp_path: Path
) -> None:
    run(tmp_path / "whole", *AHEAD, *REVERSE)
    assert all(one != 0 for one in numbers(self_taught, "teacher_kl"))
    assert all(one > 0 for one in numbers(tmp_path / "whole", "teacher_divergence"))
    for out in (self_taught, tmp_path / "whole"):
        shown = {path.stem for path in out.glob("media/*.png")}
        text = "".join(path.read_text() for path in out.glob("trajectories/*/*.jsonl"))
        assert shown
        assert all(name in text for name in shown)


def test_what_the_teacher_says_of_each_token_is_recorded(self_taught: Path) -> None:
    [path] = self_taught.glob("**/signals/**/*000001*")
    found = read_signals(path, 0)
    assert found is not None
    assert found.teacher_logprobs is not None
    assert found.advantages is not None
    assert len(found.teacher_logprobs) == len(found.advantages)
    assert all(value < 0 for value in found.teacher_logprobs)


def test_a_teacher_that_prefers_nothing_right_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(tmp_path / "run", *AHEAD, *ALONE)
    gaps = numbers(tmp_path / "run", "teacher_gap")
    said = [one for one in caplog.messages if "teaches nothing that is right" in one]
    assert len(gaps) >= GAPS_HEARD
    assert len(said) == (fmean(gaps[:GAPS_HEARD]) <= 0)


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize(("gaps", "times"), [([-1.0, 0.5, 0.4], 1), ([-1.0, 0.5, 0.6, -9.0], 0), ([-1.0, -1.0], 0)])
def test_the_first_gaps_decide_what_is_said(
    gaps: list[float], times: int, is_alone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hear = TeacherWatch("rl", is_alone=is_alone)
    for gap in gaps:
        hear(gap)
    said = [one for one in caplog.messages if "teaches nothing that is right" in one]
    assert len(said) == times
    assert all(("add the reward" in one) == is_alone for one in said)


@pytest.mark.parametrize("extra", [(), ("rl.algorithm.distill.loss=jsd",)], ids=["sampled", "whole"])
def test_a_run_that_is_killed_and_resumed_has_the_same_bytes(
    extra: Sequence[str], self_taught: Path, checkpoint: Path, tmp_path: Path
) -> None:
    teacher = TeacherSettings(model=str(checkpoint), view="region") if extra else None
    left = self_taught
    if extra:
        left = tmp_path / "left"
        run(left, *AHEAD, *ALONE, *extra, teacher=teacher)
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, *AHEAD, *ALONE, *extra, teacher=teacher, die_at=4)
    run(died, *AHEAD, *ALONE, *extra, teacher=teacher, resume=True)
    assert outcome(died) == outcome(left)


@pytest.mark.parametrize("overrides", [ALONE, REVERSE], ids=["sampled", "whole"])
def test_a_policy_that_equals_its_teacher_does_not_move(overrides: Sequence[str], tmp_path: Path) -> None:
    still = (*overrides, *NOW, "rl.optimizer.weight_decay=0")
    run(tmp_path / "run", *still, teacher=TeacherSettings(model="start", view="same"))
    assert numbers(tmp_path / "run", "gradient_norm") == [0.0] * 4


def test_a_checkpoint_s_policy_is_what_the_policy_comes_to(checkpoint: Path, tmp_path: Path) -> None:
    fast = ("rl.steps=12", "rl.tasks_per_step=4", "rl.optimizer.learning_rate=0.01")
    run(tmp_path / "run", *REVERSE, *NOW, *fast, teacher=TeacherSettings(model=str(checkpoint)))
    apart = numbers(tmp_path / "run", "teacher_divergence")
    assert apart[-1] < 0.7 * apart[0]


def test_a_teacher_beside_the_reward_adds_to_its_advantages(tmp_path: Path) -> None:
    both = ("rl.algorithm.distill.weight=0.5",)
    run(tmp_path / "both", *both, *NOW, "rl.steps=1")
    [path] = tmp_path.glob("both/**/signals/**/*000001*")
    found = [read_signals(path, row) for row in range(4)]
    assert all(one is not None and one.advantages is not None for one in found)
    # Two trajectories of a group, one with a reward above the mean: advantages of +-0.7 and what the teacher adds.
    means = [sum(one.advantages) / len(one.advantages) for one in found if one is not None and one.advantages]
    assert max(means) > 0.3
    assert min(means) < -0.3


@pytest.mark.parametrize(
    ("overrides", "teacher", "says"),
    [
        (ALONE, None, "wants a teacher, and the stage has none"),
        ((), TeacherSettings(), "distill.weight=0 learns nothing"),
        (ALONE, TeacherSettings(view="same"), "has seen anyway"),
        ((*ALONE, "rl.algorithm.name=gspo"), TeacherSettings(), "one ratio for a sequence"),
        ((*ALONE, "rl.algorithm.name=dapo"), TeacherSettings(), "leaves questions out"),
        (REVERSE, TeacherSettings(model="http://127.0.0.1:9"), "top_k=20"),
        (ALONE, TeacherSettings(model="nowhere"), "is no directory"),
        (ALONE, TeacherSettings(view="page"), "shows no page"),
    ],
)
def test_what_cannot_teach_is_refused_before_any_work(
    overrides: Sequence[str], teacher: TeacherSettings | None, says: str, tmp_path: Path
) -> None:
    media = MediaStore()
    with pytest.raises(UserError, match=says):
        run_plan(
            taught(plan_of(media, *overrides), teacher),
            out=tmp_path / "run",
            media=media,
            seed=7,
            progress=Progress("quiet"),
        )


def test_a_teacher_with_another_tokenizer_is_refused_in_words(tmp_path: Path) -> None:
    tiny_model(["Another text altogether."] * 9, MediaStore(), size=SIZE, vocab_size=300, seed=9).save(
        tmp_path / "other"
    )
    with pytest.raises(UserError, match=r"another tokenizer: .* tokens differ, as .* same tokenizer can teach"):
        run(tmp_path / "run", *ALONE, teacher=TeacherSettings(model=str(tmp_path / "other")))


def test_one_trajectory_a_question_is_enough_without_a_reward() -> None:
    media = MediaStore()
    alone = taught(plan_of(media, *ALONE, "rl.group_size=1"), TeacherSettings())
    alone.check()
    both = taught(plan_of(media, "rl.algorithm.distill.weight=1", "rl.group_size=1"), TeacherSettings())
    with pytest.raises(UserError, match="group_size=1"):
        both.check()


def test_a_server_teaches_as_the_checkpoint_does_that_it_serves(checkpoint: Path, tmp_path: Path) -> None:
    media = MediaStore()
    with FakeVllm(load_model(checkpoint, media)) as server:
        for name, model in (("server", server.url), ("directory", str(checkpoint))):
            plan = taught(plan_of(media, *ALONE, *NOW, "rl.steps=1"), TeacherSettings(model=model, view="region"))
            run_plan(plan, out=tmp_path / name, media=media, seed=7, progress=Progress("quiet"))
        listed = (*ALONE, "rl.algorithm.distill.loss=forward_kl", "rl.algorithm.distill.top_k=8", *NOW)
        plan = taught(plan_of(media, *listed), TeacherSettings(model=server.url))
        run_plan(plan, out=tmp_path / "listed", media=media, seed=7, progress=Progress("quiet"))
    # The server's distribution is over all tokens, those that no policy says too.
    kl = [numbers(tmp_path / name, "teacher_kl")[0] for name in ("server", "directory")]
    assert kl[0] == pytest.approx(kl[1], abs=0.1)
    assert kl[0] != kl[1]
    apart = numbers(tmp_path / "listed", "teacher_divergence")
    assert apart[0] > 0
    assert apart[-1] < apart[0]
