"""Sampling by inverse distribution function, worked out by hand, and stop strings that end a turn."""

import math

import numpy as np
import pytest
import torch

from saccade.engines.engine import Sampling
from saccade.engines.sampling import Drawn, StopFinder, TokenBytes, draw_tokens, running_sums
from saccade.errors import SaccadeError
from saccade.models.tokenizer import build_tokenizer

HALF_QUARTERS = torch.tensor([[0.25, 0.5, 0.25]]).log()


def drawn(logits, uniform, **settings):
    [row] = draw_tokens(logits, [Sampling(seed=0, **settings)], [uniform])
    return row.token


@pytest.mark.parametrize(("uniform", "token"), [(0.0, 0), (0.2499, 0), (0.2501, 1), (0.7499, 1), (0.7501, 2)])
def test_the_number_falls_into_the_share_of_its_token(uniform, token):
    assert drawn(HALF_QUARTERS, uniform) == token


def test_the_largest_number_below_one_gives_the_last_token_that_has_probability():
    logits = torch.tensor([[1.0, 2.0, 3.0, -math.inf]])
    assert drawn(logits, math.nextafter(1.0, 0.0)) == 2


def test_a_token_without_probability_is_never_drawn():
    logits = torch.tensor([[-math.inf, 0.0, -math.inf, 0.0, -math.inf]])
    assert [drawn(logits, uniform) for uniform in (0.0, 0.4999, 0.5, 0.9999)] == [1, 1, 3, 3]


def test_the_logprob_is_that_before_top_k_and_top_p():
    [row] = draw_tokens(HALF_QUARTERS, [Sampling(seed=0, top_k=1, top_p=0.1)], [0.99])
    assert row == Drawn(token=1, logprob=pytest.approx(math.log(0.5)))


@pytest.mark.parametrize(
    ("top_k", "kept"), [(0, {0, 1, 2, 3}), (1, {1}), (2, {0, 1}), (3, {0, 1, 2}), (4, {0, 1, 2, 3}), (9, {0, 1, 2, 3})]
)
def test_top_k_keeps_the_likeliest_and_of_equals_those_of_lower_id(top_k, kept):
    logits = torch.tensor([[0.2, 0.4, 0.2, 0.2]]).log()
    assert {drawn(logits, uniform / 100, top_k=top_k) for uniform in range(100)} == kept


@pytest.mark.parametrize(("top_p", "last"), [(0.01, 1), (0.49, 1), (0.51, 2), (0.79, 2), (0.81, 3), (1.0, 3)])
def test_top_p_keeps_the_fewest_tokens_that_reach_it(top_p, last):
    logits = torch.tensor([[0.0, 0.5, 0.3, 0.2]]).log()
    assert drawn(logits, 0.9999, top_p=top_p) == last


def test_greedy_ignores_the_number_and_takes_the_first_of_equals():
    logits = torch.tensor([[0.3, 0.35, 0.35]]).log()
    assert drawn(logits, 0.0, temperature=0.0) == drawn(logits, 0.99, temperature=0.0) == 1


def test_rows_with_different_settings_do_not_touch_each_other():
    logits = HALF_QUARTERS.expand(4, -1)
    samplings = [
        Sampling(seed=0),
        Sampling(seed=0, top_k=1),
        Sampling(seed=0, temperature=0.0),
        Sampling(seed=0, top_p=0.6),
    ]
    assert [row.token for row in draw_tokens(logits, samplings, [0.1, 0.1, 0.1, 0.1])] == [0, 1, 1, 0]


def test_sums_in_parts_are_the_same_in_any_order_and_those_of_floating_point():
    chance = torch.rand(3, 5000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    chance = torch.where(chance < 0.5, 0.0, chance)
    chance /= chance.sum(dim=-1, keepdim=True)
    parts = running_sums(chance, in_parts=True)
    torch.testing.assert_close(parts, running_sums(chance), rtol=0, atol=1e-11)
    assert (running_sums(chance.flip(-1), in_parts=True)[:, -1] == parts[:, -1]).all()
    # What has no probability has no part of the line either, so that no number falls there.
    assert (parts[:, 1:] == parts[:, :-1]).equal(chance[:, 1:] == 0)


def test_frequencies_follow_the_probabilities():
    count = 20_000
    uniforms = np.random.default_rng(0).random(count).tolist()
    rows = draw_tokens(HALF_QUARTERS.expand(count, -1), [Sampling(seed=0)] * count, uniforms)
    frequency = np.bincount([row.token for row in rows]) / count
    assert frequency == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_logits_that_are_not_finite_are_an_error_and_not_a_token(broken):
    logits = torch.tensor([[0.0, broken, 0.0]])
    with pytest.raises(SaccadeError, match="diverged"):
        draw_tokens(logits, [Sampling(seed=0)], [0.5])


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer(
        ["the answer is rows </tool"] * 9, numbers=[250], phrases=['{"name": "crop"'], vocab_size=400
    )


@pytest.mark.parametrize(
    "text", ["the answer is rows", 'a {"name": "crop" 250\n\t', "größe 图像 🙂 \x00\x7f\xad", "<think>é</think>", ""]
)
def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(tokenizer, text):
    table = TokenBytes(tokenizer)
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert b"".join(table[token] for token in ids) == text.encode()


def test_a_character_split_over_tokens_is_spelled_byte_by_byte(tokenizer):
    table = TokenBytes(tokenizer)
    ids = tokenizer.encode("🙂", add_special_tokens=False)
    assert [table[token] for token in ids] == [bytes([byte]) for byte in "🙂".encode()]


def test_an_unknown_id_stands_for_nothing(tokenizer):
    assert TokenBytes(tokenizer)[10**6] == b""


@pytest.mark.parametrize(
    ("tokens", "ends_with"),
    [
        ([b"<answer>rows", b"</answer>"], 1),
        ([b"rows</", b"ans", b"wer", b">", b"more"], 3),
        ([b"rows</answer> and more"], 0),
        ([b"</answer</", b"answer>"], 1),
        ([b"<", b"/", b"a", b"n", b"s", b"w", b"e", b"r", b">"], 8),
        ([b"", b"</answer>"], 1),
        ([b"</answer", b" >"], None),
        ([], None),
    ],
)
def test_the_token_that_completes_a_stop_string_is_found(tokens, ends_with):
    finder = StopFinder(["</answer>", "</tool_call>"])
    found = [finder.completes(token) for token in tokens]
    assert (found.index(True) if True in found else None) == ends_with


def test_a_stop_string_of_one_character_of_several_bytes_is_found_at_its_last_byte():
    finder = StopFinder(["🙂"])
    assert [finder.completes(bytes([byte])) for byte in "x🙂".encode()] == [False, False, False, False, True]


def test_without_stop_strings_nothing_ends():
    finder = StopFinder([])
    assert not any(finder.completes(token) for token in (b"", b"a", b"</answer>"))


def test_stop_strings_of_different_lengths_do_not_hide_each_other():
    finder = StopFinder(["ab", "xxxxxxxxab"])
    assert [finder.completes(token) for token in (b"xxa", b"b")] == [False, True]
