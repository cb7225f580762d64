"""TRL's side of the benchmark: its own GRPOTrainer with generation, tool loop, rewards and optimiser as they are.

Only three things are put in from outside: the tokens that are drawn (the model still forwards for each of them), hooks
that count, and a callback that stops between two steps until the driver asks for the next.
"""

import json
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import partial

import torch
import transformers
import trl
from datasets import Dataset
from PIL import Image
from torch import Tensor, nn
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    PrinterCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from trl import GRPOConfig, GRPOTrainer

from saccade.bench.measuring import Moment, WorkCounter, fill_adapter, fingerprint, peak_mb, save_gradients
from saccade.bench.peers import load_peer_model, load_processor, peer_adapter
from saccade.bench.script import Script
from saccade.bench.workload import BenchSpec, Channel, Ready, StepReport, Workload

RESPONSE_TEMPLATE: Mapping[str, object] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {"open": "<think>", "close_pattern": r"</think>\s*", "content": "text"},
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}
"""How transformers reads a turn of the script back into a tool call."""


class ScriptedLogits(LogitsProcessor):  # type: ignore[misc]
    """Leaves one token to draw: the scripted one. ``tokens`` has a row for each trajectory of the batch."""

    def __init__(self, tokens: Tensor, start: int) -> None:
        self._tokens = tokens
        self._start = start

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        forced = self._tokens[:, input_ids.shape[1] - self._start].to(scores.device)
        return torch.full_like(scores, float("-inf")).scatter(-1, forced[:, None], 0.0)


class CropEnvironment:
    """Environment of a trajectory, which may crop the image of its question."""

    def __init__(self, observation: str) -> None:
        self._observation = observation
        self._image: Image.Image | None = None

    def reset(self, **row: object) -> None:
        """Takes the image of the row that is asked next."""
        image = row["images"]
        if isinstance(image, list):
            self._image = image[0]

    def crop(self, left: int, top: int, side: int) -> list[dict[str, object]]:
        """Cut a square out of the image.

        Args:
            left: Left edge in pixels.
            top: Upper edge in pixels.
            side: Side of the square in pixels.

        Returns:
            The square and a text.
        """
        if self._image is None:
            raise ValueError("the environment was not reset")
        region = self._image.crop((left, top, left + side, top + side))
        return [{"type": "image", "image": region}, {"type": "text", "text": self._observation}]


class RecordingTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPOTrainer that keeps a reference to what each micro-batch was trained on, and when its rollout ended."""

    trained: list[Mapping[str, Tensor]]
    rollout_end: Moment

    def _generate_and_score_completions(self, inputs: list[dict[str, object]]) -> dict[str, object]:
        completed: dict[str, object] = super()._generate_and_score_completions(inputs)
        self.rollout_end = Moment.now(self.accelerator.device.type)
        return completed

    def _compute_loss(self, model: nn.Module, inputs: Mapping[str, Tensor]) -> Tensor:
        self.trained.append(inputs)
        loss: Tensor = super()._compute_loss(model, inputs)
        return loss

    def take_fingerprint(self) -> str:
        """Fingerprint of all micro-batches since the last call."""
        taken, self.trained = self.trained, []
        return fingerprint(sequence for inputs in taken for sequence in _sequences(inputs))


def _sequences(inputs: Mapping[str, Tensor]) -> list[tuple[list[int], list[bool]]]:
    chosen = inputs["completion_mask"] * inputs.get("tool_mask", torch.ones_like(inputs["completion_mask"]))
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    is_token = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1).bool()
    is_chosen = torch.cat([torch.zeros_like(inputs["prompt_mask"]), chosen], dim=1).bool()
    return [(ids[row][is_token[row]].tolist(), is_chosen[row][is_token[row]].tolist()) for row in range(len(ids))]


class Steps(TrainerCallback):  # type: ignore[misc]
    """Waits for the driver before each step and reports after it."""

    def __init__(self, spec: BenchSpec, channel: Channel, counter: WorkCounter, model: nn.Module) -> None:
        self.step = 0
        self.generations = 0
        self._spec, self._channel, self._counter, self._model = spec, channel, counter, model
        self._start = self._end = Moment.now("cpu")
        self._trained_on, self._training_cpu_s = "", 0.0
        self.trainer: RecordingTrainer | None = None

    def on_step_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        if self._channel.recv() == "stop":
            raise Stopped
        self.generations = 0
        self._counter.take()
        self._start = Moment.now(self._spec.device)

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        if self.step == 0:
            save_gradients(self._model.named_parameters(), self._spec.gradient_file("trl"))

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object) -> None:
        assert self.trainer is not None
        self._end = Moment.now(self._spec.device)
        self._training_cpu_s = self._end.cpu_s - self.trainer.rollout_end.cpu_s
        self._trained_on = self.trainer.take_fingerprint()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: object,
    ) -> None:
        if not logs or "grad_norm" not in logs:
            return
        report = StepReport(
            step=self.step,
            wall_s=self._end.wall_s - self._start.wall_s,
            cpu_s=self._end.cpu_s - self._start.cpu_s,
            training_cpu_s=self._training_cpu_s,
            work=self._counter.take(),
            gradient_norm=float(logs["grad_norm"]),
            entropy=float(logs["entropy"]),
            trained_on=self._trained_on,
            peak_mb=peak_mb(self._spec.device),
        )
        self.step += 1
        self._channel.send(report)


class Stopped(Exception):  # noqa: N818 - not an error
    """The driver wants no more steps."""


def _configuration(spec: BenchSpec, directory: str, observed: int) -> GRPOConfig:
    """TRL's defaults but for what the workload fixes; checkpointing is off where it fits, which makes TRL faster."""
    workload = spec.workload
    most = min(spec.micro_batch_sequences, workload.trajectories)
    # Its micro-batches must be of one size.
    rows = next(count for count in range(most, 0, -1) if workload.trajectories % count == 0)
    return GRPOConfig(
        output_dir=directory,
        per_device_train_batch_size=rows,
        gradient_accumulation_steps=workload.trajectories // rows,
        num_generations=workload.group_size,
        max_completion_length=workload.turns * workload.turn_tokens + observed,
        max_steps=spec.steps,
        learning_rate=spec.learning_rate,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        beta=0.0,
        loss_type="dapo",
        scale_rewards="group",
        shuffle_dataset=False,
        bf16=spec.dtype == "bfloat16",
        use_cpu=spec.device == "cpu",
        gradient_checkpointing=spec.checkpointing,
        save_strategy="no",
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=spec.device == "cuda",
    )


def _rows(workload: Workload, steps: int, question: str) -> Dataset:
    return Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": question}],
                "images": [workload.picture(step, prompt)],
                "step": step,
                "question": prompt,
            }
            for step in range(steps)
            for prompt in range(workload.prompts)
        ]
    )


def _reward(workload: Workload) -> Callable[..., list[float]]:
    def seeded(completions: list[object], step: list[int], question: list[int], **_: object) -> list[float]:
        return [workload.reward(step[row], question[row], row % workload.group_size) for row in range(len(completions))]

    return seeded


def _hide_tile_counts(image_processor: object) -> None:
    """TRL hands all that an image processor gives for a tool's images on to the model; InternVL's takes no counts."""
    preprocess: Callable[..., dict[str, Tensor]] = image_processor.preprocess  # type: ignore[attr-defined]

    def hidden(*args: object, **settings: object) -> dict[str, Tensor]:
        features = preprocess(*args, **settings)
        # The family's processor always says whether it wants tiles, and needs their counts.
        if "crop_to_patches" not in settings:
            features.pop("num_patches", None)
        return features

    image_processor.preprocess = hidden  # type: ignore[attr-defined]


def serve(spec: BenchSpec, channel: Channel) -> None:
    """Trains as long as the driver asks for steps."""
    # TRL says of its tool loop for environments that it is experimental; it is the loop that is compared.
    warnings.filterwarnings("ignore", message=".*experimental feature.*")
    workload = spec.workload
    processor = load_processor(spec)
    tokenizer = processor.tokenizer
    script = Script.of(workload, tokenizer)
    tokenizer.response_template = json.loads(json.dumps(RESPONSE_TEMPLATE))
    tokenizer.padding_side = "left"
    model = load_peer_model(spec)
    counter = WorkCounter(model, processor.image_processor)
    _hide_tile_counts(processor.image_processor)
    steps = Steps(spec, channel, counter, model)

    def scripted(generate: Callable[..., Tensor], *, input_ids: Tensor, **inputs: object) -> Tensor:
        said = torch.tensor(
            [
                script.turn(steps.step, prompt, sample, steps.generations)
                for prompt in range(workload.prompts)
                for sample in range(workload.group_size)
            ]
        )
        steps.generations += 1
        # TRL makes these of a tool's images for models without a grid of patches; InternVL takes none.
        inputs.pop("token_type_ids", None)
        processors = LogitsProcessorList([ScriptedLogits(said, input_ids.shape[1])])
        return generate(input_ids=input_ids, logits_processor=processors, **inputs)

    model.generate = partial(scripted, model.generate)
    observed = (workload.turns - 1) * workload.observation_tokens
    with tempfile.TemporaryDirectory() as directory:
        trainer = RecordingTrainer(
            model=model,
            reward_funcs=_reward(workload),
            args=_configuration(spec, directory, observed),
            train_dataset=_rows(workload, spec.steps, script.question),
            processing_class=processor,
            callbacks=[steps],
            peft_config=peer_adapter(spec),
            environment_factory=partial(CropEnvironment, script.observation) if workload.turns > 1 else None,
        )
        fill_adapter(model.named_parameters())
        trainer.trained = []
        trainer.remove_callback(PrinterCallback)
        steps.trainer = trainer
        versions = {"trl": trl.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
        channel.send(Ready(versions=versions, resident_mb=peak_mb("cpu")))
        try:
            trainer.train()
        except Stopped:
            return
