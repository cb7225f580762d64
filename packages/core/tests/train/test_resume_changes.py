"""Settings, recipes and folders that change between two starts of one run."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
import torch

from saccade.algorithms.policy_gradient import grpo
from saccade.config.settings import ABSENT, Change, apply_overrides, to_json
from saccade.config.sources import RecipeSource
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.checkpoint import EngineSettings, LoadSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import read_metrics
from saccade.runs.progress import Progress
from saccade.runs.runinfo import RunPaths, read_info
from saccade.seeding import seed_for
from saccade.tasks.curriculum import Shuffled
from saccade.testing.tasks import tiny_example
from saccade.train.plan import EpisodeSpec, Evaluate, Plan, RLStage, Stage, Stream
from saccade.train.plan_record import value_record
from saccade.train.recipe_loading import load_recipe
from saccade.train.resume_rules import ResumeRules
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Score, Task, Term, Trajectory

MEDIA = MediaStore()
TASKS = [tiny_example(MEDIA, index).task for index in range(4)]
EPISODES = EpisodeSpec(
    protocol=direct_protocol(style="brief"),
    tools=(),
    rollout=RolloutSettings(max_turn_tokens=4, max_tokens=400),
    max_turns=1,
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    rl: RLSettings = RLSettings(steps=2, tasks_per_step=2, group_size=2, checkpoint_every=1)
    model: LoadSettings = LoadSettings()
    rollout: RolloutSettings = RolloutSettings()
    reading: Literal["strict", "lenient"] = "strict"


def token_reward(task: Task, trajectory: Trajectory) -> Score:
    """Differs inside a group, so that there is something to learn."""
    return Score(terms=(Term("drawn", seed_for(0, *trajectory.ids) % 7 / 7),))


def build_model() -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["Which colour?"] * 9, MEDIA, size=size, vocab_size=300, seed=4)


def test_a_run_of_an_earlier_version_goes_on_with_the_limits_that_its_engine_had() -> None:
    rules = ResumeRules(plan=plan(), accepted=(), reached=lambda: None)
    now = to_json(EngineSettings())
    assert len(rules([Change(key="recipe.model.engine", before=ABSENT, after=now)])) == 1
    with pytest.raises(UserError, match="started with other settings"):
        rules([Change(key="recipe.model.engine", before=ABSENT, after={**now, "max_rows": 3})])
    assert len(rules([Change(key="recipe.model.engine.max_rows", before=128, after=3)])) == 1


def test_a_run_of_an_earlier_version_goes_on_without_what_it_could_not_set() -> None:
    rules = ResumeRules(plan=plan(), accepted=(), reached=lambda: None)
    switches = ((name, False, True) for name in ("corrects_cut_turns", "drops_old_thoughts", "native_video"))
    for name, now, other in (*switches, ("few_shot", 0, 2), ("few_shot_file", "", "a.jsonl")):
        key = f"recipe.rollout.{name}"
        assert len(rules([Change(key=key, before=ABSENT, after=now)])) == 1
        with pytest.raises(UserError, match="started with other settings"):
            rules([Change(key=key, before=ABSENT, after=other)])


def test_a_run_of_an_earlier_version_goes_on_with_the_correction_that_it_had() -> None:
    options = "recipe.rl.algorithm.options"
    named = Change(key=f"{options}.importance", before="none", after="auto")
    added = Change(key=f"{options}.sequence_rejection", before=ABSENT, after=0.0)
    asked = Change(key=f"{options}.sequence_rejection", before=ABSENT, after=1.01)
    rules = ResumeRules(plan=plan(), accepted=(), reached=lambda: None)
    assert len(rules([named, added])) == 2
    with pytest.raises(UserError, match="sequence_rejection"):
        rules([asked])
    stale = ResumeRules(plan=plan("rl.staleness=1"), accepted=(), reached=lambda: None)
    with pytest.raises(UserError, match="importance: none -> auto"):
        stale([named])


def test_a_run_of_an_earlier_version_goes_on_with_the_strict_reading_and_no_other() -> None:
    rules = ResumeRules(plan=plan(), accepted=(), reached=lambda: None)
    for now in ("strict", None):
        assert len(rules([Change(key="recipe.reading", before=ABSENT, after=now)])) == 1
    with pytest.raises(UserError, match="-> lenient"):
        rules([Change(key="recipe.reading", before=ABSENT, after="lenient")])


def test_a_run_of_an_earlier_version_goes_on_with_any_setting_that_is_new_and_at_its_default() -> None:
    rules = ResumeRules(plan=plan(), accepted=(), reached=lambda: None)
    gate = {"positive": 1.0, "negative": 1.05}
    for key, after in (("advantages", "default"), ("sapo", gate), ("sapo.negative", 1.05)):
        assert len(rules([Change(key=f"recipe.rl.algorithm.{key}", before=ABSENT, after=after)])) == 1
    for key, after in (
        ("rl.algorithm.advantages", "gdpo"),
        ("rl.algorithm.sapo", {**gate, "positive": 2.0}),
        ("rl.algorithm.sapo.positive", 2.0),
        ("rl.unheard_of", 1),
    ):
        with pytest.raises(UserError, match="started with other settings"):
            rules([Change(key=f"recipe.{key}", before=ABSENT, after=after)])


def test_another_recipe_is_told_by_a_few_of_its_changes() -> None:
    rules = ResumeRules(plan=plan(), accepted=(), reached=lambda: None)
    with pytest.raises(UserError, match="another recipe") as raised:
        rules([Change(key=f"recipe.size.part{one}", before=one, after=ABSENT) for one in range(110)])
    assert len(lines := str(raised.value).splitlines()) == 14
    assert lines[-1].strip().startswith("and 98 more. Resume it as its config.yaml has it")


def broken_model() -> VisionLanguageModel:
    raise UserError("no such checkpoint")


def plan(*overrides: str, last: Callable[[], Sequence[Task]] = lambda: TASKS[:1]) -> Plan:
    settings = apply_overrides(Settings(), overrides)
    rl = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=EPISODES),),
        questions=lambda: Shuffled(TASKS, seed=0),
        reward=token_reward,
        algorithm=grpo(),
        settings=settings.rl,
    )
    after = Evaluate(name="after", tasks=last, episodes=EPISODES, reward=OutcomeReward())
    return Plan(title="t", settings=settings, build_model=build_model, stages=(rl, after))


def play(
    out: Path,
    of: Plan,
    *,
    resume: bool = False,
    accepted: tuple[str, ...] = (),
    source: RecipeSource | None = None,
    threads: int = 1,
) -> None:
    run_plan(
        of,
        out=out,
        media=MEDIA,
        seed=3,
        resume=resume,
        accepted=accepted,
        source=source,
        threads=threads,
        progress=Progress("quiet"),
    )


def stop() -> Sequence[Task]:
    raise KeyboardInterrupt


def no_tasks() -> Sequence[Task]:
    raise UserError("the tasks are gone")


def stopped(out: Path, *overrides: str, source: RecipeSource | None = None) -> None:
    """A run that was interrupted after its reinforcement."""
    with pytest.raises(KeyboardInterrupt):
        play(out, plan(*overrides, last=stop), source=source)


def weights(out: Path, step: int) -> bytes:
    return (out / "checkpoints" / f"rl-{step:06d}" / "model.safetensors").read_bytes()


def test_what_cannot_change_results_may_change_and_is_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopped(tmp_path / "run")
    free = ("rl.checkpoint_every=5", "rl.evaluate_every=3", "rl.optimizer.micro_batch_tokens=900")
    with caplog.at_level(logging.WARNING):
        play(tmp_path / "run", plan(*free), resume=True, threads=2)
    info = read_info(RunPaths(root=tmp_path / "run"))
    assert info.status == "finished"
    assert [line.partition(" ")[2] for line in info.changed] == [
        "threads: 1 -> 2",
        "rl.optimizer.micro_batch_tokens: 4096 -> 900",
        "rl.checkpoint_every: 1 -> 5",
        "rl.evaluate_every: 0 -> 3",
    ]
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in said] == ["threads", "rl.optimizer.micro_batch_tokens"]
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["recipe"]["rl"]["checkpoint_every"] == 5


def test_more_steps_at_a_constant_rate_end_with_the_bytes_of_a_run_that_had_them_from_the_start(
    tmp_path: Path,
) -> None:
    play(tmp_path / "long", plan("rl.steps=4"))
    play(tmp_path / "run", plan())
    play(tmp_path / "run", plan("rl.steps=4"), resume=True)
    assert weights(tmp_path / "run", 4) == weights(tmp_path / "long", 4)
    recorded = [position for position, _ in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert [position.step for position in recorded if position.stage == "rl"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("rl.decay=cosine", ("rl.decay=cosine", "rl.steps=4"), "decay=cosine spreads the learning rate over all steps"),
        ("rl.staleness=1", ("rl.staleness=1", "rl.steps=4"), "staleness=1 samples the last batches ahead"),
        ("rl.seed_is=none", ("rl.steps=1",), "the run has already taken 2 steps"),
    ],
)
def test_other_numbers_of_steps_are_refused_with_the_reason(
    tmp_path: Path, before: str, after: tuple[str, ...], why: str
) -> None:
    stopped(tmp_path / "run", *([] if "seed_is" in before else [before]))
    with pytest.raises(UserError, match=why):
        play(tmp_path / "run", plan(*after), resume=True)


def test_what_changes_results_is_refused_and_accepted_by_its_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopped(tmp_path / "run")
    other = plan("rl.temperature=0.7", "rl.checkpoint_every=2")
    with pytest.raises(UserError) as caught:
        play(tmp_path / "run", other, resume=True)
    assert "\n  rl.temperature: 1.0 -> 0.7\nResume it" in str(caught.value)
    assert str(caught.value).endswith("--accept-change rl.temperature")
    with pytest.raises(UserError, match="temperature"):
        play(tmp_path / "run", other, resume=True, accepted=("rl.steps",))
    with caplog.at_level(logging.WARNING):
        play(tmp_path / "run", other, resume=True, accepted=("rl.temperature",))
    assert caplog.records[0].getMessage().startswith("rl.temperature: 1.0 -> 0.7: accepted")


def test_an_algorithm_that_the_recipe_passed_is_recorded_as_what_it_is_and_guarded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = plan(last=stop)
    rl = base.stages[0]
    assert isinstance(rl, RLStage)
    own = replace(grpo(), name="my own")

    def stages(algorithm_name: str) -> tuple[Stage, ...]:
        return (replace(rl, algorithm=replace(own, name=algorithm_name)), base.stages[1])

    with caplog.at_level(logging.WARNING), pytest.raises(KeyboardInterrupt):
        play(tmp_path / "run", replace(base, stages=stages("my own")))
    assert caplog.records[0].getMessage().startswith("stage rl learns by 'my own', as the recipe passed it;")
    recorded = json.loads((tmp_path / "run" / "settings.json").read_text())["stages"]["rl"]
    assert recorded["algorithm"]["name"] == "my own"
    assert recorded["reward"] == f"{__name__}.token_reward"
    with pytest.raises(UserError, match=r"stages.rl.algorithm.name: my own -> another"):
        play(tmp_path / "run", replace(base, stages=stages("another")), resume=True)


def test_a_record_of_values_leaves_secrets_and_long_texts_out() -> None:
    @dataclass(frozen=True)
    class Client:
        api_key: str
        max_tokens: int
        prompt: str

    said = value_record(Client(api_key="hidden", max_tokens=3, prompt="x" * 900))
    assert isinstance(said, dict)
    assert (set(said), said["max_tokens"], len(str(said["prompt"]))) == ({"class", "max_tokens", "prompt"}, 3, 203)


def source(text: str) -> RecipeSource:
    return RecipeSource(name="mine.py:recipe", files={"mine.py": text})


def test_an_edited_recipe_is_refused_with_the_lines_that_changed(tmp_path: Path) -> None:
    stopped(tmp_path / "run", source=source("WEIGHT = 0.3\n"))
    with pytest.raises(UserError) as caught:
        play(tmp_path / "run", plan(), resume=True, source=source("WEIGHT = 100\n"))
    said = str(caught.value)
    assert "the recipe mine.py:recipe was edited" in said
    assert "-WEIGHT = 0.3" in said
    assert "+WEIGHT = 100" in said
    assert said.endswith("--accept-change recipe")
    play(tmp_path / "run", plan(), resume=True, source=source("WEIGHT = 100\n"), accepted=("recipe",))
    kept = sorted(path.read_text() for path in (tmp_path / "run" / "recipe").rglob("mine.py"))
    assert kept == ["WEIGHT = 0.3\n", "WEIGHT = 100\n"]


def test_comments_and_layout_of_a_recipe_may_change(tmp_path: Path) -> None:
    stopped(tmp_path / "run", source=source("WEIGHT = 0.3\n"))
    play(tmp_path / "run", plan(), resume=True, source=source("# The paper's.\nWEIGHT  =  (0.3)\n"))
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "finished"


def test_the_source_of_a_recipe_holds_the_neighbours_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "rewards_of_mine.py").write_text("WEIGHT = 0.3\n")
    (tmp_path / "unused.py").write_text("")
    (tmp_path / "mine.py").write_text("import rewards_of_mine\ndef recipe(context): ...\n")
    found = load_recipe(f"{tmp_path}/mine.py:recipe").source()
    assert (found.name, set(found.files)) == ("mine.py:recipe", {"mine.py", "rewards_of_mine.py"})
    (tmp_path / "rewards_of_mine.py").write_text("WEIGHT = 100\n")
    assert load_recipe(f"{tmp_path}/mine.py:recipe").source().sha256 != found.sha256


def test_a_start_that_fails_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    broken = replace(plan(), build_model=broken_model)
    for _ in range(2):
        with pytest.raises(UserError, match="no such checkpoint"):
            play(tmp_path / "run", broken)
        assert not (tmp_path / "run").exists()
    play(tmp_path / "run", plan("rl.steps=1"))


def test_a_failed_start_deletes_none_of_the_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "run" / "sub").mkdir(parents=True)
    with pytest.raises(UserError, match="holds no run"):
        play(tmp_path / "run", replace(plan(), build_model=broken_model))
    assert (tmp_path / "run" / "sub").is_dir()


def test_a_run_that_failed_after_its_first_step_is_kept(tmp_path: Path) -> None:
    stopped(tmp_path / "run")
    with pytest.raises(UserError, match="the tasks are gone"):
        play(tmp_path / "run", plan(last=no_tasks), resume=True)
    assert weights(tmp_path / "run", 2)


def test_modules_that_name_files_which_are_not_there_are_no_part_of_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As torch's ``_classes.py``, named without a folder, seems to lie beside a recipe in the working directory."""
    assert torch.classes.__file__ == "_classes.py"
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def recipe(context): ...\n")
    assert set(load_recipe("mine.py:recipe").source().files) == {"mine.py"}
