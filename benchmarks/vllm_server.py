"""vLLM as an engine on this machine: start-up, memory, tokens a second, an update of its weights, and a killed core.

SACCADE_VLLM_PYTHON=~/vllm/bin/python python benchmarks/vllm_server.py --json docs/results/vllm_server.json

A tiny Qwen3-VL with random weights, one picture in each of four turns, beside the local engine. Times of a machine at
work on other things say little; processor seconds are given beside them.
"""

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psutil
import torch
from PIL import Image

from saccade.engines.engine import Engine, EngineContext, Sampling
from saccade.engines.local import LocalEngine
from saccade.engines.vllm.engine import VllmEngine
from saccade.engines.vllm.settings import VllmSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.testing.engine_check import gap_of, play


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    media = MediaStore()
    size = TinySize(layers=2, heads=2, kv_heads=1, deepstack=True)
    model = tiny_model(["What is written there?"] * 9, media, family="qwen3_vl", size=size, vocab_size=512)
    pictures = [media.add(Image.new("RGB", (64 + 16 * place, 64), (40 * place, 90, 200))) for place in range(4)]
    samplings = [Sampling(seed=seed, max_tokens=arguments.max_tokens) for seed in range(arguments.rows)]
    found: dict[str, object] = {
        "command": "python benchmarks/vllm_server.py " + " ".join(sys.argv[1:]),
        "date": datetime.now(UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "torch": torch.__version__,
        "machine": platform.machine(),
    }
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        engine = VllmEngine(EngineContext(model=model, load=LoadSettings()), VllmSettings(), logs=Path(folder))
        try:
            found |= _measured(engine, model, pictures, samplings, began)
        finally:
            asyncio.run(engine.aclose())
    found["local"] = _speed(LocalEngine(model), lambda: play(LocalEngine(model), model, pictures, samplings))
    print(json.dumps(found, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _measured(engine, model, pictures, samplings, began) -> dict[str, object]:
    server = engine.server
    server.wait_ready()
    found: dict[str, object] = {"start_s": time.monotonic() - began, "start_cpu_s": _cpu_s(server)}
    play(engine, model, pictures, samplings[:1])
    before_s = _cpu_s(server)
    found["vllm"] = _speed(engine, lambda: play(engine, model, pictures, samplings))
    found["vllm_server_cpu_s"] = _cpu_s(server) - before_s
    processes = [server.process, *psutil.Process(server.process.pid).children(recursive=True)]
    found["memory_mib"] = [round(psutil.Process(one.pid).memory_info().rss / 2**20) for one in processes]
    updates = []
    for version in range(1, 6):
        with torch.no_grad():
            model.hf.get_input_embeddings().weight.mul_(1.01)
        at = time.monotonic()
        engine.update_weights(model, version)
        updates.append(time.monotonic() - at)
    found["update_s"] = sorted(updates)
    [said] = play(engine, model, pictures, samplings[:1])
    found["gap_after_updates_nats"] = gap_of(model, said, 1.0)
    [core] = [one for one in psutil.Process(server.process.pid).children(recursive=True) if "EngineCore" in one.name()]
    os.kill(core.pid, signal.SIGKILL)
    at = time.monotonic()
    [said] = play(engine, model, pictures, samplings[:1])
    found |= {"back_after_kill_s": time.monotonic() - at, "gap_after_kill_nats": gap_of(model, said, 1.0)}
    return found


def _speed(engine: Engine, run: Callable[[], list]) -> dict[str, float]:
    at, cpu = time.monotonic(), time.process_time()
    played = run()
    took_s, cpu_s = time.monotonic() - at, time.process_time() - cpu
    tokens = sum(len(turn.ids) for said in played for _, turn in said.turns)
    return {"tokens": tokens, "tokens_per_s": tokens / took_s, "client_cpu_s": cpu_s}


def _cpu_s(server) -> float:
    """Of the server's processes, those that live."""
    top = psutil.Process(server.process.pid)
    times = [one.cpu_times() for one in (top, *top.children(recursive=True))]
    return sum(one.user + one.system for one in times)


if __name__ == "__main__":
    main()
