"""A random model of a real shape on a device, and what ``gpu_parts.py`` plays and learns with it."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from PIL import Image

from saccade.bench.checkpoint import SIZES, ModelSize, write_checkpoint
from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Message, Observation

HALF_B = ModelSize(
    vocabulary=151_936,
    hidden=896,
    layers=24,
    heads=14,
    kv_heads=2,
    mlp=4864,
    vision_hidden=768,
    vision_depth=12,
    vision_heads=12,
    vision_mlp=2048,
    rope_theta=1_000_000.0,
)
SEVEN_B = replace(
    SIZES["3b"], vocabulary=152_064, hidden=3584, layers=28, heads=28, kv_heads=4, mlp=18_944, is_tied=False
)
"""The numbers of Qwen2.5-VL-7B."""
PEAK_TFLOPS = {"H200": 989.0, "H100": 989.0, "A100": 312.0, "L40S": 362.0, "4090": 165.0, "B200": 2250.0}
"""Dense bf16, by a part of the GPU's name; of the SXM kind where there are several."""
LEARNING = OptimizerSettings(
    learning_rate=1e-6, activation_checkpointing=True, eight_bit_optimizer=True, micro_batch_tokens=4096
)
"""What a 3 B model needs to be trained whole on 80 GB."""


@dataclass(kw_only=True)
class Bench:
    """A checkpoint of the asked size, and what is measured with it."""

    folder: Path
    weights: int
    device: str
    size: str
    peak_tflops: float | None
    json: Path | None = None
    found: dict[str, object] = field(default_factory=dict)

    def keep(self, **figures: object) -> None:
        """Adds to what was found, in the file at once: a part that is cut short still tells something."""
        self.found |= figures
        if self.json is not None:
            self.json.write_text(json.dumps(self.found, indent=1) + "\n")

    @property
    def is_small(self) -> bool:
        return self.size == "tiny"

    def model(self, dtype: str = "bfloat16") -> VisionLanguageModel:
        load = LoadSettings(device=self.device, dtype=dtype)  # type: ignore[arg-type]
        return load_model(self.folder, MediaStore(), load)

    def timed(self, run: Callable[[], object]) -> float:
        self.wait()
        started = time.perf_counter()
        run()
        self.wait()
        return time.perf_counter() - started

    def now(self) -> float:
        self.wait()
        return time.perf_counter()

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def peak_gib(self) -> float:
        return torch.cuda.max_memory_allocated() / 2**30 if self.device == "cuda" else 0.0

    def forget_peak(self) -> None:
        if self.device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()


def batch(model: VisionLanguageModel, tokens: int, count: int = 2) -> list[TrainingSequence]:
    """Sequences with one prompt and one picture that fill a pack of so many tokens."""
    side = 28 * max(2, int((tokens // 4) ** 0.5))
    picture = model.media.add(Image.linear_gradient("L").resize((side, side)).convert("RGB"))
    prompt = model.chat.prompt([Message(role="user", parts=(picture, "yes"))])
    action = max(4, (tokens - len(prompt.ids)) // count)
    words = model.tokenizer.encode("yes user assistant tool yes yes tool")
    return [
        TrainingSequence(
            ids=(*prompt.ids, *(words[(index + step) % len(words)] for step in range(action))),
            is_action=(*[False] * len(prompt.ids), *[True] * action),
            images=prompt.images,
            prompt_tokens=len(prompt.ids),
            prompt_images=1,
            sampled_logprobs=(0.0,) * action,
            advantages=(1.0,) * action,
            token_weight=1.0 / (count * action),
        )
        for index in range(count)
    ]


def sampled(engine: LocalEngine, rows: int, tokens: int, side: int) -> list[tuple[list[int], list[float]]]:
    """Tokens and log-probabilities of so many rows in groups of eight."""
    chat, media = engine.model.chat, engine.model.media
    pictures = [media.add(Image.new("RGB", (side, side), (n % 256, 90, 200))) for n in range(-(-rows // 8))]
    prompts = [chat.prompt([Message(role="user", parts=(one, "What is this?"))]) for one in pictures]

    async def play() -> list[tuple[list[int], list[float]]]:
        async with engine.sequences([str(index) for index in range(rows)]) as slots:

            async def turn(index: int) -> tuple[list[int], list[float]]:
                prompt = prompts[index // 8]
                done = await slots[index].sample(prompt.ids, prompt.images, Sampling(seed=index, max_tokens=tokens))
                slots[index].close()
                return list(done.ids), list(done.logprobs)

            return list(await asyncio.gather(*(turn(index) for index in range(rows))))

    return asyncio.run(play())


def two_turns(engine: LocalEngine, rows: int, tokens: int, side: int) -> list[TrainingSequence]:
    """Trajectories in groups of four: a picture, a turn, another picture, a turn; with the engine's numbers."""
    chat, media = engine.model.chat, engine.model.media

    async def play() -> list[TrainingSequence]:
        async with engine.sequences([str(index) for index in range(rows)]) as slots:

            async def trajectory(index: int) -> TrainingSequence:
                first, second = (
                    media.add(Image.new("RGB", (side, side), (number % 256, 90, 200)))
                    for number in (index // 4, 100 + index)
                )
                asked = chat.prompt([Message(role="user", parts=(first, "What is this?"))])
                ids, images, actions = list(asked.ids), list(asked.images), [False] * len(asked.ids)
                logprobs: list[float] = []
                for turn in range(2):
                    if turn:
                        seen = chat.observation(
                            Observation(text="Here:", images=(second,)), ends_with_eos=ids[-1] in engine.model.end_ids
                        )
                        ids, images = [*ids, *seen.ids], [*images, *seen.images]
                        actions += [False] * len(seen.ids)
                    sampling = Sampling(seed=index, max_tokens=tokens)
                    done = await slots[index].sample(tuple(ids), tuple(images), sampling)
                    ids, logprobs = [*ids, *done.ids], [*logprobs, *done.logprobs]
                    actions += [True] * len(done.ids)
                slots[index].close()
                return TrainingSequence(
                    ids=tuple(ids),
                    is_action=tuple(actions),
                    images=tuple(images),
                    prompt_tokens=len(asked.ids),
                    prompt_images=1,
                    sampled_logprobs=tuple(logprobs),
                    advantages=(1.0,) * len(logprobs),
                    token_weight=1.0 / (rows * len(logprobs)),
                )

            return list(await asyncio.gather(*(trajectory(index) for index in range(rows))))

    return asyncio.run(play())


def checkpoint_of(folder: Path, size: ModelSize, device: str) -> int:
    """Writes a checkpoint unless it is there; the number of its weights."""
    counted = folder / "weights.txt"
    if not counted.is_file():
        # Half precision as published ones have; bytes of a rehearsal on a CPU are what they were.
        dtype = torch.float32 if device == "cpu" else torch.bfloat16
        counted.write_text(str(write_checkpoint(folder, size, device=device, dtype=dtype)))
    return int(counted.read_text())
