"""Checkpoints that several ranks write: read by any number of them, opened by anybody, whole or not there."""

import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModelForImageTextToText

from saccade.algorithms.algorithm import Loss, PolicyTokens
from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.forwards import ValueHead
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.processes import Company
from saccade.learner.sharding import whole
from saccade.learner.trained_weights import choose_trained
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import LoadSettings
from saccade.models.lora import LoraSettings
from saccade.models.quiet import quiet_transformers
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.checkpoints import checkpoints, load_checkpoint, restore_learner, save_checkpoint
from saccade.runs.position import Position
from saccade.testing.ranks import in_ranks
from saccade.train.leading import LeadingLearner, Order, Orders
from tiny_sequences import sequences

T = TypeVar("T")
PLAIN = OptimizerSettings(micro_batch_tokens=64)
OPTIONS = {
    "plain": PLAIN,
    "muon": replace(PLAIN, muon=True),
    "adapter": replace(PLAIN, lora=LoraSettings(rank=2)),
}
CPU = LoadSettings(device="cpu")


def fresh(dtype: torch.dtype) -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    model = tiny_model(["Which plate is red?"] * 9, MediaStore(), size=size, vocab_size=300, seed=1)
    for weight in model.hf.parameters():
        weight.data = weight.data.to(dtype)
    return model


def both_losses(tokens: PolicyTokens) -> Loss:
    loss = negative_log_likelihood(tokens)
    assert tokens.values is not None
    return replace(loss, value=loss.value + (tokens.weights * (tokens.values - 1.0) ** 2).sum())


def learner_of(model: VisionLanguageModel, settings: OptimizerSettings, company: Company | None) -> Learner:
    head = ValueHead(model.hidden_size)
    if company is None:
        return Learner(model, settings, value_head=head)
    return Learner(model, settings, value_head=head, ranks=company, sharding=company.sharding)


def step(learner: Learner) -> None:
    learner.update(sequences(learner.model, 4), both_losses, temperature=1.0, learning_rate=1e-3)


@dataclass(frozen=True, kw_only=True)
class Held:
    """What a learner holds, put together from all ranks."""

    weights: dict[str, Tensor]
    state: list[Tensor]
    """Moments and counts of steps, weight by weight."""
    start: dict[str, Tensor]


def held(learner: Learner) -> Held:
    kinds, adapter = learner.optimizer.kinds.values(), learner.model.adapter
    states = [one.state.get(master, {}) for one in kinds for master in learner.optimizer.masters]
    return Held(
        weights={n: whole(m.detach()).clone() for n, m in zip(learner.names, learner.optimizer.masters)},
        state=[whole(value).clone() for state in states for _, value in sorted(state.items())],
        start={} if adapter is None else {name: whole(value).clone() for name, value in adapter.start.items()},
    )


def same_bits(one: Held, other: Held) -> bool:
    return (
        one.weights.keys() == other.weights.keys()
        and all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)
        and len(one.state) == len(other.state) > 0
        and all(map(torch.equal, one.state, other.state))
        and one.start.keys() == other.start.keys()
        and all(torch.equal(one.start[name], other.start[name]) for name in one.start)
    )


def writes(directory: Path, settings: OptimizerSettings, dtype: torch.dtype, company: Company | None) -> Held:
    """One step, and the checkpoint of it as the first rank of a run writes it."""
    model, run_model = fresh(dtype), fresh(dtype)
    learner = learner_of(model, settings, company)
    step(learner)
    position = Position(stage="rl", step=1)
    if company is None:
        save_checkpoint(directory, position, model, learner)
    elif company.rank == 0:
        choose_trained(run_model, settings)
        orders = Orders(company, run_model.media)
        leading = LeadingLearner(learner, run_model, orders)
        leading._is_published = False
        leading.publish()
        save_checkpoint(directory, position, run_model, leading)
        company.order(None)
    else:
        while isinstance(order := company.order(), Order):
            getattr(learner, order.method)(**order.arguments)
    return held(learner)


def goes_on(directory: Path, settings: OptimizerSettings, company: Company | None) -> tuple[Held, Held]:
    """What a learner holds that was restored from the checkpoint, and after a step more."""
    [checkpoint] = checkpoints(directory)
    learner = learner_of(load_checkpoint(checkpoint, MediaStore(), CPU), settings, company)
    restore_learner(checkpoint, learner)
    before = held(learner)
    step(learner)
    return before, held(learner)


def first(given: list[T | BaseException]) -> T:
    """What the first rank gave, where none failed."""
    for one in given:
        if isinstance(one, BaseException):
            raise one
    return given[0]  # type: ignore[return-value]


def _each(make: Callable[..., T], root: Path, company: Company | None) -> dict[str, T]:
    return {name: make(root / name, settings, company=company) for name, settings in OPTIONS.items()}


def _with_half(root: Path, company: Company) -> dict[str, Held]:
    half = writes(root / "half", PLAIN, torch.bfloat16, company)
    return {"half": half, **_each(fp32, root, company)}


def _of_both(roots: Sequence[Path], company: Company) -> list[dict[str, tuple[Held, Held]]]:
    return [_each(goes_on, root, company) for root in roots]


fp32 = partial(writes, dtype=torch.float32)


Written = tuple[Path, dict[str, Held]]
"""A folder, and what the learners held whose checkpoints lie in it, by the names of their options."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """By two ranks; also one in half precision."""
    root = tmp_path_factory.mktemp("two")
    return root, first(in_ranks(2, partial(_with_half, root)))


@pytest.fixture(scope="module")
def written_alone(tmp_path_factory: pytest.TempPathFactory) -> Written:
    root = tmp_path_factory.mktemp("one")
    return root, _each(fp32, root, None)


@pytest.fixture(scope="module")
def gone_on_by_two(written: Written, written_alone: Written) -> list[dict[str, tuple[Held, Held]]]:
    """From what two ranks wrote, and from what one process wrote."""
    return first(in_ranks(2, partial(_of_both, [written[0], written_alone[0]])))


def apart(one: Held, other: Held) -> float:
    return max(float((one.weights[name] - other.weights[name]).abs().max()) for name in one.weights)


def test_any_number_of_ranks_goes_on_from_what_two_wrote(
    written: Written, gone_on_by_two: list[dict[str, tuple[Held, Held]]]
) -> None:
    root, saved = written
    two = gone_on_by_two[0]
    one, three = _each(goes_on, root, None), first(in_ranks(3, partial(_each, goes_on, root)))
    for name in OPTIONS:
        for before, after in (one[name], two[name], three[name]):
            assert same_bits(before, saved[name])
            assert apart(after, before) > 5e-4
            # Muon's iteration in half precision shows a rounding of the gradient.
            assert apart(after, two[name][1]) <= (1e-3 if name == "muon" else 1e-6)


def test_several_ranks_go_on_from_what_one_process_wrote(
    written_alone: Written, gone_on_by_two: list[dict[str, tuple[Held, Held]]]
) -> None:
    root, saved = written_alone
    one, two = _each(goes_on, root, None), gone_on_by_two[1]
    for name in OPTIONS:
        assert same_bits(two[name][0], saved[name])
        assert apart(one[name][1], two[name][1]) <= (1e-3 if name == "muon" else 1e-6)


def files(root: Path) -> set[str]:
    return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


def test_users_of_the_policy_see_the_files_of_one_process(written: Written, written_alone: Written) -> None:
    for name in OPTIONS:
        many, one = (root / name / "rl-000001" for root, _ in (written, written_alone))
        shards = {file for file in files(many) if file.startswith("trainer/optimizer/")}
        assert files(many) - shards == files(one) - {"trainer/optimizer.pt"}
        assert shards
        weights = "adapter_model.safetensors" if name == "adapter" else "model.safetensors"
        tensors, expected = load_file(many / weights), load_file(one / weights)
        assert {key: value.shape for key, value in tensors.items()} == {k: v.shape for k, v in expected.items()}
        assert (many / "config.json").read_bytes() == (one / "config.json").read_bytes()
    plain = written[0] / "plain" / "rl-000001"
    with quiet_transformers():
        opened = AutoModelForImageTextToText.from_pretrained(plain)
    trained = written[1]["plain"].weights
    assert all(torch.equal(weight, trained[name]) for name, weight in opened.named_parameters())


def test_masters_of_half_precision_go_on_to_the_bit(written: Written) -> None:
    root, saved = written[0] / "half", written[1]["half"]
    assert any(not torch.equal(weight, weight.bfloat16().float()) for weight in saved.weights.values())
    weights = load_file(root / "rl-000001/model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}
    [checkpoint] = checkpoints(root)
    learner = learner_of(load_checkpoint(checkpoint, MediaStore(), replace(CPU, dtype="bfloat16")), PLAIN, None)
    restore_learner(checkpoint, learner)
    assert same_bits(held(learner), saved)


def dies_while_saving(directory: Path, company: Company) -> None:
    learner = learner_of(fresh(torch.float32), PLAIN, company)
    if company.rank == 1:
        company.order()
        os._exit(9)
    run_model = fresh(torch.float32)
    leading = LeadingLearner(learner, run_model, Orders(company, run_model.media))
    save_checkpoint(directory, Position(stage="rl", step=2), run_model, leading)


def test_a_rank_that_dies_while_saving_leaves_the_older_checkpoint(written: Written, tmp_path: Path) -> None:
    run = shutil.copytree(written[0] / "plain", tmp_path / "run")
    leader, _ = in_ranks(2, partial(dies_while_saving, run))
    assert isinstance(leader, BaseException)
    [checkpoint] = checkpoints(run)
    assert checkpoint.position.step == 1
    assert same_bits(goes_on(run, PLAIN, None)[0], written[1]["plain"])


def test_damaged_shards_are_named(written: Written, tmp_path: Path) -> None:
    [checkpoint] = checkpoints(shutil.copytree(written[0] / "plain", tmp_path / "run"))
    for shard in (checkpoint.path / "trainer/optimizer").glob("*.distcp"):
        shard.write_bytes(shard.read_bytes()[:100])
    learner = learner_of(load_checkpoint(checkpoint, MediaStore(), CPU), PLAIN, None)
    with pytest.raises(UserError, match=r"trainer/optimizer cannot be restored.*delete this checkpoint"):
        restore_learner(checkpoint, learner)


class Touches:
    """What a pickle of it does where it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("name", ["optimizer/.metadata", "optimizer.pt", "value_head.pt"])
def test_nothing_in_a_copied_run_s_state_is_run(tmp_path: Path, written_alone: Written, name: str) -> None:
    shutil.copytree(written_alone[0] / "plain", tmp_path / "run")
    [checkpoint] = checkpoints(tmp_path / "run")
    mark, file = tmp_path / "ran", checkpoint.path / "trainer" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(pickle.dumps(Touches(mark)))
    learner = learner_of(load_checkpoint(checkpoint, MediaStore(), CPU), PLAIN, None)
    with pytest.raises(UserError, match=r"cannot be restored.*delete this checkpoint"):
        restore_learner(checkpoint, learner)
    assert not mark.exists()
