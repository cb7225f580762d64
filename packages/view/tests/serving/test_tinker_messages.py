"""Bodies as tinker 0.38 wrote them, other bytes, and its losses against numbers worked out by hand."""

import base64
import math
import random

import numpy as np
import pytest
import torch

from saccade.algorithms.algorithm import PolicyTokens
from saccade.errors import UserError
from saccade.serving.tinker.answers import SampledText, sample_answer
from saccade.serving.tinker.losses import LOSSES, loss_kind
from saccade.serving.tinker.messages import PictureChunk, TokenChunk, json_chunks, loss_request
from saccade.serving.tinker.wire import WireFields, double_field, number_field, part_field, varint

PPO = (
    "CgtzLTE6dHJhaW46MBADGpQCCgwKCgoIBQAAAAYAAAAKVBJSCkmJUE5HDQoaCgAAAA1JSERSAAAABAAAAAIIAgAAAPDK6jQAAAAQSURBVHicY/zPgABMSGwG"
    "ABk1AQMbL0sSAAAAAElFTkSuQmCCEgNwbmcYAwoICgYKBAcAAAASLQoKYWR2YW50YWdlcxIfChgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwD8YASIBBhJICg10"
    "YXJnZXRfdG9rZW5zEjcKMAYAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABwAAAAAAAAAIAAAAAAAAABgCIgEGEisKCGxvZ3Byb2JzEh8KGAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAvxgBIgEGIgNwcG8qHQoSY2xpcF9sb3dfdGhyZXNob2xkEc3MzMzMzOw/MAE6HwoSY2xpcF9sb3dfdGhyZXNob2xkEgkJzczM"
    "zMzM7D8="
)
SPARSE = (
    "CgFtEAEazgEKFAoSChABAAAAAgAAAAMAAAAEAAAAEk0KB3dlaWdodHMSQhI6CgQAAIA+EigAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAABAAAAAAAAAAEAAAAA"
    "AAAAGggDAAAAAAAAABgBIgIEFBJnCg10YXJnZXRfdG9rZW5zElYSTgoQCQAAAAAAAAAEAAAAAAAAABIoAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAAAA"
    "AAACAAAAAAAAABoQAwAAAAAAAAAAAAAAAAAAABgCIgIEFCINY3Jvc3NfZW50cm9weQ=="
)


def test_a_body_of_the_client_is_read():
    asked = loss_request(base64.b64decode(PPO))
    assert (asked.model_id, asked.seq_id, asked.loss, asked.forward_only) == ("s-1:train:0", 3, "ppo", True)
    assert asked.config == {"clip_low_threshold": 0.9}
    [one] = asked.examples
    first, picture, last = one.chunks
    assert (first, last) == (TokenChunk((5, 6)), TokenChunk((7,)))
    assert isinstance(picture, PictureChunk)
    assert picture.expected_tokens == 3
    assert picture.raw.startswith(b"\x89PNG")
    assert one.inputs["target_tokens"].tolist() == [6, 0, 0, 0, 7, 8]
    assert one.inputs["logprobs"].tolist() == [0, 0, 0, 0, 0, -0.5]
    assert one.inputs["advantages"].tolist() == [0, 0, 0, 0, 0, 1.5]


def test_sparse_tensors_of_the_client_are_written_out():
    [one] = loss_request(base64.b64decode(SPARSE)).examples
    targets, weights = np.zeros((4, 20), int), np.zeros((4, 20))
    targets[1, 3], targets[3, 0], weights[1, 3] = 9, 4, 0.25
    assert (one.inputs["target_tokens"] == targets).all()
    assert (one.inputs["weights"] == weights).all()


def test_no_bytes_are_more_than_a_users_error():
    chance, whole = random.Random(0), base64.b64decode(PPO)
    refused = 0
    for _ in range(2000):
        broken = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.5 else whole)
        for _ in range(chance.randrange(4)):
            broken[chance.randrange(len(broken) or 1) :] = chance.randbytes(chance.randrange(9))
        try:
            loss_request(bytes(broken))
        except UserError:
            refused += 1
    assert refused > 200


def test_numbers_as_the_format_has_them():
    # The format's own examples: 150 is 96 01, and -1 has all 64 bits.
    assert (varint(150), varint(-1)) == (b"\x96\x01", b"\xff" * 9 + b"\x01")
    message = WireFields(
        number_field(1, 150) + number_field(2, -7) + double_field(3, 0.1) + part_field(4, b"\x03\x96\x01")
    )
    assert (message.number(1), message.number(2), message.double(3)) == (150, -7, 0.1)
    assert message.numbers(4) == [3, 150]


def test_a_sample_as_the_client_reads_it():
    written = sample_answer([SampledText(ids=(7, 8), logprobs=(-1.0, -2.0), has_stopped=False)])
    [sequence] = [WireFields(part) for part in WireFields(written).parts(1)]
    # STOP_REASON_LENGTH, int32 and float32.
    assert sequence.number(1) == 1
    assert sequence.part(2) == b"\x07\0\0\0\x08\0\0\0"
    assert np.frombuffer(sequence.part(3), "<f4").tolist() == [-1.0, -2.0]


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        ({"type": "dmel", "dmel": "AA=="}, "encoded_text or image"),
        ({"type": "image", "data": "%%"}, "base64"),
        ({"type": "encoded_text", "tokens": [1, 2.5]}, "whole numbers"),
        (7, "encoded_text or image"),
    ],
)
def test_chunks_that_are_none(chunk, words):
    with pytest.raises(UserError, match=words):
        json_chunks({"chunks": [chunk]})


def tokens(logprobs, sampled, advantages, weights=None, sequence=None):
    values = torch.tensor(logprobs, dtype=torch.float64, requires_grad=True)
    old, count = torch.tensor(sampled, dtype=torch.float64), len(logprobs)
    return values, PolicyTokens(
        logprobs=values,
        sampled_logprobs=old,
        old_logprobs=old,
        advantages=torch.tensor(advantages, dtype=torch.float64),
        weights=torch.ones(count) if weights is None else torch.tensor(weights),
        sequence=torch.zeros(count, dtype=torch.long) if sequence is None else torch.tensor(sequence),
        entropy=torch.zeros(count),
    )


LOW, HIGH = math.log(0.5), math.log(1.5)
"""Log ratios below and above the usual clip of 0.8 to 1.2, for the sampler's log-probability of -1."""


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("cross_entropy", {}, 2 * (1 - HIGH) - (1 - LOW)),
        ("importance_sampling", {}, -(1.5 * 2 - 0.5)),
        # min(1.5 * 2, 1.2 * 2) and min(-0.5, -0.8).
        ("ppo", {}, -(2.4 - 0.8)),
        ("ppo", {"clip_high_threshold": 2.0, "clip_low_threshold": 0.0}, -(3.0 - 0.5)),
        ("cispo", {}, -(1.2 * (HIGH - 1) * 2 - 0.8 * (LOW - 1))),
        ("dro", {"beta": 0.1}, -((HIGH - 1) * 2 - (LOW - 1)) + 0.05 * (HIGH**2 + LOW**2)),
        # The ratio of both tokens is sqrt(0.75).
        ("gspo", {}, -(math.sqrt(0.75) * 2 - math.sqrt(0.75))),
    ],
)
def test_losses_by_hand(name, config, expected):
    _, given = tokens([HIGH - 1, LOW - 1], [-1.0, -1.0], [2.0, -1.0])
    assert float(loss_kind(name).loss(config)(given).value.detach()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_tokens_that_are_never_written_have_no_gradient(name):
    values, given = tokens([-1.0, -math.inf, -2.0], [-1.0, 0.0, -1.5], [1.0, 0.0, -1.0], weights=[1.0, 1.0, 1.0])
    loss_kind(name).loss({})(given).value.backward()
    assert values.grad is not None
    assert values.grad.isfinite().all()
    assert values.grad[1] == 0
    assert values.grad[0] != 0


@pytest.mark.parametrize(
    ("name", "config", "words"),
    [
        ("stable_reinforce", {}, "not published"),
        ("custom", {"loss_id": "x"}, "forward_backward_custom"),
        ("sft", {}, "no such loss"),
        ("ppo", {"epsilon": 0.2}, "clip_low_threshold"),
        ("ppo", {"clip_low_threshold": 1.3}, "0 <= low <= 1 <= high"),
        ("dro", {"beta": math.nan}, "finite"),
        ("dro", {"beta": -1.0}, "0 or more"),
        ("cispo", {"clip_high_threshold": "much"}, "finite"),
    ],
)
def test_losses_that_there_are_not(name, config, words):
    with pytest.raises(UserError, match=words):
        loss_kind(name).loss(config)
