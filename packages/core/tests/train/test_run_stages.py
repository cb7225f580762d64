"""Whole runs of a tiny real model: what each stage leaves on disk, and what a resumed run takes up again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch
from dying_run import Killed

from saccade.algorithms.advantages import GroupAdvantages, group_relative
from saccade.algorithms.algorithm import Algorithm, Loss, PolicyTokens
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import ppo
from saccade.engines.engine import WeightSource
from saccade.engines.local import LocalEngine
from saccade.errors import MachineError, UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.logprobs import action_tokens
from saccade.learner.sequences import micro_batches, training_sequence
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import read_metrics, without_times
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import Question
from saccade.testing.tasks import tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.algorithm_settings import AlgorithmSettings, chosen_algorithm
from saccade.train.loops import RLLoop, StepOutcome
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, RLStage, SFTStage, Stage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings, SFTSettings
from saccade.types import Group, Json, Score, Task, Term, Trajectory

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
ROLLOUT = RolloutSettings(max_turn_tokens=12, max_tokens=400)
LOOKING = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=ROLLOUT, max_turns=2)
SILENT = EpisodeSpec(protocol=direct_protocol(style="brief"), tools=(), rollout=ROLLOUT, max_turns=1)
SFT = SFTSettings(steps=2, batch_size=2, optimizer=OptimizerSettings(learning_rate=1e-3), checkpoint_every=1)
RL = RLSettings(
    steps=4,
    tasks_per_step=3,
    group_size=2,
    optimizer=OptimizerSettings(learning_rate=1e-3, micro_batch_tokens=400),
    algorithm=AlgorithmSettings(options=PolicyOptions(kl_weight=0.1)),
    checkpoint_every=1,
    evaluate_every=2,
)


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def token_reward(task: Task, trajectory: Trajectory) -> Score:
    """Differs from trajectory to trajectory even of an untrained model; another range for each stream."""
    said = [token for token, is_action in zip(trajectory.ids, trajectory.action_mask) if is_action]
    total = sum(said) / len(said) / 100 + (100.0 if trajectory.stream == "silent" else 0.0)
    return Score(terms=(Term("tokens", total),))


def dying(task: Task, trajectory: Trajectory) -> Score:
    """The process ends when it would score."""
    raise Killed


class ByStep:
    """Questions that are a function of the step alone."""

    def __init__(self, asked: Callable[[int], list[Question]]) -> None:
        self._asked = asked
        self._step = 0

    def sample(self, count: int) -> list[Question]:
        self._step += 1
        return self._asked(self._step - 1)

    def update(self, groups: Sequence[Group]) -> None:
        pass

    def state_dict(self) -> Mapping[str, Json]:
        return {"step": self._step}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        self._step = int(str(state["step"]))


@dataclass
class Witness:
    """A recipe that remembers what it was asked for and what the learner was given, and can die in between."""

    media: MediaStore = field(default_factory=MediaStore)
    die_at: int = -1
    """The reinforcement step that ends the process, counted from 0."""
    settings: RLSettings = RL
    size: TinySize = SIZE
    models: list[VisionLanguageModel] = field(default_factory=list)
    evaluated: list[str] = field(default_factory=list)
    groups: list[Sequence[Group]] = field(default_factory=list)
    advantages: list[GroupAdvantages] = field(default_factory=list)
    logprobs: list[torch.Tensor] = field(default_factory=list)
    """Of the action tokens of each micro-batch, as the learner worked them out."""

    def build_model(self) -> VisionLanguageModel:
        texts = ["Which colour has the square? I look."] * 9
        self.models.append(tiny_model(texts, self.media, size=self.size, vocab_size=320, seed=4))
        return self.models[-1]

    def demonstration(self, index: int, _: float) -> Demonstration:
        return Demonstration(example=tiny_example(self.media, index), episodes=LOOKING)

    def tasks(self, step: int, count: int) -> list[Task]:
        if step == self.die_at:
            raise Killed
        return [tiny_example(self.media, 20 + 3 * step + i).task for i in range(count)]

    def asked(self, step: int) -> list[Question]:
        """The silent stream asks the first of the same questions, and nothing in the last step."""
        first, second = self.tasks(step, 2)
        streams = ("looking", "silent") if step < 3 else ("looking",)
        return [Question(task=first, streams=streams), Question(task=second, streams=("looking",))]

    def evaluation(self, name: str, count: int = 3) -> Evaluate:
        def tasks() -> list[Task]:
            self.evaluated.append(name)
            return [tiny_example(self.media, 50 + i).task for i in range(count)]

        return Evaluate(name=name, tasks=tasks, episodes=LOOKING, reward=token_reward)

    def compared(self, groups: Sequence[Group]) -> GroupAdvantages:
        self.groups.append(groups)
        self.advantages.append(group_relative(groups))
        return self.advantages[-1]

    def loss(self, tokens: PolicyTokens) -> Loss:
        self.logprobs.append(tokens.logprobs.detach().clone())
        return chosen_algorithm(self.settings.algorithm, action_tokens=24).loss(tokens)

    def reinforcement(self) -> RLStage:
        return RLStage(
            name="rl",
            streams=(Stream(name="looking", episodes=LOOKING), Stream(name="silent", episodes=SILENT)),
            questions=lambda: ByStep(self.asked),
            reward=token_reward,
            algorithm=Algorithm(name="witness", advantages=self.compared, loss=self.loss, needs_reference=True),
            settings=self.settings,
            evaluation=self.evaluation("curve"),
        )

    def plan(self) -> Plan:
        return self.plan_of(
            SFTStage(name="sft", source=self.demonstration, settings=SFT),
            self.evaluation("after_sft"),
            self.reinforcement(),
            self.evaluation("after_rl"),
        )

    def plan_of(self, *stages: Stage) -> Plan:
        return Plan(title="A tiny run", settings=Nothing(), build_model=self.build_model, stages=stages)

    def run(self, out: Path, plan: Plan | None = None, *, resume: bool = False) -> None:
        run_plan(plan or self.plan(), out=out, media=self.media, seed=7, resume=resume, progress=Progress("quiet"))


def files(out: Path) -> dict[str, bytes]:
    """What the same seed must give again, byte for byte."""
    patterns = ("trajectories/*/*.jsonl", "evaluations/*.jsonl", "media/*.png", "checkpoints/*/model.safetensors")
    return {str(path.relative_to(out)): path.read_bytes() for pattern in patterns for path in out.glob(pattern)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Witness, Path]:
    witness, out = Witness(), tmp_path_factory.mktemp("stages") / "run"
    witness.run(out)
    return witness, out


def metric(out: Path, name: str, *, stage: str = "rl") -> list[float]:
    return [values[name] for position, values in read_metrics(out / "metrics.jsonl") if position.stage == stage]


def test_every_stage_leaves_its_files(finished: tuple[Witness, Path]) -> None:
    witness, out = finished
    assert sorted(path.name for path in (out / "checkpoints").iterdir()) == ["rl-000003", "rl-000004", "sft-000002"]
    assert sorted(path.name for path in (out / "evaluations").iterdir()) == ["after_rl.jsonl", "after_sft.jsonl"]
    assert len(list((out / "trajectories" / "rl").iterdir())) == 4
    positions = [(position.stage, position.step) for position, _ in read_metrics(out / "metrics.jsonl")]
    rl = [("rl", step) for step in (1, 2, 3, 4)]
    assert positions == [("sft", 1), ("sft", 2), ("after_sft", 1), *rl, ("after_rl", 1)]
    assert witness.evaluated == ["after_sft", "curve", "curve", "after_rl"]
    held_out = [
        "held_out/reward/mean" in values
        for position, values in read_metrics(out / "metrics.jsonl")
        if position.stage == "rl"
    ]
    assert held_out == [False, True, False, True]
    mentioned = {
        image.hash
        for path in [*out.glob("trajectories/*/*.jsonl"), *out.glob("evaluations/*.jsonl")]
        for attempt in read_records(path)
        for image in attempt.trajectory.images
    }
    assert mentioned <= {path.stem for path in (out / "media").iterdir()}


def test_steps_and_evaluations_say_how_many_tokens_the_engine_prefilled(finished: tuple[Witness, Path]) -> None:
    _, out = finished
    for stage, count in (("rl", 4), ("after_sft", 1)):
        prefilled = metric(out, "time/tokens_prefilled", stage=stage)
        assert len(prefilled) == count
        assert min(prefilled) > 0
    # Siblings of a group begin with one prompt.
    assert min(metric(out, "time/tokens_reused")) > 0


def test_each_update_is_one_policy_version(finished: tuple[Witness, Path]) -> None:
    """Two updates of the imitation come before; a step samples with the policy that the step before left."""
    _, out = finished
    versions = [
        {attempt.trajectory.policy_version for attempt in read_records(path)}
        for path in sorted((out / "trajectories" / "rl").iterdir())
    ]
    assert versions == [{2}, {3}, {4}, {5}]


def test_the_learner_trained_on_the_very_tokens_that_are_on_disk(finished: tuple[Witness, Path]) -> None:
    """The first step's log-probabilities come out again, to the bit, from the files alone."""
    witness, out = finished
    model = load_model(out / "checkpoints" / "sft-000002", MediaStore(out / "media"))
    trajectories = [attempt.trajectory for attempt in read_records(min((out / "trajectories" / "rl").iterdir()))]
    assert trajectories == [one for group in witness.groups[0] for one in group.trajectories]
    for trajectory in trajectories:
        assert trajectory.ids == tuple(token for segment in trajectory.segments for token in segment.ids)
        assert all(len(s.logprobs) == (len(s.ids) if s.role == "action" else 0) for s in trajectory.segments)
    again = [training_sequence(trajectory) for trajectory in trajectories]
    with torch.no_grad():
        for batch, trained_on in zip(micro_batches(again, max_tokens=400), witness.logprobs):
            assert torch.equal(action_tokens(model, batch, temperature=1.0).logprobs, trained_on)


def test_rewards_of_two_streams_never_meet_in_a_group(finished: tuple[Witness, Path]) -> None:
    """Both streams ask the same first question, and the silent rewards lie 100 higher."""
    witness, out = finished
    for groups, advantages in zip(witness.groups, witness.advantages):
        keys = [(group.task.id, group.stream) for group in groups]
        assert len(set(keys)) == len(keys)
        for group, of_group in zip(groups, advantages):
            assert [(one.task_id, one.stream) for one in group.trajectories] == [(group.task.id, group.stream)] * 2
            assert sum(turns[0] for turns in of_group) == pytest.approx(0.0, abs=1e-9)
    first = [(group.task.id, group.stream) for group in witness.groups[0]]
    assert first == [("tiny/000020", "looking"), ("tiny/000020", "silent"), ("tiny/000021", "looking")]
    assert [group.stream for group in witness.groups[3]] == ["looking", "looking"]
    assert min(metric(out, "silent/reward/mean")[:3]) > 90 > max(metric(out, "looking/reward/mean"))


def test_the_reference_is_the_stages_first_policy(finished: tuple[Witness, Path]) -> None:
    kl = metric(finished[1], "reference_kl")
    assert kl[0] == 0.0
    assert min(kl[1:]) > 1e-6


@pytest.mark.parametrize("die_at", [1, 3])
def test_a_run_that_died_goes_on_as_if_it_had_not(finished: tuple[Witness, Path], tmp_path: Path, die_at: int) -> None:
    _, undisturbed = finished
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Witness(die_at=die_at).run(out)
    second = Witness()
    second.run(out, resume=True)
    assert second.evaluated == ["curve"] * (2 if die_at == 1 else 1) + ["after_rl"]
    assert without_times(out / "metrics.jsonl") == without_times(undisturbed / "metrics.jsonl")
    assert files(out) == files(undisturbed)


def test_what_was_encoded_before_a_checkpoint_leaves_no_trace_after_it(tmp_path: Path) -> None:
    """On two threads an image encoded alone differs by rounding from the same image among others."""

    def run(out: Path, *, resume: bool = False, dies: bool = False) -> None:
        witness = Witness(size=replace(SIZE, view_px=48), settings=replace(RL, steps=1, evaluate_every=1))
        stage = replace(witness.reinforcement(), evaluation=witness.evaluation("curve", count=1))
        last = replace(witness.evaluation("after_rl"), reward=dying if dies else token_reward)
        plan = witness.plan_of(stage, last)
        run_plan(
            plan,
            out=out,
            media=witness.media,
            seed=7,
            resume=resume,
            accepted=("stages.after_rl.reward",),
            threads=2,
            progress=Progress("quiet"),
        )

    run(tmp_path / "whole")
    with pytest.raises(Killed):
        run(tmp_path / "died", dies=True)
    run(tmp_path / "died", resume=True)
    assert files(tmp_path / "died") == files(tmp_path / "whole")


def test_a_reference_that_no_checkpoint_holds_is_built_again(tmp_path: Path) -> None:
    """Reinforcement comes first, so the stage's first policy is the model that the recipe builds."""
    settings = replace(RL, steps=3, evaluate_every=0)

    def run(out: Path, witness: Witness, *, resume: bool = False) -> None:
        witness.run(out, witness.plan_of(witness.reinforcement()), resume=resume)

    run(tmp_path / "whole", Witness(settings=settings))
    with pytest.raises(Killed):
        run(tmp_path / "died", Witness(settings=settings, die_at=2))
    run(tmp_path / "died", Witness(settings=settings), resume=True)
    kl = metric(tmp_path / "died", "reference_kl")
    assert kl[0] == 0.0 < kl[2]
    assert kl == metric(tmp_path / "whole", "reference_kl")
    assert files(tmp_path / "died") == files(tmp_path / "whole")


def test_policy_and_reference_share_their_pictures(tmp_path: Path) -> None:
    """Steps of 2 + 1 questions on 2 pictures each; the tool is never called rightly by an untrained model."""
    witness = Witness(settings=replace(RL, steps=2, evaluate_every=0))
    witness.run(tmp_path / "run", witness.plan_of(witness.reinforcement()))
    policy, reference = witness.models
    assert policy.patches.processed == 4
    assert reference.patches is policy.patches


def test_a_run_leaves_torch_as_it_was(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    witness = Witness()
    run_plan(
        witness.plan_of(witness.evaluation("only")),
        out=tmp_path / "run",
        media=witness.media,
        seed=7,
        threads=threads + 1,
        progress=Progress("quiet"),
    )
    assert torch.get_num_threads() == threads
    assert not torch.are_deterministic_algorithms_enabled()


class StaleEngine(LocalEngine):
    """An engine that loses the weights that it is given."""

    def update_weights(self, source: WeightSource, version: int) -> None:
        super().update_weights(self.model, version)


def steps_with_other_weights(witness: Witness, stage: Stage, model: VisionLanguageModel) -> Iterator[StepOutcome]:
    """The stage's steps with an engine whose weights are not the learner's."""
    assert isinstance(stage, RLStage)
    other = witness.build_model()
    with torch.no_grad():
        other.hf.get_input_embeddings().weight.mul_(1.5)
    return RLLoop(
        stage,
        model,
        StaleEngine(other),
        Learner(model, RL.optimizer),
        seed=0,
        first_step=0,
        load_reference=witness.build_model,
    )


def test_an_engine_with_other_weights_stops_the_run_before_its_first_update() -> None:
    witness = Witness()
    model = witness.build_model()
    before = [parameter.detach().clone() for parameter in model.hf.parameters()]
    steps = steps_with_other_weights(witness, witness.reinforcement(), model)
    with pytest.raises(MachineError, match="engine and learner disagree"):
        next(steps)
    assert all(torch.equal(a, b) for a, b in zip(before, model.hf.parameters()))


def idle_at_first(witness: Witness) -> Plan:
    """A stage whose first step asks nothing."""

    def asked(step: int) -> list[Question]:
        return [Question(task=task, streams=("silent",)) for task in witness.tasks(step, 1 if step else 0)]

    return witness.plan_of(replace(witness.reinforcement(), questions=lambda: ByStep(asked)))


def test_a_step_that_asks_nothing_is_a_step(tmp_path: Path) -> None:
    settings = replace(RL, steps=3, evaluate_every=0)
    whole, died = Witness(settings=settings), Witness(settings=settings, die_at=1)
    whole.run(tmp_path / "whole", idle_at_first(whole))
    with pytest.raises(Killed):
        died.run(tmp_path / "died", idle_at_first(died))
    again = Witness(settings=settings)
    again.run(tmp_path / "died", idle_at_first(again), resume=True)
    assert metric(tmp_path / "whole", "rollout/action_tokens") == [0.0, 12.0, 12.0]
    assert files(tmp_path / "died") == files(tmp_path / "whole")
    assert without_times(tmp_path / "died" / "metrics.jsonl") == without_times(tmp_path / "whole" / "metrics.jsonl")


def test_the_probe_looks_at_the_first_trajectory_there_is() -> None:
    witness = Witness()
    [stage] = idle_at_first(witness).stages
    steps = steps_with_other_weights(witness, stage, witness.build_model())
    assert next(steps).tokens == 0
    with pytest.raises(MachineError, match="engine and learner disagree"):
        next(steps)


def stages_with(change: Callable[[Witness], Sequence[Stage]]) -> Plan:
    witness = Witness()
    return witness.plan_of(*change(witness))


REFUSED: dict[str, Callable[[Witness], Sequence[Stage]]] = {
    "without stages": lambda w: (),
    "two stages are named twice": lambda w: (w.evaluation("twice"), w.evaluation("twice")),
    "streams of stage 'rl' have the same name": lambda w: (
        replace(w.reinforcement(), streams=(w.reinforcement().streams[0],) * 2),
    ),
    "'rl' has no streams": lambda w: (replace(w.reinforcement(), streams=()),),
    "steps=0 must be a whole number of 1 or more": lambda w: (
        SFTStage(name="sft", source=w.demonstration, settings=replace(SFT, steps=0)),
    ),
    "tasks_per_step=0 must be a whole number of 1 or more": lambda w: (
        replace(w.reinforcement(), settings=replace(RL, tasks_per_step=0)),
    ),
    "group_size=1 leaves nothing to compare": lambda w: (
        replace(w.reinforcement(), settings=replace(RL, group_size=1)),
    ),
    "temperature=0.0 gives equal trajectories": lambda w: (
        replace(w.reinforcement(), settings=replace(RL, temperature=0.0)),
    ),
    "'../out' cannot name": lambda w: (w.evaluation("../out"),),
    "'' cannot name": lambda w: (w.evaluation(""),),
}


def test_a_critic_needs_no_group_to_compare_with() -> None:
    witness = Witness()
    alone = replace(witness.reinforcement(), settings=replace(RL, group_size=1))
    with pytest.raises(UserError, match="group_size=1 leaves nothing to compare"):
        witness.plan_of(alone).check()
    witness.plan_of(replace(alone, algorithm=ppo())).check()


@pytest.mark.parametrize("why", REFUSED)
def test_a_plan_that_cannot_run_is_refused_before_anything_is_written(why: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=why):
        Witness().run(tmp_path / "run", stages_with(REFUSED[why]))
    assert not (tmp_path / "run").exists()


def test_a_task_asked_twice_in_a_step_is_tried_with_other_chances(tmp_path: Path) -> None:
    witness = Witness(settings=replace(RL, steps=1, evaluate_every=0))

    def asked(step: int) -> list[Question]:
        return [Question(task=task, streams=("silent",)) for task in witness.tasks(step, 1) * 2]

    witness.run(tmp_path / "run", witness.plan_of(replace(witness.reinforcement(), questions=lambda: ByStep(asked))))
    [groups] = witness.groups
    seeds = [trajectory.seed for group in groups for trajectory in group.trajectories]
    assert len(groups) == 2
    assert groups[0].task == groups[1].task
    assert len(set(seeds)) == len(seeds)
