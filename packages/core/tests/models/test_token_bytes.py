"""Tokenizers that are not byte-level: each token stands for bytes, so texts, stops and broken characters are exact."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from saccade.engines.sampling import StopFinder
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.loading import load_model
from saccade.models.token_bytes import TokenBytes
from saccade.models.vlm import VisionLanguageModel


@pytest.fixture(scope="module")
def model() -> VisionLanguageModel:
    texts = ["the plate is red </tool> inwards"] * 9
    size = TinySize(hidden=16, layers=1, mlp=16, vision_hidden=16, vision_mlp=16)
    return tiny_model(
        texts, MediaStore(), family="gemma3", size=size, numbers=[250], phrases=['{"name": "crop"'], vocab_size=600
    )


def encoded(model: VisionLanguageModel, text: str) -> list[int]:
    return model.tokenizer.encode(text, add_special_tokens=False)


@given(st.text().filter(lambda text: "▁" not in text))
def test_the_bytes_of_the_tokens_are_the_bytes_of_any_text(model: VisionLanguageModel, text: str) -> None:
    table, ids = TokenBytes(model.tokenizer), encoded(model, text)
    assert not table.is_byte_level
    assert b"".join(table[token] for token in ids) == text.encode()
    assert model.chat.decode(ids) == text


TEXTS = (
    " the plate",
    "  two  spaces ",
    "größe 図像 🙂👩\u200d👩\u200d👧 \x00\x7f\u2028",
    "a\n\n\tb",
    '{"name": "crop" 250',
    "<think>é</think>",
    "<0x41>",
)


@pytest.mark.parametrize("text", TEXTS)
def test_each_cut_of_a_text_is_spelled_as_it_stands(model: VisionLanguageModel, text: str) -> None:
    """A space that a suffix begins with stays, and a character that is cut shows as broken, alone."""
    table, ids = TokenBytes(model.tokenizer), encoded(model, text)
    for cut in range(len(ids) + 1):
        head, tail = (b"".join(table[token] for token in part) for part in (ids[:cut], ids[cut:]))
        assert head + tail == text.encode()
        assert model.chat.decode(ids[:cut]) == head.decode("utf-8", "replace")
        assert model.chat.decode(ids[cut:]) == tail.decode("utf-8", "replace")


def test_a_whole_character_stays_beside_a_broken_one(model: VisionLanguageModel) -> None:
    """What is shown of an open turn grows: the tokenizer's own decoding loses the first while the second comes."""
    ids = encoded(model, "🙂🙃")
    shown = [model.chat.decode(ids[:count]).rstrip("\ufffd") for count in range(len(ids) + 1)]
    assert shown == ["", "", "", "", "🙂", "🙂", "🙂", "🙂", "🙂🙃"]
    assert model.tokenizer.decode(ids[:5]) == "\ufffd" * 5


@pytest.mark.parametrize("text", ["go inwards</tool> the", "</tool>", "🙂</tool>red", "x </tool>\n"])
def test_a_tag_is_found_where_it_ends_whatever_its_tokens(model: VisionLanguageModel, text: str) -> None:
    table, finder = TokenBytes(model.tokenizer), StopFinder(["</tool>"])
    ids = encoded(model, text)
    found = [finder.completes(table[token]) for token in ids].index(True)
    assert "</tool>" in model.chat.decode(ids[: found + 1])
    assert "</tool>" not in model.chat.decode(ids[:found])


def with_tokenizer(model: VisionLanguageModel, folder: Path, **parts: object) -> Path:
    """The checkpoint with other parts in its tokenizer."""
    model.save(folder)
    raw = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(raw | parts))
    Tokenizer.from_file(str(folder / "tokenizer.json"))
    about = json.loads((folder / "tokenizer_config.json").read_text())
    about["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return folder


def test_the_same_tokenizer_of_no_class_of_its_own_is_taken(model: VisionLanguageModel, tmp_path: Path) -> None:
    opened = load_model(with_tokenizer(model, tmp_path), MediaStore())
    assert encoded(opened, " the plate 🙂") == encoded(model, " the plate 🙂")


SPACE_BEFORE = {
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    },
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
}


@pytest.mark.parametrize("parts", [SPACE_BEFORE, {"decoder": SPACE_BEFORE["decoder"]}], ids=["added", "taken away"])
def test_a_tokenizer_that_adds_a_space_before_a_text_or_takes_one_away_is_refused(
    model: VisionLanguageModel, tmp_path: Path, parts: dict[str, object]
) -> None:
    """As Llama 2's: each turn would begin with a space that nobody said, or lose one."""
    path = with_tokenizer(model, tmp_path, **parts)
    with pytest.raises(UserError, match=r"the tokenizer cannot write '.*' byte for byte.* and add no space"):
        load_model(path, MediaStore())
