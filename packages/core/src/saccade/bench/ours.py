"""Saccade's side of the benchmark: the rollout, the advantages and the update that ``train/loops.py`` calls."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import torch
import transformers
from PIL import Image
from torch import Tensor

from saccade.algorithms.policy_gradient import grpo
from saccade.bench.measuring import Moment, WorkCounter, fill_adapter, fingerprint, peak_mb, save_gradients
from saccade.bench.script import Script
from saccade.bench.workload import BenchSpec, Channel, Ready, StepReport
from saccade.distribution import __version__
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.sampling import Drawn, draw_tokens
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import MachineError
from saccade.evaluation.evaluate import play
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.sequences import training_sequences, weighted
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings, load_model
from saccade.protocols.protocol import ChatProtocol
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import RolloutRequest, RolloutSettings
from saccade.seeding import seed_for
from saccade.tools.tool import ToolOutput, tool_from
from saccade.types import Group, Malformed, Message, Observation, Score, Task, Term, ToolResult, ToolSpec, Trajectory


def crop(image: Image.Image, left: int, top: int, side: int) -> ToolOutput:
    """Cut a square out of an image."""
    return ToolOutput(images=(image.crop((left, top, left + side, top + side)),))


class ScriptedDraw:
    """Draws as the engine does and then puts the scripted tokens in the place of what was drawn."""

    def __init__(self) -> None:
        self._scripts: dict[int, Iterator[int]] = {}

    def begin(self, scripts: Mapping[int, Sequence[int]]) -> None:
        """Texts of the next batch's trajectories, by their seeds."""
        self._scripts = {seed: iter(tokens) for seed, tokens in scripts.items()}

    def __call__(self, logits: Tensor, samplings: Sequence[Sampling], uniforms: Sequence[float]) -> list[Drawn]:
        # The work of sampling is done in full, since it belongs to a step; what is put in its place costs next to none.
        drawn = draw_tokens(logits, samplings, uniforms)
        tokens = [next(self._scripts[sampling.seed]) for sampling in samplings]
        rows = torch.arange(len(tokens), device=logits.device)
        # log p of two tokens of a row differ by their logits.
        gap = (logits[rows, tokens] - logits[rows, [one.token for one in drawn]]).tolist()
        return [Drawn(token, one.logprob + more) for token, one, more in zip(tokens, drawn, gap)]


class SaccadeSide:
    """A model, an engine and a learner; ``step`` is one reinforcement step."""

    def __init__(self, spec: BenchSpec) -> None:
        self.spec = spec
        self.media = MediaStore()
        settings = LoadSettings(
            device=spec.device,
            dtype=spec.dtype,
            matmul_precision=spec.matmul_precision,
            max_pixels="checkpoint",
            chat_template=spec.chat_template,
        )
        self.model = load_model(spec.model, self.media, settings)
        # A peer scores over the whole vocabulary, so nothing is forbidden here either.
        self.model.forbidden_ids = self.model.forbidden_ids[:0]
        self.script = Script.of(spec.workload, self.model.tokenizer)
        self.counter = WorkCounter(self.model.hf, self.model.image_processor)
        self.draw = ScriptedDraw()
        self.algorithm = grpo()
        # What transformers' Trainer uses unless it is told otherwise.
        optimizer = OptimizerSettings(
            learning_rate=spec.learning_rate,
            betas=(0.9, 0.999),
            weight_decay=0.0,
            activation_checkpointing=spec.checkpointing,
            lora=spec.lora,
        )
        self.learner = Learner(self.model, optimizer)
        fill_adapter(self.model.hf.named_parameters())
        self.engine = LocalEngine(self.model, draw=self.draw)
        self.protocol = _protocol(self.script)
        self.tools = (tool_from(crop),)

    def step(self, index: int) -> StepReport:
        requests = [
            RolloutRequest(task=task, stream="main", sample=sample, seed=seed_for(0, "bench", task.id, sample))
            for task in self._tasks(index)
            for sample in range(self.spec.workload.group_size)
        ]
        self.draw.begin({one.seed: self._scripted_turns(index, one) for one in requests})
        self.counter.take()
        start = Moment.now(self.spec.device)
        groups = self._rollout(index, requests)
        self.counter.is_training = True
        between = Moment.now(self.spec.device)
        metrics = self._learn(groups)
        self.counter.is_training = False
        end = Moment.now(self.spec.device)
        trained = [one for group in groups for one in group.trajectories]
        return StepReport(
            step=index,
            wall_s=end.wall_s - start.wall_s,
            cpu_s=end.cpu_s - start.cpu_s,
            training_cpu_s=end.cpu_s - between.cpu_s,
            work=self.counter.take(),
            gradient_norm=metrics["gradient_norm"],
            entropy=metrics["entropy"],
            trained_on=fingerprint((one.ids, one.action_mask) for one in trained),
            peak_mb=peak_mb(self.spec.device),
        )

    @contextmanager
    def keeping_gradients(self) -> Iterator[None]:
        """Writes the clipped gradient of a step inside to its file."""
        optimizer = self.learner.optimizer
        names = {id(weight): name for name, weight in self.model.hf.named_parameters()}
        masters = [(names[id(weight)], master) for weight, master in zip(optimizer.weights, optimizer.masters)]

        def keep(*_: object) -> None:
            save_gradients(masters, self.spec.gradient_file("saccade"))

        hook = optimizer.adamw.register_step_pre_hook(keep)
        try:
            yield
        finally:
            hook.remove()

    def _tasks(self, step: int) -> list[Task]:
        workload = self.spec.workload
        return [
            Task(
                id=f"{step}/{prompt}",
                family="bench",
                question=self.script.question,
                answer="yes",
                answer_kind="exact",
                images=(self.media.add(workload.picture(step, prompt)),),
            )
            for prompt in range(workload.prompts)
        ]

    def _scripted_turns(self, step: int, request: RolloutRequest) -> tuple[int, ...]:
        return self.script.turns(step, int(request.task.id.partition("/")[2]), request.sample)

    def _rollout(self, step: int, requests: Sequence[RolloutRequest]) -> list[Group]:
        workload = self.spec.workload

        def reward(task: Task, trajectory: Trajectory) -> Score:
            value = workload.reward(step, int(task.id.partition("/")[2]), trajectory.sample)
            return Score(terms=(Term("seeded", value),))

        attempts = play(
            requests,
            engine=self.engine,
            chat=self.model.chat,
            make_env=self._environment,
            settings=RolloutSettings(max_turn_tokens=workload.turn_tokens, max_tokens=1 << 20, machine_retries=0),
            reward=reward,
        )
        if failed := [one.trajectory.failure for one in attempts if one.trajectory.status != "answered"]:
            raise MachineError(f"{len(failed)} trajectories of the benchmark did not follow their script: {failed[0]}")
        size = workload.group_size
        return [
            Group(
                task=attempts[first].task,
                stream="main",
                trajectories=tuple(one.trajectory for one in attempts[first : first + size]),
            )
            for first in range(0, len(attempts), size)
        ]

    def _learn(self, groups: Sequence[Group]) -> Mapping[str, float]:
        sequences = [
            one
            for group, of_group in zip(groups, self.algorithm.advantages(groups))
            for trajectory, advantages in zip(group.trajectories, of_group)
            for one in training_sequences(trajectory, advantages)
        ]
        metrics = self.learner.update(
            weighted(sequences, self.algorithm.aggregation),
            self.algorithm.loss,
            temperature=1.0,
            learning_rate=self.spec.learning_rate,
        )
        self.engine.update_weights(self.model, self.engine.policy_version + 1)
        return metrics

    def _environment(self) -> VisualReasoningEnv:
        return VisualReasoningEnv(
            protocol=self.protocol,
            tools=self.tools,
            media=self.media,
            view=self.model.view,
            max_turns=self.spec.workload.turns,
            shows_pixels=False,
        )


def _protocol(script: Script) -> ChatProtocol:
    """The tagged protocol with the script's texts; a turn ends with the end-of-turn token, as a peer's does."""

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        return (Message(role="user", parts=(*task.images, task.question)),)

    def observe(outcome: ToolResult | Malformed, images_before: int) -> Observation:
        if isinstance(outcome, Malformed):
            return Observation(text=outcome.why)
        return Observation(text=script.observation if outcome.is_ok else outcome.text, images=outcome.images)

    return replace(tagged_protocol(), prompt=prompt, observe=observe, stop=())


def serve(spec: BenchSpec, channel: Channel) -> None:
    """Runs steps as the driver asks for them."""
    side = SaccadeSide(spec)
    versions = {"saccade": __version__, "torch": torch.__version__, "transformers": transformers.__version__}
    channel.send(Ready(versions=versions, resident_mb=peak_mb("cpu")))
    for index in range(spec.steps):
        if channel.recv() == "stop":
            return
        with side.keeping_gradients() if index == 0 else nullcontext():
            report = side.step(index)
        channel.send(report)
