"""How a model of a configuration writes conversations, and which of its tokens it must not write itself."""

from collections.abc import Collection
from functools import partial

from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from saccade.media.resize import ViewRule
from saccade.models.chat import TOOL_RESPONSE, Chat, ObservationRole
from saccade.models.chat_templates import TemplateTokenizer
from saccade.models.families import family_of
from saccade.models.families.family import Family
from saccade.models.unused_tokens import unused_tokens


def unspoken_tokens(tokenizer: PreTrainedTokenizerFast, family: Family) -> dict[str, int]:
    """Tokens of the tokenizer, with their ids, that only the environment may write: scaffolding, placeholders, and
    entries that stand for nothing."""
    vocabulary = tokenizer.get_vocab()
    special = {int(i) for i in tokenizer.all_special_ids} | {
        int(i) for i, token in tokenizer.added_tokens_decoder.items() if token.special
    }
    said = (family.end_of_turn(tokenizer), *family.other_ends, *family.spoken_tokens)
    spoken = {vocabulary[token] for token in said if token in vocabulary}
    of_tools = {vocabulary[token] for token in TOOL_RESPONSE if token in vocabulary}
    unused = set(unused_tokens(tokenizer, vocabulary).values()) - spoken
    return {str(tokenizer.convert_ids_to_tokens(one)): one for one in (special - spoken) | of_tools | unused}


def chat_of(
    config: PreTrainedConfig,
    tokenizer: PreTrainedTokenizerFast,
    view: ViewRule,
    observation_role: ObservationRole | None = None,
    spelled: Collection[int] = (),
) -> Chat:
    """How a model of this configuration writes conversations; UserError for a chat template that cannot be used.

    Tokens of ``spelled`` are written in pieces, as are those that have no weights.
    """
    family, image_token_id = family_of(config.model_type), int(config.image_token_id)
    end = family.end_of_turn(tokenizer)
    vocabulary = tokenizer.get_vocab()
    image_token = tokenizer.convert_ids_to_tokens(image_token_id)
    return Chat.checked(
        tokenizer=TemplateTokenizer(
            tokenizer,
            vocabulary=int(config.text_config.vocab_size),
            written_image=family.written_image,
            image_token=image_token,
            spelled=spelled,
        ),
        image_token=image_token,
        image_token_id=image_token_id,
        eos_token=end,
        eos_id=int(tokenizer.convert_tokens_to_ids(end)),
        image_layout=partial(family.image_layout, view),
        observation_role=observation_role,
        unspoken=frozenset(unspoken_tokens(tokenizer, family)),
        other_ends={token: vocabulary[token] for token in family.other_ends if token in vocabulary},
    )


def forbidden_ids(
    tokenizer: PreTrainedTokenizerFast, family: Family, vocab_size: int, spelled: Collection[int]
) -> list[int]:
    """Tokens that only the environment may write: scaffolding and placeholders, ids beyond the tokenizer, and what
    is spelled."""
    written_by_environment = unspoken_tokens(tokenizer, family)
    beyond = range(len(tokenizer), vocab_size)
    others = (*written_by_environment.values(), *beyond, *spelled)
    return sorted({token for token in others if token < vocab_size})
