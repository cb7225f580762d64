"""Questions of Lang2Act's recipe with their pages, and who curates, by settings."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from saccade.chat.chat_model import connect, is_checkpoint, is_server
from saccade.chat.local_chat import EngineChat
from saccade.config import RecipeContext, read_own_tasks, split_held_out
from saccade.curation.linguistic_tools import Curator
from saccade.errors import UserError
from saccade.recipes.lang2act_settings import Lang2ActSettings
from saccade.recipes.lang2act_tools import CuratorSource
from saccade.retrieval import open_index, retrieved_pages
from saccade.rewards.judges.settings import Judges, judges
from saccade.seeding import seed_for
from saccade.train import DeriveContext
from saccade.types import Task
from saccade.vision_models.page_encoders import open_page_encoder


def page_tasks(settings: Lang2ActSettings, context: RecipeContext, data: Path) -> tuple[list[Task], list[Task]]:
    """Training and held-out questions of ``--data``, each with its own images, or with the pages of the index."""

    def prepared(tasks: Sequence[Task]) -> Sequence[Task]:
        return _with_pages(tasks, settings, context)

    return split_held_out(prepared(read_own_tasks(data, context)), settings.held_out_share, context, prepared=prepared)


def _with_pages(tasks: Sequence[Task], settings: Lang2ActSettings, context: RecipeContext) -> Sequence[Task]:
    if settings.index is None:
        if bare := [task.id for task in tasks if not task.images]:
            raise UserError(
                f"{len(bare)} of {len(tasks)} questions have no images ({', '.join(bare[:3])}); give them pages with "
                "index= and encoder= (saccade index makes one)"
            )
        return tasks
    encoder = open_page_encoder(settings.encoder, settings.model)
    return retrieved_pages(
        tasks, open_index(settings.index), encoder, settings.pages, media=context.media, scope=settings.scope
    )


def answer_judge(settings: Lang2ActSettings, context: RecipeContext) -> Judges:
    """The judge of answers that the rules cannot compare, if the settings name one."""
    seed = seed_for(context.seed, "judge")
    return judges(
        settings.judge, judges_consistency=False, judges_answers=True, exact=None, media=context.media, seed=seed
    )


def curator_of(settings: Lang2ActSettings) -> CuratorSource:
    """The policy as it stands, a checkpoint or a server; UserError for what is none of them."""
    where, server = settings.curator, settings.server
    if not where:
        return lambda run: nullcontext(
            EngineChat(engine=run.engine, chat=run.model.chat, max_tokens=server.max_tokens, view=run.model.view)
        )
    if is_server(where.at) and not where.model:
        raise UserError(f"curator.at={where.at} is a server; say with curator.model which of its models is meant")
    if not is_server(where.at) and not is_checkpoint(Path(where.at)):
        raise UserError(f"curator.at={where.at} is neither the address of a server nor a checkpoint directory")

    @contextmanager
    def opened(run: DeriveContext) -> Iterator[Curator]:
        key = os.environ.get(settings.api_key_env, "")
        with connect(where.at, server, model=where.model or None, media=run.media, api_key=key) as model:
            yield model

    return opened
