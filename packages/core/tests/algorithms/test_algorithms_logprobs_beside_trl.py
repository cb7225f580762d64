"""What losses are given, log-probabilities and entropies, beside TRL's own functions."""

import pytest
import torch

from saccade.learner.logprobs import chosen_logprobs
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model

pytest.importorskip("trl", reason='compares with TRL; pip install -e ".[trl]"')

from trl.trainer.utils import entropy_from_logits, selective_log_softmax

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)


@pytest.mark.parametrize("max_logits", [1 << 24, 1 << 11])
def test_log_probabilities_entropies_and_their_gradients_equal_trl_s(max_logits: int) -> None:
    model = tiny_model(["Which plate is red?"] * 9, MediaStore(), size=SIZE, seed=1)
    generator = torch.Generator().manual_seed(4)
    states = torch.randn(9, SIZE.hidden, generator=generator).requires_grad_()
    allowed = torch.ones(model.vocab_size, dtype=torch.bool)
    allowed[model.forbidden_ids] = False
    targets = allowed.nonzero()[:, 0][torch.randint(int(allowed.sum()), (9,), generator=generator)]
    mixed = torch.randn(2, 9, generator=generator)

    def with_gradient(logprobs: torch.Tensor, entropy: torch.Tensor) -> tuple[torch.Tensor, ...]:
        (gradient,) = torch.autograd.grad((mixed[0] * logprobs + mixed[1] * entropy).sum(), states)
        return logprobs.detach(), entropy.detach(), gradient

    found = with_gradient(
        *chosen_logprobs(model, states, targets, temperature=0.7, entropy_gradient=True, max_logits=max_logits)
    )
    # TRL has no forbidden tokens: its entropy of a log-probability of -inf would be NaN.
    logits = (states @ model.hf.lm_head.weight.T / 0.7).masked_fill(~allowed, -1e9)
    expected = with_gradient(selective_log_softmax(logits, targets), entropy_from_logits(logits))
    for one, other in zip(found, expected):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
