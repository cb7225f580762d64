"""Tokens that a checkpoint of a tiny model is given afterwards."""

from pathlib import Path

import torch

from saccade.media import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model, tiny_or_given, with_tokens

CALL = '{"name": "crop", "arguments": {"image": '
TEXTS = ["which mark is on the red plate"] * 3
SIZE = TinySize(hidden=16, layers=1, heads=2, kv_heads=1, mlp=16, vision_hidden=16, vision_mlp=16)


def test_what_was_spelled_in_many_tokens_is_one_and_the_others_keep_their_weights(tmp_path: Path) -> None:
    media = MediaStore()
    first = tiny_model(TEXTS, media, size=SIZE, phrases=["known"])
    before = first.hf.get_input_embeddings().weight.detach().clone()
    assert len(first.tokenizer.encode(CALL)) > 10
    given = with_tokens(first, [CALL, "known", "250"], seed=3)
    assert [len(given.tokenizer.encode(text)) for text in (CALL, "known", "250")] == [1, 1, 1]
    rows = given.hf.get_input_embeddings().weight
    assert rows.shape[0] == given.vocab_size == len(given.tokenizer) == before.shape[0] + 2
    assert torch.equal(rows[: before.shape[0]], before)
    given.save(tmp_path / "kept")
    again = tiny_or_given(tmp_path / "kept", TEXTS, media)
    assert again.tokenizer.encode(CALL) == given.tokenizer.encode(CALL)
    assert torch.equal(again.hf.get_input_embeddings().weight, rows)


def test_new_rows_are_a_function_of_the_seed() -> None:
    def new_row(seed: int) -> torch.Tensor:
        model = with_tokens(tiny_model(TEXTS, MediaStore(), size=SIZE), [CALL], seed=seed)
        return model.hf.get_input_embeddings().weight[-1].detach()

    assert torch.equal(new_row(1), new_row(1))
    assert not torch.equal(new_row(1), new_row(2))


def test_tokens_that_are_all_known_change_nothing() -> None:
    model = tiny_model(TEXTS, MediaStore(), size=SIZE, phrases=[CALL])
    assert with_tokens(model, [CALL], seed=0).vocab_size == model.vocab_size
