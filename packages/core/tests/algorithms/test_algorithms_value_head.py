"""The value head: zero at first, fp32, its gradient, its weights on disk."""

from pathlib import Path

import torch

from saccade.learner.forwards import ValueHead


def test_an_untrained_head_says_zero_and_the_same_seed_gives_the_same_weights() -> None:
    hidden = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    head, again, other = ValueHead(8, seed=3), ValueHead(8, seed=3), ValueHead(8, seed=4)
    assert head(hidden).tolist() == [0.0] * 5
    assert torch.equal(head.inner.weight, again.inner.weight)
    assert not torch.equal(head.inner.weight, other.inner.weight)


def test_making_a_head_draws_nothing_from_the_global_generator() -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    ValueHead(8)
    # torch's own layers draw when they are made; what a run draws afterwards must not depend on that.
    assert torch.equal(torch.rand(1), expected)


def test_values_are_fp32_whatever_the_trunk_is() -> None:
    values = ValueHead(8)(torch.ones(2, 8, dtype=torch.bfloat16))
    assert values.dtype == torch.float32
    assert values.shape == (2,)


def test_once_the_output_layer_has_moved_gradient_reaches_both_layers_and_the_states() -> None:
    hidden = torch.randn(4, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
    head = ValueHead(8)
    torch.nn.init.constant_(head.outer.weight, 0.5)
    head(hidden).sum().backward()
    for gradient in (head.inner.weight.grad, head.outer.weight.grad, hidden.grad):
        assert gradient is not None
        assert gradient.abs().sum() > 0


def test_a_head_learns_to_tell_states_apart() -> None:
    hidden = torch.randn(16, 8, generator=torch.Generator().manual_seed(2))
    returns = (hidden[:, 0] > 0).float()
    head = ValueHead(8)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.02)
    for _ in range(120):
        optimizer.zero_grad()
        loss = (head(hidden) - returns).square().mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.02


def test_a_head_comes_back_from_disk_bit_by_bit(tmp_path: Path) -> None:
    head = ValueHead(8, width=4, seed=1)
    torch.nn.init.constant_(head.outer.weight, 0.25)
    torch.save(head.state_dict(), tmp_path / "critic.pt")
    loaded = ValueHead(8, width=4)
    loaded.load_state_dict(torch.load(tmp_path / "critic.pt", weights_only=True))
    hidden = torch.randn(3, 8, generator=torch.Generator().manual_seed(5))
    assert torch.equal(loaded(hidden), head(hidden))
