"""Batches played ahead in turn with learning and beside it, and how far their sampler is from the learner."""

import math
import threading

import pytest

from saccade.train.ahead import BatchesAhead
from saccade.train.collect import Batch
from saccade.train.drift import mismatch, told_apart


class Stage:
    """Plays empty batches and notes with which weights, and in which thread."""

    def __init__(self) -> None:
        self.version = 0
        self.played: list[tuple[int, int]] = []
        self.threads: list[str] = []

    def collect(self, step: int) -> Batch:
        self.played.append((step, self.version))
        self.threads.append(threading.current_thread().name)
        return Batch(step=step, groups=())


@pytest.mark.parametrize("staleness", [0, 1, 3, 9])
def test_batch_k_plus_s_is_played_with_the_weights_of_step_k_whether_beside_learning_or_in_turn(staleness: int) -> None:
    in_turn, beside = Stage(), Stage()
    for stage in (in_turn, beside):
        ahead = BatchesAhead(stage.collect, staleness=staleness, steps=6)
        for step in range(6):
            if stage is beside and ahead.waiting:
                batch = ahead.take_beside(step)
                ahead.settle()
            else:
                batch, fresh = ahead.take(step)
                assert not fresh or fresh[-1].step == min(step + staleness, 5)
            assert batch.step == step
            stage.version += 1
    assert in_turn.played == beside.played == [(step, max(0, step - staleness)) for step in range(6)]
    assert set(in_turn.threads) == {threading.current_thread().name}
    assert staleness == 0 or staleness == 9 or "rollout" in beside.threads


def test_what_ends_a_rollout_beside_learning_is_raised_when_the_step_waits_for_it() -> None:
    class Killed(BaseException):
        pass

    def collect(step: int) -> Batch:
        if step == 2:
            raise Killed
        return Batch(step=step, groups=())

    ahead = BatchesAhead(collect, staleness=1, steps=4)
    assert ahead.take(0)[0].step == 0
    assert ahead.take_beside(1).step == 1
    with pytest.raises(Killed):
        ahead.settle()
    assert ahead.settle() == 0.0


def test_on_a_stale_batch_the_distance_to_the_sampler_is_not_called_mismatch() -> None:
    learned = {"mismatch_kl": 0.5, "mismatch_abs": 0.25, "entropy": 1.0}
    assert told_apart(learned, is_stale=False) == learned
    assert told_apart(learned, is_stale=True) == {"sampler_kl": 0.5, "sampler_abs": 0.25, "entropy": 1.0}


def test_the_effective_sample_size_is_a_share_of_the_tokens() -> None:
    # Weights 2 and 0 of two tokens: means 1 and 2 of weight and square, so one token of two counts.
    told = told_apart({"importance_weight": 1.0, "importance_weight_squared": 2.0}, is_stale=True)
    assert told == {"importance_weight": 1.0, "effective_samples": 0.5}
    nothing = told_apart({"importance_weight": 0.0, "importance_weight_squared": 0.0}, is_stale=True)
    assert nothing["effective_samples"] == 0.0


def test_mismatch_is_a_mean_over_tokens_and_does_not_hide_what_is_no_number() -> None:
    drift = mismatch([(math.log(0.5), math.log(0.5)), (-1.0,)], [(math.log(0.25), math.log(0.5)), (-1.0,)])
    # One ratio of 2 among three tokens: k3 is 2 - 1 - log 2.
    assert drift == pytest.approx({"mismatch_kl": (1 - math.log(2)) / 3, "mismatch_abs": math.log(2) / 3})
    assert all(map(math.isnan, mismatch([(math.nan, -1.0)], [(-1.0, -1.0)]).values()))
    assert math.isfinite(mismatch([(-1.0,)], [(-math.inf,)])["mismatch_kl"])
