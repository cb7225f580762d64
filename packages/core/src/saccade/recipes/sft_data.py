"""The conversations that the recipe imitates, as its model would learn them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.config import RecipeContext, apply_overrides
from saccade.config.own_conversations import ConversationCount, read_counted
from saccade.errors import UserError
from saccade.models import base_checkpoint, load_chat
from saccade.models.chat_conversations import ConversationWriter
from saccade.models.checkpoint import is_tiny
from saccade.recipes.sft_settings import TINY, ConversationsSettings
from saccade.types import SpokenConversation


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadConversations:
    """The conversations of a request as its model would learn them."""

    data: Path
    model: Path
    settings: ConversationsSettings
    writer: ConversationWriter
    conversations: Sequence[SpokenConversation]


def read_requested(context: RecipeContext) -> ReadConversations:
    """The conversations of ``--data``; the log says how much is learned of them. UserError for bad rows."""
    path = context.model or base_checkpoint()
    settings = apply_overrides(TINY if is_tiny(path) else ConversationsSettings(), context.overrides)
    if context.data is None:
        raise UserError("this recipe imitates your own conversations; give them with --data PATH")
    writer = ConversationWriter(load_chat(path, settings.model))
    count = ConversationCount(
        writer=writer,
        max_tokens=settings.max_tokens,
        max_picture_tokens=settings.sft.optimizer.micro_batch_tokens,
    )
    read = read_counted(context.data, context, count)
    return ReadConversations(
        data=context.data, model=path, settings=settings, writer=writer, conversations=read.conversations
    )
