"""Conversations of your own, imitated as they are: every turn with its thoughts, calls, results and pictures."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from saccade.config import RecipeContext
from saccade.models import load_model
from saccade.recipes.sft_data import read_requested
from saccade.recipes.sft_settings import ConversationsSettings
from saccade.seeding import seed_for
from saccade.tasks import Epochs
from saccade.train import Plan, SFTStage
from saccade.types import SpokenConversation


def method(settings: ConversationsSettings, conversations: Sequence[SpokenConversation], *, seed: int) -> SFTStage:
    """Each conversation as often as there are epochs, in an order that each epoch draws anew."""
    shown = Epochs(conversations, seed=seed_for(seed, "sft"))
    steps = settings.sft.steps or math.ceil(settings.epochs * len(conversations) / settings.sft.batch_size)
    return SFTStage(name="sft", source=lambda index, _: shown(index), settings=replace(settings.sft, steps=steps))


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
