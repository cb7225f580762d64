"""Which published model fits which GPU by which settings: the arithmetic of ``saccade plan-memory``; nothing is run.

    python benchmarks/fits.py                  # the table of docs/memory.md

Shapes are those of the published ``config.json`` files; the numbers of weights that they give are printed beside them.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from saccade.config.settings import apply_overrides
from saccade.models.shape import ModelShape, read_shape
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.train.memory_plan import memory_plan, usual_load

GIB = 2**30
GPUS = (24, 48, 80, 141)
HEADROOM = 0.95
"""Share of a GPU that is reckoned with."""
ROWS = 32
"""Trajectories side by side: others wait."""
WAYS = {
    "LoRA 16": ("rl.optimizer.lora.rank=16",),
    "LoRA 16, base in 8 bits": ("rl.optimizer.lora.rank=16", "model.frozen_weights=int8"),
    "all weights, offloaded": ("rl.optimizer.offload_optimizer=true",),
    "all weights, 8-bit": ("rl.optimizer.eight_bit_optimizer=true",),
    "all weights": (),
}
ALWAYS = (
    "model.dtype=bfloat16",
    "model.device=cpu",
    "rl.optimizer.activation_checkpointing=true",
    f"model.engine.max_rows={ROWS}",
)


def qwen25(hidden: int, layers: int, heads: int, kv: int, mlp: int, vocabulary: int, tied: bool) -> dict[str, object]:
    text = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "vocab_size": vocabulary}
    text |= {"num_key_value_heads": kv, "intermediate_size": mlp, "max_position_embeddings": 128000}
    vision = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": hidden}
    return {
        "model_type": "qwen2_5_vl",
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "dtype": "bfloat16",
        "tie_word_embeddings": tied,
        "text_config": {**text, "model_type": "qwen2_5_vl_text", "tie_word_embeddings": tied},
        "vision_config": {
            **vision,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "fullatt_block_indexes": [7, 15, 23, 31],
        },
    }


def qwen3(hidden: int, mlp: int, vision: dict[str, object], tied: bool) -> dict[str, object]:
    text = {"hidden_size": hidden, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8}
    text |= {"head_dim": 128, "intermediate_size": mlp, "vocab_size": 151936, "max_position_embeddings": 262144}
    return {
        "model_type": "qwen3_vl",
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "dtype": "bfloat16",
        "tie_word_embeddings": tied,
        "text_config": {**text, "model_type": "qwen3_vl_text", "tie_word_embeddings": tied},
        "vision_config": {
            **vision,
            "num_heads": 16,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "out_hidden_size": hidden,
        },
    }


PUBLISHED = {
    "Qwen2.5-VL-3B": qwen25(2048, 36, 16, 2, 11008, 151936, True),
    "Qwen2.5-VL-7B": qwen25(3584, 28, 28, 4, 18944, 152064, False),
    "Qwen3-VL-4B": qwen3(
        2560,
        9728,
        {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "deepstack_visual_indexes": [5, 11, 17]},
        True,
    ),
    "Qwen3-VL-8B": qwen3(
        4096,
        12288,
        {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "deepstack_visual_indexes": [8, 16, 24]},
        False,
    ),
}


def peak_gib(shape: ModelShape, ways: tuple[str, ...]) -> float:
    """Most memory of one GPU, for the longest trajectories that the settings allow."""
    settings = apply_overrides(QuestionsSettings(), (*ALWAYS, *ways))
    load = usual_load(shape, settings.model, settings.rl, settings.rollout)
    load = replace(load, rows=min(load.rows, ROWS))
    plan = memory_plan(shape, model=settings.model, optimizer=settings.rl.optimizer, load=load, on_gpu=True)
    return plan.peak("device") / GIB


def main() -> None:
    print("| model | weights | " + " | ".join(WAYS) + " |\n" + "|---" * (2 + len(WAYS)) + "|")
    for name, config in PUBLISHED.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(config))
            shape = read_shape(Path(folder))
        cells = []
        for ways in WAYS.values():
            gib = peak_gib(shape, ways)
            smallest = next((one for one in GPUS if gib <= HEADROOM * one), None)
            cells.append(f"{gib:.0f} GiB: {smallest} GB" if smallest else f"{gib:.0f} GiB: several")
        print(f"| {name} | {shape.weights / 1e9:.2f} B | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
