"""A model of 0.2 B random weights with a published preprocessor file, trained on photographs of 12 megapixels.

    python benchmarks/large_pictures.py [--folder FOLDER] [--json docs/results/large_pictures.json] [--before CHECKOUT]

The checkpoint is a Qwen2.5-VL (``saccade.bench``), with the image processor's file as Qwen3-VL publishes it (up to
16,777,216 pixels a picture) and TRL's copy of the published chat template. Each run is the command line in a process of
its own, on one thread, with the peak of each of its phases (``memory_phases.py``). ``--before`` runs an older checkout
of this repository beside it, with its own defaults and with today's bound on pixels. Half an hour of one core, 8 GiB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image

from saccade.bench.checkpoint import ModelSize, write_checkpoint

SIZE = ModelSize(
    vocabulary=151_936,
    hidden=768,
    layers=10,
    heads=12,
    kv_heads=2,
    mlp=2048,
    vision_hidden=512,
    vision_depth=8,
    vision_heads=8,
    vision_mlp=1024,
    rope_theta=1_000_000.0,
)
SHORT = (
    "rl.steps=1",
    "rl.tasks_per_step=2",
    "rl.group_size=2",
    "rl.checkpoint_every=1",
    # All answers of random weights are wrong: without this no step would learn.
    "rl.algorithm.options.entropy_weight=0.01",
    "rollout.max_turn_tokens=8",
    "max_turns=1",
    "with_tools=false",
    "held_out_share=0.4",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/large_pictures"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    model, data = options.folder / "model", options.folder / "photos" / "questions.jsonl"
    weights = write_model(model)
    write_photos(data)
    print(f"{weights:,} weights; photographs of 4000 x 3000 pixels")
    train = ("train", "questions", "--model", model, "--data", data, "--threads", "1", "--quiet")
    own = ("--set", "model.max_pixels=checkpoint")
    out = options.folder / f"run-{time.time_ns()}"
    rows: list[dict[str, object]] = []
    if options.before is not None:
        bound = ("--set", "model.max_pixels=1048576")
        rows += [
            run("before", *train, "--out", out / "before", source=options.before),
            run(
                "before, with the default bound of today", *train, "--out", out / "bound", *bound, source=options.before
            ),
        ]
    rows += [
        run("defaults", *train, "--out", out / "defaults"),
        run("the checkpoint's own bound on pixels", *train, "--out", out / "own", *own),
        run("again, into the same folder, with the default bound", *train, "--out", out / "own"),
        run(
            "resumed with another micro-batch and a step more",
            *train,
            *("--out", out / "own", "--resume", "--set", "rl.optimizer.micro_batch_tokens=3000", "--set", "rl.steps=2"),
        ),
        run(
            "the tower's activations kept",
            *train,
            *("--out", out / "kept", "--set", "rl.optimizer.vision_checkpointing=off"),
        ),
        run(
            "evaluation",
            *("eval", "--model", out / "own" / "checkpoints" / "rl-000002", "--data", data),
            *("--threads", "1", "--quiet", "--out", out / "eval", "--set", "rollout.max_turn_tokens=8"),
            short=False,
        ),
    ]
    one = round(weights * 4 / 2**30, 2)
    parts = {"weights_gib": one, "gradients_gib": one, "moments_gib": round(weights * 8 / 2**30, 2)}
    if options.json:
        options.json.write_text(json.dumps({"weights": weights, "in_fp32": parts, "runs": rows}, indent=1) + "\n")


def write_model(folder: Path) -> int:
    weights = write_checkpoint(folder, SIZE)
    processor = json.loads((folder / "preprocessor_config.json").read_text())
    for old in ("min_pixels", "max_pixels"):
        processor.pop(old, None)
    processor |= {
        "image_processor_type": "Qwen2VLImageProcessorFast",
        "size": {"shortest_edge": 65_536, "longest_edge": 16_777_216},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    template = (files("trl") / "chat_templates" / "qwen2_5_vl.jinja").read_text()
    (folder / "chat_template.jinja").write_text(template)
    return weights


def write_photos(data: Path, count: int = 6) -> None:
    """Smooth noise with the size of a phone's picture, as JPEG."""
    data.parent.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    rows = []
    for number in range(count):
        small = Image.fromarray(generator.integers(0, 255, (30, 40, 3), dtype=np.uint8))
        small.resize((4000, 3000), Image.Resampling.BICUBIC).save(data.parent / f"{number}.jpg", quality=90)
        rows.append({"question": "What is it?", "answer": f"a thing {number}", "image": f"{number}.jpg"})
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(name: str, *arguments: object, short: bool = True, source: Path | None = None) -> dict[str, object]:
    """One command: exit status, what it learned and said last, processor time, the peaks of process and phases."""
    settings = [word for setting in SHORT for word in ("--set", setting)] if short else []
    words = [str(word) for word in (*arguments[:2], *settings, *arguments[2:])] if short else list(map(str, arguments))
    out = Path(words[words.index("--out") + 1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str(source / "src")
    with tempfile.TemporaryDirectory() as folder:
        phases = Path(folder) / "phases.json"
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("memory_phases.py")), str(phases), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        assert process.stdout is not None
        said = process.stdout.read().strip().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        found = json.loads(phases.read_text())
    row: dict[str, object] = {
        "run": name,
        "exit": os.waitstatus_to_exitcode(status),
        "left_a_folder": out.exists(),
        "learned": learned(out / "metrics.jsonl"),
        "peak_gib": max(phase["peak_gib"] for phase in found.values()),
        "phases": found,
        "processor_s": round(usage.ru_utime + usage.ru_stime),
        "said": [line for line in said if "Location" not in line][-4:],
    }
    print(json.dumps(row, indent=1), flush=True)
    return row


def learned(metrics: Path) -> list[dict[str, object]]:
    """What says that the steps changed weights; empty without any."""
    lines = [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.exists() else []
    wanted = ("step", "updates", "skipped", "gradient_norm", "forwarded_tokens")
    return [{name: line[name] for name in wanted if name in line} for line in lines if line["stage"] == "rl"]


if __name__ == "__main__":
    main()
