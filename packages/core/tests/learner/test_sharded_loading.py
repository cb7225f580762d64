"""Ranks that load a checkpoint take their own rows from its files, and have the bits of ranks that load all of it."""

import re
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from packing_samples import FAMILIES, model_of
from sharded_samples import loss, mixed

from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.processes import Company
from saccade.learner.sharding import whole
from saccade.learner.trained_weights import choose_trained
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings, left_in_files, load_model
from saccade.models.lora import LoraSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.ranks import in_ranks

PLAIN = OptimizerSettings(micro_batch_tokens=200)
LOW_RANK = replace(PLAIN, lora=LoraSettings(rank=2))
Stored = Literal["float32", "bfloat16"]
CASES: dict[str, tuple[str, Stored, Stored, OptimizerSettings]] = {
    **{f"{family} in half": (family, "bfloat16", "bfloat16", PLAIN) for family in FAMILIES},
    "in fp32": ("qwen2_5_vl", "float32", "float32", PLAIN),
    "half as fp32": ("internvl", "bfloat16", "float32", PLAIN),
    "frozen tower": ("qwen3_vl", "bfloat16", "float32", replace(PLAIN, frozen_vision=True)),
    "a new adapter": ("qwen2_5_vl", "bfloat16", "float32", LOW_RANK),
    "the adapter that was saved": ("adapter", "float32", "float32", LOW_RANK),
    "an adapter that is merged": ("adapter", "bfloat16", "float32", PLAIN),
}
"""Family, precision of the file, precision that is asked for, and what is trained."""


def save(folder: Path, family: str, stored: Stored) -> None:
    """A checkpoint on disk; of "adapter" one with a base beside it."""
    model = model_of("qwen3_vl" if family == "adapter" else family)  # type: ignore[arg-type]
    for weight in model.hf.parameters():
        weight.data = weight.data.to(getattr(torch, stored))
    base = folder / f"{family}-{stored}"
    model.save(base)
    if family != "adapter":
        return
    model.source = base
    choose_trained(model, LOW_RANK)
    for index, weight in enumerate(weight for weight in model.hf.parameters() if weight.requires_grad):
        weight.data += 0.01 * (index + 1)
    assert model.adapter is not None
    model.adapter.base = base
    model.save(folder / f"{family}-{stored}-adapter")


def state(learner: Learner) -> dict[str, tuple[str, bool, torch.Tensor]]:
    """Every weight and buffer, whole."""
    named = [*learner.model.hf.named_parameters(), *learner.model.hf.named_buffers()]
    return {name: (str(one.dtype), one.requires_grad, whole(one.detach()).clone()) for name, one in named}


def numbers(folder: Path, case: str, company: Company, *, stays: bool) -> dict[str, object]:
    """What a rank has after loading, after a step, and of the policy that it began with."""
    family, stored, wanted, settings = CASES[case]
    path = folder / f"{family}-{stored}{'-adapter' if family == 'adapter' else ''}"
    samples = model_of("qwen3_vl" if family == "adapter" else family)  # type: ignore[arg-type]

    def load() -> VisionLanguageModel:
        with left_in_files() if stays else nullcontext():
            return load_model(path, samples.media, LoadSettings(device="cpu", dtype=wanted))

    learner = Learner(load(), settings, ranks=company, sharding=company.sharding)
    loaded, sequences = state(learner), mixed(samples)
    metrics = learner.update(sequences, loss, temperature=1.0, learning_rate=1e-3)
    learner.take_reference(load)
    reference = learner.reference_logprobs(sequences, temperature=1.0)
    masters = [whole(one.detach()).clone() for one in learner.optimizer.masters]
    return {"loaded": loaded, "stepped": state(learner), "masters": masters, "rest": (dict(metrics), reference)}


def differing(folder: Path, company: Company) -> list[str]:
    """Cases in which weights that stayed in their file give other numbers than those that were loaded."""
    found = []
    for case in CASES:
        files, memory = (numbers(folder, case, company, stays=kind == "files") for kind in ("files", "memory"))
        same = files["rest"] == memory["rest"] and all(map(torch.equal, files["masters"], memory["masters"]))  # type: ignore[call-overload]
        for what in ("loaded", "stepped"):
            one, other = files[what], memory[what]
            assert isinstance(one, dict)
            assert isinstance(other, dict)
            assert one.keys() == other.keys()
            same &= all(one[name][:2] == other[name][:2] and torch.equal(one[name][2], other[name][2]) for name in one)
        found += [] if same else [case]
    return found


def test_shards_from_files_have_the_bits_of_a_model_that_was_loaded_whole(tmp_path: Path) -> None:
    for family, stored in {case[:2] for case in CASES.values()}:
        save(tmp_path, family, stored)
    assert in_ranks(2, partial(differing, tmp_path)) == [[], []]


def peak_growth(folder: Path, stays: bool, company: Company) -> float:
    """How much more memory the process had at its peak for loading and sharding, as a share of the file."""

    def learn(path: Path) -> Learner:
        with left_in_files() if stays else nullcontext():
            model = load_model(path, MediaStore(), LoadSettings(device="cpu"))
        return Learner(model, PLAIN, ranks=company, sharding=company.sharding)

    learn(folder / "small")
    before = _peak_bytes()
    learner = learn(folder / "large")
    grown = _peak_bytes() - before
    assert learner.parameters
    return grown / (folder / "large" / "model.safetensors").stat().st_size


def _peak_bytes() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10


def test_a_rank_never_holds_the_whole_model(tmp_path: Path) -> None:
    for name, size in (("small", TinySize()), ("large", TinySize(hidden=512, mlp=6144, layers=4))):
        tiny_model(["Which plate is red?"] * 9, MediaStore(), size=size, vocab_size=300).save(tmp_path / name)
    # A quarter of the rows, in the file's pages and in memory of the rank's own.
    from_files, from_memory = (max(in_ranks(4, partial(peak_growth, tmp_path, stays))) for stays in (True, False))  # type: ignore[type-var]
    assert from_files < 1.0 < 1.25 < from_memory


def breaks(folder: Path, company: Company) -> None:
    with left_in_files():
        model = load_model(folder, MediaStore(), LoadSettings(device="cpu"))
    with company.sharing_failures():
        Learner(model, PLAIN, ranks=company, sharding=company.sharding)


def test_a_weight_that_is_no_number_is_found_by_the_rank_that_has_it(tmp_path: Path) -> None:
    model = model_of("qwen3_vl")
    model.hf.lm_head.weight.data[0, 0] = torch.nan
    model.save(tmp_path / "broken")
    first, *_ = in_ranks(2, partial(breaks, tmp_path / "broken"))
    assert isinstance(first, UserError)
    assert "1 of the model's weights are not finite" in str(first)
