"""Stop strings in bytes, with a real byte-level tokenizer."""

import pytest

from saccade.engines.sampling import StopFinder, TokenBytes
from saccade.models.tokenizer import build_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer(
        ["the answer is rows </tool"] * 9, numbers=[250], phrases=['{"name": "crop"'], vocab_size=400
    )


@pytest.mark.parametrize(
    "text",
    ["the answer is rows", 'a {"name": "crop" 250\n\t', "größe 图像 🙂 \x00\x7f\xad", "<think>é</think>", ""],
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
