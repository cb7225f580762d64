"""Peak memory and time of learning and sampling at real widths, beside what ``saccade plan-memory`` says of them.

    python benchmarks/memory_sizes.py [--size 0.1b | --model DIR] [--rows NAMES] [--tokens 1024] [--json FILE]

A Qwen2.5-VL of random weights is written once, by default with the published vocabulary of 151,936 tokens, or the
checkpoint of ``--model`` is taken; each row is a process of its own on one thread, which loads it, samples a few turns
and takes optimiser steps on packs that are full. Memory is the kernel's mark of the process's peak while it samples and
while it learns; time is that of the processor.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

from saccade.bench.checkpoint import SIZES as OTHER_SIZES
from saccade.bench.checkpoint import ModelSize, write_checkpoint
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.checkpoint import EngineSettings, LoadSettings, MatmulPrecision
from saccade.models.lora import LoraSettings
from saccade.models.shape import read_shape

SMALL = ModelSize(
    vocabulary=151_936,
    hidden=512,
    layers=10,
    heads=8,
    kv_heads=2,
    mlp=1408,
    vision_hidden=384,
    vision_depth=6,
    vision_heads=6,
    vision_mlp=768,
    rope_theta=1_000_000.0,
)
SIZES = {
    "tiny": OTHER_SIZES["tiny"],
    "0.1b": SMALL,
    "0.15b": replace(SMALL, vocabulary=49_152, hidden=576, layers=30, heads=9, kv_heads=3, mlp=1536, vision_depth=12),
    "0.2b": replace(
        SMALL, hidden=768, layers=14, heads=12, mlp=2048, vision_hidden=512, vision_depth=8, vision_heads=8
    ),
    "0.5b": replace(
        SMALL, hidden=896, layers=24, heads=14, mlp=4864, vision_hidden=768, vision_depth=12, vision_heads=12
    ),
}
PLAIN = OptimizerSettings(learning_rate=1e-4)
ROWS: dict[str, tuple[str, OptimizerSettings]] = {
    "fp32": ("float32", PLAIN),
    "fp32, checkpointing": ("float32", replace(PLAIN, activation_checkpointing=True)),
    "fp32, 8-bit moments": ("float32", replace(PLAIN, eight_bit_optimizer=True)),
    "fp32, LoRA 16": ("float32", replace(PLAIN, lora=LoraSettings(rank=16))),
    "fp32, LoRA 16, checkpointing": (
        "float32",
        replace(PLAIN, lora=LoraSettings(rank=16), activation_checkpointing=True),
    ),
    "bf16": ("bfloat16", PLAIN),
    "bf16, checkpointing, 8-bit moments": (
        "bfloat16",
        replace(PLAIN, activation_checkpointing=True, eight_bit_optimizer=True),
    ),
}
PLAYED, WRITTEN = 8, 16
"""Trajectories that are sampled, and their tokens."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="0.1b")
    parser.add_argument("--model", type=Path, help="a checkpoint in place of one of random weights")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--matmul-precision", choices=get_args(MatmulPrecision), default="highest")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=2, metavar=("MODEL", "ROW"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        path, name = options.child
        print(json.dumps(measured(Path(path), name, options.tokens, options.steps, options.matmul_precision)))
        return
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            write_checkpoint(Path(folder), SIZES[options.size])
        path = str(options.model or folder)
        weights = read_shape(Path(path)).weights
        print(f"{weights:,} weights, packs of {options.tokens} tokens")
        for name in options.rows:
            command = [sys.executable, __file__, "--child", path, name]
            command += ["--tokens", str(options.tokens), "--steps", str(options.steps)]
            command += ["--matmul-precision", options.matmul_precision]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: ended with {done.returncode}\n{done.stderr[-2000:]}")
                continue
            row = json.loads(done.stdout.splitlines()[-1])
            rows.append(row)
            print(
                f"{name:30} GiB predicted and measured: {_compared(row['sampling_gib'])} sampling, "
                f"{_compared(row['learning_gib'])} learning; a step {row['step_cpu_s']:.1f} s of CPU",
                flush=True,
            )
            if options.json:
                options.json.write_text(json.dumps({"weights": weights, "rows": rows}, indent=1) + "\n")


def _compared(pair: Sequence[float]) -> str:
    predicted, seen = pair
    return f"{predicted:6.2f} {seen:6.2f} ({predicted / seen - 1:+.0%})"


def measured(path: Path, name: str, tokens: int, steps: int, precision: MatmulPrecision) -> dict[str, object]:
    import torch
    from PIL import Image

    from saccade.algorithms.losses import negative_log_likelihood
    from saccade.engines.engine import Sampling
    from saccade.engines.local import limited_engine
    from saccade.learner.learner import Learner
    from saccade.learner.sequences import TrainingSequence
    from saccade.media.store import MediaStore
    from saccade.models.loading import load_model
    from saccade.train.memory_plan import memory_plan
    from saccade.train.memory_process import Load
    from saccade.types import Message

    torch.set_num_threads(1)
    dtype, settings = ROWS[name]
    settings = replace(settings, micro_batch_tokens=tokens)
    limits = EngineSettings(max_rows=PLAYED)
    load = LoadSettings(device="cpu", dtype=dtype, engine=limits, matmul_precision=precision)  # type: ignore[arg-type]
    begun = resident("VmRSS")
    model = load_model(path, MediaStore(), load)
    learner = Learner(model, settings)
    side = 28 * int((tokens // 4) ** 0.5)
    picture = model.media.add(Image.linear_gradient("L").resize((side, side)).convert("RGB"))
    prompt = model.chat.prompt([Message(role="user", parts=(picture, "yes"))])
    image_tokens = model.view.token_count(picture)
    # Two sequences with one prompt fill a pack; the gradient of the first pack is there while the second is worked on.
    action = (tokens - len(prompt.ids)) // 2
    words = model.tokenizer.encode("yes user assistant tool yes yes tool")
    sequences = [
        TrainingSequence(
            ids=(*prompt.ids, *(words[(index + step) % len(words)] for step in range(action + 1))),
            is_action=(*[False] * len(prompt.ids), *[True] * (action + 1)),
            images=prompt.images,
            prompt_tokens=len(prompt.ids),
            prompt_images=1,
            sampled_logprobs=(0.0,) * (action + 1),
            advantages=(1.0,) * (action + 1),
            token_weight=1.0 / (4 * action),
        )
        for index in range(4)
    ]
    engine = limited_engine(model, limits)

    async def sample() -> None:
        async with engine.sequences([str(index) for index in range(PLAYED)]) as slots:

            async def turn(index: int) -> None:
                sampling = Sampling(seed=index, max_tokens=WRITTEN)
                await slots[index].sample(prompt.ids, prompt.images, sampling)
                slots[index].close()

            await asyncio.gather(*(turn(index) for index in range(PLAYED)))

    times: list[float] = []
    peaks: dict[str, list[int]] = {"sampling": [], "learning": []}
    for _ in range(steps):
        peak_from_here()
        asyncio.run(sample())
        peaks["sampling"].append(resident("VmHWM"))
        peak_from_here()
        started = time.process_time()
        learner.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-4)
        times.append(time.process_time() - started)
        peaks["learning"].append(resident("VmHWM"))
        engine.reset()
    given = Load(pack_tokens=tokens, pack_image_tokens=image_tokens, rows=PLAYED, row_tokens=len(prompt.ids) + WRITTEN)
    plan = memory_plan(read_shape(path), model=load, optimizer=settings, load=given)
    return {
        "name": name,
        "sampling_gib": [plan.in_phase("sampling") / 2**30, max(peaks["sampling"]) / 2**20],
        "learning_gib": [
            max(plan.in_phase("learning"), plan.in_phase("step")) / 2**30,
            max(peaks["learning"]) / 2**20,
        ],
        "before_the_model_gib": begun / 2**20,
        "step_cpu_s": min(times[1:] or times),
        "phase": plan.highest_phase(),
        "parts_gib": {f"{part.name} ({part.phase})": round(part.bytes / 2**30, 3) for part in plan.parts},
        "load": asdict(given),
    }


def peak_from_here() -> None:
    """Lets ``VmHWM`` begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def resident(name: str) -> int:
    """KiB of a line of ``/proc/self/status``."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


if __name__ == "__main__":
    main()
