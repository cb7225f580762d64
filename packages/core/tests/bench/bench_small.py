"""A benchmark small enough for a test."""

from saccade.bench.checkpoint import ModelSize
from saccade.bench.workload import Workload

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
)
