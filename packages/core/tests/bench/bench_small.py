"""A benchmark small enough for a test."""

from dataclasses import replace
from pathlib import Path

from saccade.bench.checkpoint import ModelSize, take_checkpoint, write_checkpoint
from saccade.bench.workload import WORDS, BenchSpec, Workload
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model

SMALL_SIZE = ModelSize(
    vocabulary=1024,
    hidden=32,
    layers=2,
    heads=2,
    kv_heads=1,
    mlp=48,
    vision_hidden=32,
    vision_depth=2,
    vision_heads=2,
    vision_mlp=48,
)

SMALL = Workload(
    name="small",
    turns=2,
    prompt_tokens=60,
    observation_tokens=30,
    prompts=2,
    group_size=3,
    turn_tokens=50,
    image_px=112,
    crop_px=56,
    image_tokens=16,
    crop_tokens=4,
)


def checkpoint_spec(directory: Path, family: TinyFamily, lora_rank: int | None) -> BenchSpec:
    """Of a tiny checkpoint of the family, with a vocabulary in which the words of the script are tokens."""
    checkpoint = directory / family
    if family == "qwen2_5_vl":
        write_checkpoint(checkpoint, SMALL_SIZE)
    else:
        words = [f" {word}" for word in WORDS for _ in range(8)] + ["user", "assistant", "tool", "yes"] * 8
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=48, vision_hidden=32, vision_mlp=48)
        tiny_model(words, MediaStore(), family=family, size=size).save(checkpoint)
    spec = BenchSpec(
        workload=replace(SMALL, turn_tokens=70),
        directory=directory,
        checkpoint=checkpoint,
        lora_rank=lora_rank,
        steps=1,
        threads=1,
        device="cpu",
    )
    return take_checkpoint(spec)[0]
