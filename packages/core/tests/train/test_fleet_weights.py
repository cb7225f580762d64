"""Weights sent by a collective: the same bits, whoever is lost on the way."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from saccade.engines.engine import WeightSource
from saccade.errors import MachineError
from saccade.models.low_rank import PEFT_PREFIX, AdaptedWeights, LowRank
from saccade.train.fleet_weights import Invitation, LostWorkerError, ReceivedWeights, WeightsReceiver, WeightsSender


@dataclass
class Policy:
    """Weights of several types, one of them a number."""

    seed: int

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        chance = torch.Generator().manual_seed(self.seed)
        yield "matrix", torch.randn((3, 5), generator=chance).T
        yield "half", torch.randn(7, generator=chance).to(torch.bfloat16)
        yield "number", torch.randn((), generator=chance)
        yield "whole", torch.arange(self.seed, self.seed + 4)


@dataclass
class ThreadReceiver:
    """A worker in a thread; a lost one never comes."""

    is_lost: bool = False
    receiver: WeightsReceiver = field(default_factory=WeightsReceiver)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    invited: list[Invitation] = field(default_factory=list)
    has: ReceivedWeights | None = None
    refusals: list[str] = field(default_factory=list)

    def receive(self, invitation: Invitation) -> "Future[None]":
        self.invited.append(invitation)
        if self.is_lost:
            lost: Future[None] = Future()
            lost.set_exception(LostWorkerError("it was killed"))
            return lost
        return self.pool.submit(self._receive, invitation)

    def _receive(self, invitation: Invitation) -> None:
        try:
            self.has = self.receiver.receive(invitation)
        except MachineError as error:
            self.refusals.append(str(error))
            raise


def bits(source: WeightSource) -> dict[str, bytes]:
    return {
        name: weight.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        for name, weight in source.named_weights()
    }


@pytest.fixture
def sender() -> WeightsSender:
    return WeightsSender(host="127.0.0.1", join_s=60.0, send_s=60.0)


def test_workers_are_sent_the_same_bits_and_stay_in_their_group(sender: WeightsSender) -> None:
    workers = [ThreadReceiver(), ThreadReceiver()]
    for version in (1, 2):
        sender.keep(Policy(version), version)
        assert sender.send(workers) == {}
        assert [bits(one.has) for one in workers if one.has] == [bits(Policy(version))] * 2
    assert [(one.group, one.version) for one in workers[0].invited] == [(1, 1), (1, 2)]


def test_a_worker_that_never_comes_costs_the_others_no_waiting(sender: WeightsSender) -> None:
    first, lost = ThreadReceiver(), ThreadReceiver(is_lost=True)
    sender.keep(Policy(1), 1)
    assert sender.send([first, lost]) == {1: "it was killed"}
    assert first.has is None
    replacing = ThreadReceiver()
    assert sender.send([first, replacing]) == {}
    assert first.refusals == ["another worker was lost before the weights were sent"]
    assert [bits(one.has) for one in (first, replacing) if one.has] == [bits(Policy(1))] * 2


def test_what_is_kept_is_a_copy(sender: WeightsSender) -> None:
    trained = torch.zeros(2)

    class Trained:
        def named_weights(self) -> Iterator[tuple[str, Tensor]]:
            yield "weight", trained

    worker = ThreadReceiver()
    sender.keep(Trained(), 1)
    trained += 1
    assert sender.send([worker]) == {}
    assert worker.has is not None
    assert worker.has.weights["weight"].tolist() == [0.0, 0.0]


@dataclass
class AdaptedPolicy:
    """A weight of a base with an adapter, and one that the adapter has whole."""

    seed: int
    base: int = 1

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.adapted_weights().named_weights()

    def adapted_weights(self) -> AdaptedWeights:
        below = torch.Generator().manual_seed(100 + self.base)
        matrix, whole, rest = (torch.randn((6, 4), generator=below) for _ in range(3))
        chance = torch.Generator().manual_seed(self.seed)
        down, up, new = (torch.randn(shape, generator=chance) for shape in ((2, 4), (6, 2), (6, 4)))
        return AdaptedWeights(
            base=self.base,
            base_weights={"a.weight": matrix, "b.weight": whole, "c.weight": rest}.items,
            adapters={"a.weight": LowRank(down, up, 0.5)},
            whole={"b.weight": new},
        )


def test_after_the_base_only_the_adapter_is_sent_until_the_base_changes(sender: WeightsSender) -> None:
    worker = ThreadReceiver()
    sent = []
    for version, base in enumerate((1, 1, 1, 2, 2)):
        before, policy = sender.base, AdaptedPolicy(version, base)
        sender.keep(policy, version)
        assert sender.send([worker], with_base=sender.base != before) == {}
        assert worker.has is not None
        assert bits(worker.has) == bits(policy)
        assert worker.has.adapted_weights() is not None
        sent.append(sum(not name.startswith(PEFT_PREFIX) for name, _, _ in worker.invited[-1].weights))
    assert sent == [3, 0, 0, 3, 0]
    sender.keep(Policy(9), 9)
    assert sender.send([worker]) == {}
    assert bits(worker.has) == bits(Policy(9))


def test_a_worker_without_the_base_does_not_take_an_adapter(sender: WeightsSender) -> None:
    worker = ThreadReceiver()
    sender.keep(AdaptedPolicy(1), 1)
    with pytest.raises(MachineError, match="an adapter was sent without its base"):
        sender.send([worker], with_base=False)
    assert worker.has is None
