"""How often the host of a step waits for its GPU, followed on a CPU: not at all within a step of several packs."""

from collections import Counter

import pytest
import torch
from packing_samples import groups, model_of

from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.miniature.tiny_model import TinyFamily
from saccade.models.vision_windows import join_windows
from saccade.testing.host_waits import Waits, waits_of


def waits_of_a_step(family: TinyFamily, max_tokens: int) -> tuple[Waits, Waits, float]:
    """Of an update, and of a forward of the same sequences; the update's packs."""
    model = model_of(family)
    model.hf.to(torch.bfloat16)
    # As ``prepare_gpu`` has it.
    join_windows(model.hf)
    settings = OptimizerSettings(micro_batch_tokens=max_tokens, activation_checkpointing=True)
    learner, sequences = Learner(model, settings), groups(model)
    learner.reads_late = True
    packs: list[float] = []

    def step() -> None:
        packs.append(learner.update(sequences, negative_log_likelihood, temperature=0.8)["micro_batches"])

    step()
    of_step = waits_of(step, model.hf)
    return of_step, waits_of(lambda: learner.logprobs(sequences, temperature=0.8), model.hf), packs[-1]


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl", "internvl"])
def test_a_step_waits_to_read_its_figures_and_for_nothing_else(family: TinyFamily) -> None:
    of_step, of_forward, packs = waits_of_a_step(family, 200)
    assert packs > 2
    # The gradient's norm, and the figures of all packs in one piece.
    assert sorted(one.split()[0] for one in of_step.elements()) == ["_local_scalar_dense", "tolist"], of_step
    # Log-probabilities of each pack, when all are under way.
    assert {one.split()[0] for one in of_forward} == {"tolist"}, of_forward
    assert of_forward.total() == packs


def test_waits_are_found() -> None:
    layer = torch.nn.Linear(4, 4)
    places = torch.tensor([0, 2])

    def run() -> None:
        states = layer(torch.ones(3, 4).to(layer.weight.device, non_blocking=True))
        float(states.detach().sum())
        states.detach().tolist()
        states[states.sum(dim=1) > 0]
        states[places]
        torch.tensor([1.0], device=states.device)
        sent = places.to(states.device)
        states[sent].masked_select(states[sent] > 0).sum().backward()
        # The host's own numbers.
        places.tolist(), int(places.sum()), places[places > 0]

    kinds = Counter(one.split()[0] for one in waits_of(run, layer).elements())
    assert kinds == {"_local_scalar_dense": 1, "tolist": 1, "index": 2, "tensor": 1, "to": 1, "masked_select": 1}
