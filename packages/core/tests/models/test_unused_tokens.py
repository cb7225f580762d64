"""Entries of a vocabulary that stand for nothing are never said, and those that merely look like them are."""

import asyncio
from copy import deepcopy

import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.unused_tokens import unused_tokens
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Message


def tokenizer_of(*words: str, **named: str) -> PreTrainedTokenizerFast:
    vocabulary = {word: number for number, word in enumerate(words)}
    model = models.WordLevel(vocabulary, unk_token=words[0])
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), **named)


def unused(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return unused_tokens(tokenizer, tokenizer.get_vocab())


def test_entries_are_unused_by_their_whole_name() -> None:
    tokenizer = tokenizer_of("?", "<unused7>", "[unused0]", "[UNUSED_TOKEN_12]", "<|reserved_special_token_3|>")
    assert set(unused(tokenizer).values()) == {1, 2, 3, 4}
    assert unused(tokenizer_of("?", "<|placeholder1|>", "<|placeholder_2|>", "<|dummy_4|>")) == {
        "<|placeholder1|>": 1,
        "<|placeholder_2|>": 2,
        "<|dummy_4|>": 3,
    }
    words = ("unused", "<unused>", "a<unused1>", "<unused1>b", "[PAD]", "<|im_end|>", "<think>", "<|reserved|>")
    assert unused(tokenizer_of("?", *words)) == {}


def test_a_padding_entry_has_its_own_number_as_its_name() -> None:
    assert unused(tokenizer_of("?", "[PAD1]", "[PAD1665]", "[PAD3]", "[PAD03]")) == {"[PAD1]": 1, "[PAD3]": 3}


def test_what_the_template_or_the_tokenizer_itself_uses_is_in_use() -> None:
    tokenizer = tokenizer_of("?", "<unused1>", "<unused2>", "<unused3>", pad_token="<unused2>")
    tokenizer.chat_template = "<unused3>{{ messages }}"
    assert unused(tokenizer) == {"<unused1>": 1}


def test_a_model_says_no_unused_token_and_gives_it_no_probability() -> None:
    media = MediaStore()
    plain = tiny_model(["What is red?"], media, vocab_size=400)
    tokenizer = deepcopy(plain.tokenizer)
    first = len(tokenizer)
    names = [f"[PAD{number}]" for number in range(first, first + 30)]
    tokenizer.add_tokens([*names, "<mine>"])
    plain.hf.resize_token_embeddings(len(tokenizer))
    model = VisionLanguageModel(plain.hf, tokenizer, plain.image_processor, media)
    unused = set(range(first, first + 30))
    assert unused <= set(model.forbidden_ids.tolist())
    assert first + 30 not in model.forbidden_ids.tolist()
    with torch.no_grad():
        # What is left of the table is nearly all of the distribution without the rule.
        model.hf.lm_head.weight[first : first + 30] = model.hf.lm_head.weight.mean(0) + 1.0

    async def said() -> set[int]:
        prompt = model.chat.prompt([Message(role="user", parts=("What is red?",))])
        async with LocalEngine(model).sequences(["a"] * 4) as slots:
            asked = [Sampling(seed=seed, max_tokens=20) for seed in range(4)]
            done = await asyncio.gather(*(slot.sample(prompt.ids, (), how) for slot, how in zip(slots, asked)))
        return {token for one in done for token in one.ids}

    assert not unused & asyncio.run(said())
