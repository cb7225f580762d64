"""One part of ``gpu.py``: what a device does with random weights of a real shape.

python benchmarks/gpu_parts.py learner --device cuda --size 3b --json learner.json
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch
from gpu_model import HALF_B, LEARNING, PEAK_TFLOPS, SEVEN_B, Bench, batch, checkpoint_of, sampled, two_turns
from gpu_sampling import sampling
from torch.profiler import ProfilerActivity

from saccade.algorithms.losses import negative_log_likelihood
from saccade.bench.checkpoint import SIZES
from saccade.engines.local import LocalEngine
from saccade.errors import MachineError
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.metric_names import FORWARDED_TOKENS
from saccade.models.batch_invariant import make_batch_invariant
from saccade.models.checkpoint import LoadSettings
from saccade.models.fp8_products import Fp8Products, coded_layers, missing_for, off_by
from saccade.models.identity import model_hash
from saccade.models.lora import LoraSettings
from saccade.models.memory import use_deterministic_kernels
from saccade.models.shape import read_shape
from saccade.models.vision_windows import join_windows
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.host_waits import waits_of
from saccade.train.drift import mismatch
from saccade.train.memory_plan import memory_plan
from saccade.train.memory_process import Load


def engine(bench: Bench) -> dict[str, object]:
    """Tokens per second of the engine, as it is by default on the device."""
    model, found = bench.model(), {}
    tokens, side = (16, 112) if bench.is_small else (128, 448)
    # One engine for all, so that its pages are there from the second batch on.
    played = LocalEngine(model, deterministic=False)
    for rows in (8,) if bench.is_small else (8, 32, 128):
        sampled(played, rows, 4, side)
        bench.forget_peak()
        seconds = bench.timed(lambda rows=rows: sampled(played, rows, tokens, side))
        found[f"{rows} rows, tokens/s"] = rows * tokens / seconds
        found[f"{rows} rows, ms a token"] = 1e3 * seconds / tokens
        found[f"{rows} rows, peak GiB"] = bench.peak_gib()
    return found


def repeats(bench: Bench) -> dict[str, object]:
    """Two turns with pictures and a step on them, twice in each mode: hashes, mismatch of engine and learner, times."""
    rows, tokens, side = (4, 6, 112) if bench.is_small else (16, 32, 448)
    for mode in ("exact", "deterministic", "fast"):
        use_deterministic_kernels(mode != "fast", on_gpu=bench.device == "cuda")
        runs = []
        for _ in range(2):
            runs.append(_one_of_twice(bench, mode == "exact", rows, tokens, side))
            same = {name: one == runs[-1][name] for name, one in runs[0].items() if name.endswith("sha256")}
            bench.keep(**{mode: {"runs": runs, "the same twice": same if len(runs) > 1 else None}})
    use_deterministic_kernels(False)
    return {}


def _one_of_twice(bench: Bench, is_exact: bool, rows: int, tokens: int, side: int) -> dict[str, object]:
    model = bench.model()
    if is_exact:
        make_batch_invariant(model)
    played = LocalEngine(model)
    started = bench.now()
    sequences = two_turns(played, rows, tokens, side)
    sampled_s = bench.now() - started
    trained = Learner(model, LEARNING)
    apart = mismatch(trained.logprobs(sequences, temperature=1.0), [one.sampled_logprobs for one in sequences])
    seconds = bench.timed(
        lambda: trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-4)
    )
    said = repr([(one.ids, one.sampled_logprobs) for one in sequences]).encode()
    return {
        **apart,
        "sampled sha256": hashlib.sha256(said).hexdigest()[:16],
        "weights sha256": model_hash(model)[:16],
        "sampling_s": sampled_s,
        "step_s": seconds,
        "tokens sampled": sum(one.action_count for one in sequences),
    }


def learner(bench: Bench) -> dict[str, object]:
    """Tokens per second of a step, and the share of the device's arithmetic that the model's own needs.

    A step of one pack, its parts, and a step of four packs, over which the optimiser's part is spread.
    """
    model = bench.model()
    tokens = 256 if bench.is_small else 4096
    trained = Learner(model, replace(LEARNING, micro_batch_tokens=tokens))
    sequences = batch(model, tokens, 4)
    peak = bench.peak_tflops or _peak_tflops()

    def step(packs: int) -> float:
        done = trained.update(sequences * packs, negative_log_likelihood, temperature=1.0, learning_rate=1e-6)
        return done[FORWARDED_TOKENS]

    def figures(packs: int) -> dict[str, object]:
        packed = step(packs)
        bench.forget_peak()
        seconds = min(bench.timed(lambda: step(packs)) for _ in range(2 if bench.is_small else 5))
        # Six operations a weight and token; what checkpointing works out again is not the model's own.
        flops = 6.0 * bench.weights * packed
        return {
            "tokens/s": packed / seconds,
            "step_s": seconds,
            "model TFLOP/s": flops / seconds / 1e12,
            "utilisation": None if peak is None else flops / seconds / 1e12 / peak,
            "peak GiB": bench.peak_gib(),
        }

    bench.keep(**figures(1))
    bench.keep(**{"parts of a step, s": _parts(bench, trained, sequences)})
    return {"four packs": figures(4)}


def _parts(bench: Bench, trained: Learner, sequences: list[TrainingSequence]) -> dict[str, float]:
    """Seconds of a forward without gradients, of both passes, of the gradient's norm, and of the optimiser."""
    optimizer = trained.optimizer

    def passes() -> None:
        trained.accumulate(sequences, negative_log_likelihood, temperature=1.0)

    found = {"forward": bench.timed(lambda: trained.logprobs(sequences, temperature=1.0))}
    optimizer.zero_grad()
    found |= {"forward and backward": bench.timed(passes), "norm": bench.timed(optimizer.clip)}
    found["optimiser"] = bench.timed(lambda: optimizer.step(1e-6))
    optimizer.zero_grad()
    return found


def memory(bench: Bench) -> dict[str, object]:
    """Peak of a step beside what ``saccade plan-memory`` says, for the ways to save memory."""
    tokens = 256 if bench.is_small else 4096
    rows = {
        "8-bit moments, checkpointing": LEARNING,
        "LoRA 16, checkpointing": replace(LEARNING, eight_bit_optimizer=False, lora=LoraSettings(rank=16)),
        "LoRA 16": replace(
            LEARNING, eight_bit_optimizer=False, activation_checkpointing=False, lora=LoraSettings(rank=16)
        ),
    }
    found: dict[str, object] = {}
    for name, settings in rows.items():
        model = bench.model()
        trained = Learner(model, replace(settings, micro_batch_tokens=tokens))
        bench.forget_peak()
        sequences = batch(model, tokens)
        for _ in range(2):
            trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-6)
        predicted = _predicted(bench, settings, sequences[0], model, tokens)
        found[name] = {"predicted_gib": predicted, "measured_gib": bench.peak_gib()}
        del model, trained
    return found


def offload(bench: Bench) -> dict[str, object]:
    """A step with the optimiser in the host's memory: same gradient, how long, how much on the device."""
    found: dict[str, object] = {}
    tokens = 128 if bench.is_small else 2048
    for is_offloaded in (False, True):
        model = bench.model()
        settings = replace(
            LEARNING, offload_optimizer=is_offloaded, eight_bit_optimizer=not is_offloaded, micro_batch_tokens=tokens
        )
        trained, sequences = Learner(model, settings), batch(model, 2 * tokens, 4)
        bench.forget_peak()
        metrics = trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-6)

        def step(trained: Learner = trained, sequences: list[TrainingSequence] = sequences) -> None:
            trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-6)

        name = "offloaded" if is_offloaded else "on the device"
        found[name] = {
            "step_s": bench.timed(step),
            "gradient_norm": metrics["gradient_norm"],
            "peak_gib": bench.peak_gib(),
        }
        del model, trained
    return found


def attention(bench: Bench) -> dict[str, object]:
    """Packs attended to part by part and in one call: a step, its peak, and the gradient's norm, which must agree."""
    model = bench.model()
    tokens = 256 if bench.is_small else 4096
    trained, sequences = Learner(model, replace(LEARNING, micro_batch_tokens=tokens)), batch(model, tokens, 8)
    for way in ("plain", "varlen"):
        # On a CPU in its plain form.
        model.pack_attention = way  # type: ignore[assignment]
        bench.keep(**{way: _step(bench, trained, sequences)})
    return {}


def waits(bench: Bench) -> dict[str, object]:
    """Where the host waits for the device in a step of four packs, as CUDA tells it; followed on a CPU."""
    model = bench.model()
    if bench.device == "cpu":
        join_windows(model.hf)
    tokens = 256 if bench.is_small else 2048
    trained, sequences = Learner(model, replace(LEARNING, micro_batch_tokens=tokens)), batch(model, tokens, 4)
    trained.reads_late = True

    def step() -> None:
        trained.update(sequences * 4, negative_log_likelihood, temperature=1.0, learning_rate=0.0)

    step()
    found = waits_of(step, model.hf)
    return {"waits of a step of four packs": found.total(), "where": dict(found.most_common(20))}


def activations(bench: Bench) -> dict[str, object]:
    """What a layer keeps for its backward: on the device, its input alone, and either of them on the host."""
    model = bench.model()
    # Longer packs: it is these that activations hinder.
    tokens = 256 if bench.is_small else 8192
    for keeps in ("recompute", "recompute, offload", "keep", "offload"):
        settings = replace(
            LEARNING,
            activation_checkpointing="recompute" in keeps,
            offload_activations="offload" in keeps,
            micro_batch_tokens=tokens,
        )
        trained, sequences = Learner(model, settings), batch(model, tokens, 4)
        found: dict[str, object] = {"predicted_gib": _predicted(bench, settings, sequences[0], model, tokens)}
        try:
            found |= _step(bench, trained, sequences)
        except MachineError as error:
            found["ended"] = str(error)
        bench.keep(**{keeps: found})
        del trained
    return {}


def fp8(bench: Bench) -> dict[str, object]:
    """A step with products of 8-bit floats beside one without, and how far off log-probabilities are."""
    model = bench.model()
    tokens = 256 if bench.is_small else 4096
    trained, sequences = Learner(model, replace(LEARNING, micro_batch_tokens=tokens)), batch(model, tokens, 4)
    layers = coded_layers(model)
    bench.keep(missing=missing_for(model.device, model.dtype), layers=len(layers), off_by=off_by(layers[0]))
    bench.keep(bfloat16=_step(bench, trained, sequences))
    exact = trained.logprobs(sequences, temperature=1.0)
    with Fp8Products(layers).in_place():
        bench.keep(fp8=_step(bench, trained, sequences))
        coded = trained.logprobs(sequences, temperature=1.0)
    return {"apart": mismatch(coded, exact)}


def _step(bench: Bench, trained: Learner, sequences: list[TrainingSequence]) -> dict[str, float]:
    """Of a learning rate of 0, so that the next way has the same weights."""

    def step() -> float:
        done = trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=0.0)
        return done["gradient_norm"]

    bench.forget_peak()
    norm = step()
    seconds = min(bench.timed(step) for _ in range(1 if bench.is_small else 3))
    return {"step_s": seconds, "gradient_norm": norm, "peak_gib": bench.peak_gib()}


def compiled(bench: Bench) -> dict[str, object]:
    """Steps with compiled norms and MLPs beside plain ones."""
    found: dict[str, object] = {}
    tokens = 128 if bench.is_small else 4096
    for is_compiled in (False, True):
        model = bench.model()
        trained = Learner(model, replace(LEARNING, compile=is_compiled, micro_batch_tokens=tokens))
        sequences = batch(model, tokens)

        def step(trained: Learner = trained, sequences: list[TrainingSequence] = sequences) -> None:
            trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-6)

        first = bench.timed(step)
        found["compiled" if is_compiled else "plain"] = {"first_s": first, "step_s": bench.timed(step)}
        del model, trained
    return found


def lora(bench: Bench) -> dict[str, object]:
    """Adapters of rank 16 on frozen weights: a step beside the plan for its memory, then rollouts of 32 rows."""
    settings = replace(LEARNING, eight_bit_optimizer=False, learning_rate=1e-5, lora=LoraSettings(rank=16))
    model = bench.model()
    tokens = 256 if bench.is_small else 4096
    trained, sequences = Learner(model, replace(settings, micro_batch_tokens=tokens)), batch(model, tokens, 4)
    packed = len(sequences[0].ids) + 3 * sequences[0].action_count

    def step() -> None:
        trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-5)

    step()
    bench.forget_peak()
    seconds, peak = min(bench.timed(step) for _ in range(2)), bench.peak_gib()
    rows, said = (4, 8) if bench.is_small else (32, 64)
    engine = LocalEngine(model, deterministic=False)
    sampled(engine, rows, 4, 448)
    bench.forget_peak()
    sampling_s = bench.timed(lambda: sampled(engine, rows, said, 448))
    return {
        "tokens/s learned": packed / seconds,
        "step_s": seconds,
        "learning, peak GiB": peak,
        "learning, predicted GiB": _predicted(bench, settings, sequences[0], model, tokens),
        f"{rows} rows, tokens/s": rows * said / sampling_s,
        f"{rows} rows, peak GiB": bench.peak_gib(),
    }


def profile(bench: Bench) -> dict[str, object]:
    """Where a learner's step and decode steps spend their time: the longest kernels, and what the host does longest."""
    model = bench.model()
    tokens = 256 if bench.is_small else 4096
    trained, sequences = Learner(model, replace(LEARNING, micro_batch_tokens=tokens)), batch(model, tokens, 4)
    engine = LocalEngine(model, deterministic=False)
    rows, said = (4, 4) if bench.is_small else (32, 16)

    def step() -> None:
        trained.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-6)

    def play() -> None:
        sampled(engine, rows, said, 112 if bench.is_small else 448)

    bench.keep(learner=_longest(bench, step))
    return {f"{rows} rows, {said} tokens": _longest(bench, play)}


def _longest(bench: Bench, run: Callable[[], None], count: int = 25) -> dict[str, object]:
    run()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if bench.device == "cuda" else [])]
    with torch.profiler.profile(activities=activities) as seen:
        seconds = bench.timed(run)
    found = list(seen.key_averages())

    def longest(name: str) -> dict[str, list[float]]:
        ordered = sorted(found, key=lambda one: -getattr(one, name))[:count]
        return {one.key[:90]: [round(getattr(one, name) / 1e3, 2), one.count] for one in ordered}

    return {
        "seconds, profiled": seconds,
        "device, ms and calls": longest("self_device_time_total"),
        "host, ms and calls": longest("self_cpu_time_total"),
    }


def _predicted(
    bench: Bench, settings: OptimizerSettings, sequence: TrainingSequence, model: VisionLanguageModel, tokens: int
) -> float:
    images = sum(model.view.token_count(image) for image in sequence.images)
    plan = memory_plan(
        read_shape(bench.folder),
        model=LoadSettings(device="cpu", dtype="bfloat16"),
        optimizer=settings,
        load=Load(pack_tokens=tokens, pack_image_tokens=images, rows=1, row_tokens=1),
        on_gpu=True,
    )
    return plan.peak() / 2**30


def _peak_tflops() -> float | None:
    name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else ""
    return next((flops for part, flops in PEAK_TFLOPS.items() if part in name), None)


PARTS: dict[str, Callable[[Bench], dict[str, object]]] = {
    part.__name__: part
    for part in (
        *(learner, profile, attention, waits, activations, fp8),
        *(repeats, engine, sampling, memory, offload, compiled, lora),
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["tiny", "0.5b", "3b", "7b"], default="3b")
    parser.add_argument("--checkpoint", type=Path, help="Folder of the random checkpoint, written where it is empty.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peak-tflops", type=float)
    options = parser.parse_args()
    size = {"0.5b": HALF_B, "7b": SEVEN_B, "3b": SIZES["3b"], "tiny": SIZES["tiny"]}[options.size]
    with ExitStack() as stack:
        folder = options.checkpoint or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        weights = checkpoint_of(folder, size, options.device)
        bench = Bench(
            folder=folder,
            weights=weights,
            device=options.device,
            size=options.size,
            peak_tflops=options.peak_tflops,
            json=options.json,
        )
        bench.keep(weights=weights)
        bench.keep(**PARTS[options.part](bench))
    print(json.dumps(bench.found, indent=1))


if __name__ == "__main__":
    main()
