"""Conversations of your own, imitated as they are: every turn with its thoughts, calls, results and pictures."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from saccade.config import RecipeContext, apply_overrides
from saccade.config.own_conversations import ConversationCount, read_counted
from saccade.errors import UserError
from saccade.models import base_checkpoint, load_chat, load_model
from saccade.models.chat_conversations import ConversationWriter
from saccade.models.checkpoint import is_tiny
from saccade.recipes.sft_settings import TINY, ConversationsSettings
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import Plan, SFTStage
from saccade.types import SpokenConversation


def method(settings: ConversationsSettings, conversations: Sequence[SpokenConversation], *, seed: int) -> SFTStage:
    """Each conversation as often as there are epochs, in an order that each epoch draws anew."""
    shown = Epochs(conversations, seed=seed_for(seed, "sft"))
    steps = settings.sft.steps or math.ceil(settings.epochs * len(conversations) / settings.sft.batch_size)
    return SFTStage(name="sft", source=lambda index, _: shown(index), settings=replace(settings.sft, steps=steps))


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


def sft(context: RecipeContext) -> Plan:
    """Imitation of your own conversations with tools: needs ``--data``; ``--model`` for any but the base model."""
    read = read_requested(context)
    return Plan(
        title=f"{read.model.name} on {read.data.name}",
        settings=read.settings,
        build_model=partial(load_model, read.model, context.media, read.settings.model),
        load=read.settings.model,
        stages=(method(read.settings, read.conversations, seed=context.seed),),
    )
