"""A plain training step: transformers' model and PEFT's adapter on the script's tokens, without a rollout.

What a training loop of one's own does: rows of a micro-batch forwarded, the loss of the tokens that the model chose,
backward, clipping, AdamW. Tokens and pixels are made before the clock starts.
"""

from collections.abc import Iterator, Mapping, Sequence

import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy

from saccade.bench.measuring import Moment, WorkCounter, fill_adapter, fingerprint, peak_mb, save_gradients
from saccade.bench.peers import load_peer_model, load_processor, peer_adapter
from saccade.bench.script import Script
from saccade.bench.workload import BenchSpec, Channel, Ready, StepReport

Row = tuple[list[int], list[bool], Mapping[str, Tensor]]
"""Ids, which of them the model chose, and the pixels that belong to them."""


class PlainSide:
    """A model and an optimiser; ``step`` is one training step."""

    def __init__(self, spec: BenchSpec) -> None:
        self.spec = spec
        self.processor = load_processor(spec)
        self.script = Script.of(spec.workload, self.processor.tokenizer)
        self.model = load_peer_model(spec).to(spec.device)
        self.counter = WorkCounter(self.model, self.processor.image_processor)
        self.forward = self.model
        if (adapter := peer_adapter(spec)) is not None:
            from peft import get_peft_model

            self.forward = get_peft_model(self.model, adapter)
            fill_adapter(self.model.named_parameters())
        self.forward.train()
        if spec.checkpointing:
            self.model.gradient_checkpointing_enable()
            self.model.enable_input_require_grads()
        self.weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.adamw = torch.optim.AdamW(self.weights, lr=spec.learning_rate, betas=(0.9, 0.999), weight_decay=0.0)

    def step(self, index: int) -> StepReport:
        self.counter.take()
        rows = [row for prompt in range(self.spec.workload.prompts) for row in self._rows(index, prompt)]
        advantages = self._advantages(index)
        chosen = sum(mask.count(True) for _, mask, _ in rows)
        start = Moment.now(self.spec.device)
        for first in range(0, len(rows), self.spec.micro_batch_sequences):
            part = slice(first, first + self.spec.micro_batch_sequences)
            (self._summed_loss(rows[part], advantages[part]) / chosen).backward()  # type: ignore[no-untyped-call]
        norm = float(torch.nn.utils.clip_grad_norm_(self.weights, 1.0))
        if index == 0:
            save_gradients(self.model.named_parameters(), self.spec.gradient_file("plain"))
        self.adamw.step()
        self.adamw.zero_grad()
        end = Moment.now(self.spec.device)
        return StepReport(
            step=index,
            wall_s=end.wall_s - start.wall_s,
            cpu_s=end.cpu_s - start.cpu_s,
            training_cpu_s=end.cpu_s - start.cpu_s,
            work=self.counter.take(),
            gradient_norm=norm,
            entropy=None,
            trained_on=fingerprint((ids, mask) for ids, mask, _ in rows),
            peak_mb=peak_mb(self.spec.device),
        )

    def _summed_loss(self, rows: Sequence[Row], advantages: Tensor) -> Tensor:
        """Of rows of one length, which those of a workload have."""
        device = self.spec.device
        ids, mask = (torch.tensor([row[part] for row in rows], device=device) for part in (0, 1))
        pixels = {name: torch.cat([row[2][name] for row in rows]).to(device) for name in rows[0][2]}
        if "image_grid_thw" in pixels:
            pixels["mm_token_type_ids"] = (ids == self.model.config.image_token_id).long()
        # The opening is alike in length too, and its logits are needed from its last token on.
        opening = self.spec.workload.prompt_tokens
        with torch.autocast(device, torch.bfloat16, enabled=self.spec.dtype == "bfloat16"):
            logits = self.forward(input_ids=ids, logits_to_keep=ids.shape[1] - opening + 1, **pixels).logits
        surprise = cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, opening:].flatten(), reduction="none")
        return (surprise.view(len(rows), -1) * mask[:, opening:] * advantages[:, None].to(device)).sum()

    def _advantages(self, step: int) -> Tensor:
        workload = self.spec.workload
        samples = range(workload.group_size)
        rewards = torch.tensor(
            [[workload.reward(step, prompt, one) for one in samples] for prompt in range(workload.prompts)]
        )
        return ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).flatten()

    def _rows(self, step: int, prompt: int) -> Iterator[Row]:
        """The trajectories of a question."""
        workload, picture = self.spec.workload, self.spec.workload.picture(step, prompt)
        opening = self._shown("user", self.script.question, picture)
        for sample in range(workload.group_size):
            pieces = [opening]
            for turn in range(workload.turns):
                said = list(self.script.turn(step, prompt, sample, turn))
                pieces.append((said, [True] * len(said), {}))
                if turn + 1 < workload.turns:
                    left, top = workload.corner(step, prompt, sample, turn)
                    crop = picture.crop((left, top, left + workload.crop_px, top + workload.crop_px))
                    pieces.append(self._shown("tool", self.script.observation, crop))
            pixels = {name: torch.cat([of[name] for _, _, of in pieces if of]) for name in opening[2]}
            yield [one for ids, _, _ in pieces for one in ids], [one for _, mask, _ in pieces for one in mask], pixels

    def _shown(self, role: str, text: str, picture: object) -> Row:
        """A message with an image, as the family's processor makes it of the chat template's text."""
        message = {"role": role, "content": [{"type": "image"}, {"type": "text", "text": text}]}
        rendered = self.processor.tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)
        # The line break after the end of the turn before belongs to what follows it.
        made = self.processor(
            images=[picture], text=[rendered if role == "user" else "\n" + rendered], return_tensors="pt"
        )
        pixels = {name: made[name] for name in ("pixel_values", "image_grid_thw") if name in made}
        ids = made["input_ids"][0].tolist()
        return ids, [False] * len(ids), pixels


def serve(spec: BenchSpec, channel: Channel) -> None:
    """Runs steps as the driver asks for them."""
    side = PlainSide(spec)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    channel.send(Ready(versions=versions, resident_mb=peak_mb("cpu")))
    for index in range(spec.steps):
        if channel.recv() == "stop":
            return
        channel.send(side.step(index))
