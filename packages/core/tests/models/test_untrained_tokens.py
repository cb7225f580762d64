"""Tokens that a checkpoint was never trained on, put there by transformers' own functions, are written in pieces."""

import logging
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoTokenizer

from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings, base_checkpoint
from saccade.models.loading import load_chat, load_model

TAGS = ("<look>", "</look>")
TEXT = "<look>at it</look>"


@pytest.fixture(scope="module")
def widened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base checkpoint with two tokens more, which nothing has trained."""
    path = tmp_path_factory.mktemp("widened")
    for file in base_checkpoint().iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    (path / "saccade_checksums.jsonl").unlink(missing_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32)
    tokenizer.add_tokens(list(TAGS))
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_they_are_written_in_pieces_never_sampled_and_told(widened: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        model = load_model(widened, MediaStore(), LoadSettings(device="cpu"))
    [said] = [one.getMessage() for one in caplog.records if "never trained" in one.getMessage()]
    assert f"never trained on {TAGS[0]}, {TAGS[1]}, whose weights are those of other tokens" in said
    own = {int(model.tokenizer.convert_tokens_to_ids(tag)) for tag in TAGS}
    for chat in (model.chat, load_chat(widened)):
        ids = chat.encode(TEXT)
        assert not own & set(ids)
        assert chat.decode(ids) == TEXT
    assert own <= set(model.forbidden_ids.tolist())


def test_who_trains_them_keeps_them(widened: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        model = load_model(widened, MediaStore(), LoadSettings(device="cpu", untrained_tokens="kept"))
    own = {int(model.tokenizer.convert_tokens_to_ids(tag)) for tag in TAGS}
    assert own <= set(model.chat.encode(TEXT))
    assert not own & set(model.forbidden_ids.tolist())
    assert "an adapter cannot learn to write them" in caplog.text


def test_tokens_that_were_trained_are_left_whole(widened: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(widened)
    model = AutoModelForImageTextToText.from_pretrained(widened, dtype=torch.float32)
    own = [int(tokenizer.convert_tokens_to_ids(tag)) for tag in TAGS]
    with torch.no_grad():
        model.get_input_embeddings().weight[own[0]] *= 1.1
    for file in widened.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    model.save_pretrained(tmp_path)
    chat = load_chat(tmp_path)
    assert set(own) <= set(chat.encode(TEXT))


def test_an_untrained_end_of_a_turn_is_told(widened: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for file in widened.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    tokenizer = AutoTokenizer.from_pretrained(widened)
    model = AutoModelForImageTextToText.from_pretrained(widened, dtype=torch.float32)
    end = load_chat(widened).eos_id
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table[end] = table[int(tokenizer.convert_tokens_to_ids(TAGS[0]))]
    model.save_pretrained(tmp_path)
    with caplog.at_level(logging.WARNING):
        loaded = load_model(tmp_path, MediaStore(), LoadSettings(device="cpu"))
    assert "which ends a turn: an adapter cannot learn to end one" in caplog.text
    assert loaded.eos_id == end
    assert end not in loaded.forbidden_ids.tolist()
