"""Whether two models read the same ids: the same vocabulary, the same special tokens, as many tokens for a picture."""

from saccade.errors import UserError
from saccade.models.chat import Chat
from saccade.models.chat_templates import TemplateTokenizer
from saccade.types import ImageRef

_SIZES = ((64, 64), (500, 333), (333, 500), (1024, 768), (2000, 1500))
"""Of pictures whose tokens are counted, in pixels."""


def check_same_tokens(own: Chat, other: Chat, where: str) -> None:
    """UserError that says how the tokens of a model at ``where`` differ from one's own.

    Chat templates may differ: what one has written, the other reads as it is.
    """
    mine, theirs = _vocabulary(own), _vocabulary(other)
    if differing := {one for one in mine.keys() | theirs.keys() if mine.get(one) != theirs.get(one)}:
        token = min(differing)
        raise UserError(
            f"{where} has another tokenizer: {len(differing)} of {len(mine.keys() | theirs.keys())} tokens differ, as "
            f"{token!r}, which is {mine.get(token, 'no token')} here and {theirs.get(token, 'no token')} there. Token "
            "by token only a model with the same tokenizer can teach; take one of the same family, or imitate its "
            "answers as texts (saccade train sft)"
        )
    special = {"image token": (own.image_token_id, other.image_token_id), "end of a turn": (own.eos_id, other.eos_id)}
    for what, (one, two) in special.items():
        if one != two:
            raise UserError(f"{where} has another {what}: token {two}, and here {one}; take a model of one family")
    for width, height in _SIZES:
        picture = ImageRef(hash="", width=width, height=height)
        if own.image_layout(picture) != other.image_layout(picture):
            raise UserError(
                f"{where} sees a picture of {width} x {height} px in {other.token_count(picture)} tokens, the policy "
                f"in {own.token_count(picture)}; take a model of the same family, with the same model.max_pixels"
            )


def _vocabulary(chat: Chat) -> dict[str, int]:
    assert isinstance(chat.tokenizer, TemplateTokenizer)
    return chat.tokenizer.vocabulary
