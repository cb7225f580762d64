"""How fast the local engine samples, beside transformers' own ``generate()`` on the same tiny model.

    python benchmarks/engine.py [--rows 1 8 32 128] [--tokens 64] [--group 8] [--repeats 3] [--device cpu]

Two workloads: one turn of exactly so many tokens for groups that share a prompt and its image; and three turns with an
image after each, where ``generate()`` starts from zero in every turn and the engine continues. Prints one JSON line per
measurement with the work that the engine counted.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from PIL import Image

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Observation, Tokens

TEXTS = ["What is written on the red plate? Look closer with the tool, then answer in one word."] * 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """Rows that are sampled together; neighbours of a group share their prompt."""

    prompts: tuple[Tokens, ...]
    observation: Observation
    turns: int
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """Best of the repeats. On a shared machine only the time on the processor can be compared."""

    wall_s: float
    cpu_s: float


def timed(run: Callable[[], None], repeats: int) -> Timing:
    def once() -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - wall, time.process_time() - cpu

    once()
    walls, cpus = zip(*(once() for _ in range(repeats)))
    return Timing(wall_s=round(min(walls), 3), cpu_s=round(min(cpus), 3))


async def sample_with_engine(engine: LocalEngine, workload: Workload) -> None:
    chat = engine.model.chat

    async def trajectory(slot, index: int) -> None:
        prompt = workload.prompts[index]
        ids, images = list(prompt.ids), list(prompt.images)
        for _turn in range(workload.turns):
            done = await slot.sample(ids, images, Sampling(seed=index, max_tokens=workload.tokens))
            suffix = chat.observation(workload.observation, ends_with_eos=done.finish == "eos")
            ids += [*done.ids, *suffix.ids]
            images += suffix.images
        slot.close()

    async with engine.sequences([str(index) for index in range(len(workload.prompts))]) as slots:
        await asyncio.gather(*(trajectory(slot, index) for index, slot in enumerate(slots)))


def sample_with_generate(model: VisionLanguageModel, workload: Workload) -> None:
    """Every turn of all rows together, each from the whole sequence, as a trainer around ``generate()`` does."""
    sequences = [(list(prompt.ids), list(prompt.images)) for prompt in workload.prompts]
    for _ in range(workload.turns):
        width = max(len(ids) for ids, _ in sequences)
        ids = torch.full((len(sequences), width), model.eos_id)
        mask = torch.zeros_like(ids)
        for row, (sequence, _) in enumerate(sequences):
            ids[row, width - len(sequence) :] = torch.tensor(sequence)
            mask[row, width - len(sequence) :] = 1
        patches = model.patches.get([image for _, images in sequences for image in images])
        written = model.hf.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            pixel_values=torch.cat([patch.values for patch in patches]).to(model.device, model.dtype),
            image_grid_thw=torch.tensor([[1, patch.rows, patch.columns] for patch in patches], device=model.device),
            mm_token_type_ids=(ids == model.image_token_id).int().to(model.device),
            do_sample=True,
            max_new_tokens=workload.tokens,
            min_new_tokens=workload.tokens,
            suppress_tokens=model.forbidden_ids.tolist(),
            pad_token_id=model.eos_id,
        )
        suffix = model.chat.observation(workload.observation, ends_with_eos=False)
        for row, (sequence, images) in enumerate(sequences):
            sequence += [*written[row, width:].tolist(), *suffix.ids]
            images += suffix.images


def workload_of(model: VisionLanguageModel, rows: int, group: int, turns: int, tokens: int) -> Workload:
    def picture(number: int, side: int) -> ImageRef:
        return model.media.add(Image.new("RGB", (side, side), (number % 256, 90, 200)))

    prompts = [
        model.chat.prompt([Message(role="user", parts=(picture(index, 256), TEXTS[0]))])
        for index in range(-(-rows // group))
    ]
    return Workload(
        prompts=tuple(prompts[row // group] for row in range(rows)),
        observation=Observation(text="Here it is.", images=(picture(200, 128),)),
        turns=turns,
        tokens=tokens,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    options = parser.parse_args()
    size = TinySize(hidden=options.hidden, layers=options.layers, mlp=3 * options.hidden)
    model = tiny_model(TEXTS, MediaStore(), size=size)
    model.hf.to(options.device)
    model.forbidden_ids = model.forbidden_ids.to(options.device)
    # Neither side may stop early, or they would not do the same work.
    model.forbidden_ids = torch.cat([model.forbidden_ids, model.forbidden_ids.new_tensor([model.eos_id])])
    for turns in (1, 3):
        for rows in options.rows:
            workload = workload_of(model, rows, options.group, turns, options.tokens)
            counted = LocalEngine(model)
            asyncio.run(sample_with_engine(counted, workload))

            def engine_run(workload: Workload = workload) -> None:
                asyncio.run(sample_with_engine(LocalEngine(model), workload))

            def generate_run(workload: Workload = workload) -> None:
                with torch.no_grad():
                    sample_with_generate(model, workload)

            engine = timed(engine_run, options.repeats)
            generate = timed(generate_run, options.repeats)
            sampled = rows * turns * options.tokens
            print(
                json.dumps(
                    {
                        "rows": rows,
                        "turns": turns,
                        "engine": asdict(engine),
                        "generate": asdict(generate),
                        "engine_tokens_per_cpu_s": round(sampled / engine.cpu_s),
                        "generate_tokens_per_cpu_s": round(sampled / generate.cpu_s),
                        "images_encoded": counted.images_encoded,
                        **asdict(counted.work),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
