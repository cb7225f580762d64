"""The pairs that the recipe learns from, as its model would: of a file, or of a run's trajectories."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from saccade.algorithms.preference import actions_of, is_pair, prompt_of
from saccade.config import RecipeContext, apply_overrides
from saccade.config.context import log_splits, warn_of_bad_rows
from saccade.config.held_out import picture_key, seen_in, split_held_out
from saccade.config.own_conversations import ConversationCount
from saccade.errors import UserError
from saccade.heartbeat import phase
from saccade.models import base_checkpoint, load_chat
from saccade.models.chat import Chat
from saccade.models.chat_conversations import ConversationWriter
from saccade.models.checkpoint import is_tiny
from saccade.recipes.dpo_mining import is_run, mined_pairs, model_of_run
from saccade.recipes.dpo_settings import TINY, PairsSettings
from saccade.runs.asking import AskingRecord
from saccade.runs.recorded_episodes import add_images
from saccade.runs.runinfo import RunPaths
from saccade.tasks.conversations import read_pairs
from saccade.types import SpokenPair, Task, TrajectoryPair

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestedPairs:
    """The pairs of a request."""

    data: Path
    model: Path
    settings: PairsSettings
    chat: Chat
    learned: Sequence[TrajectoryPair]
    held_out: Sequence[TrajectoryPair]
    questions: Sequence[Task]
    """Held-out questions with right answers, to be asked before and after."""
    asking: AskingRecord | None
    """How the run asked them; None for pairs of a file."""

    @property
    def content(self) -> str:
        """A hash of what is learned, by which a resumed run knows it."""
        digest = hashlib.sha256()
        for pair in self.learned:
            told = [pair.task.id, *(prompt_of(pair.chosen)[0]), "|", actions_of(pair.chosen), actions_of(pair.rejected)]
            digest.update(repr(told).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]


def read_requested(context: RecipeContext) -> RequestedPairs:
    """The pairs of ``--data``, those of held-out questions apart. UserError for bad rows, or where none is left."""
    data = context.data
    from_run = data is not None and is_run(data)
    model = context.model or (model_of_run(data) if data is not None and from_run else None) or base_checkpoint()
    settings = apply_overrides(TINY if is_tiny(model) else PairsSettings(), context.overrides)
    if data is None:
        raise UserError(
            "this recipe learns from pairs; give a file of them (prompt, chosen, rejected) or the folder of a run with "
            "--data PATH"
        )
    chat = load_chat(model, settings.model)
    asking: AskingRecord | None = None
    measured: Sequence[Task] = ()
    if from_run:
        mined = mined_pairs(data, settings.pairs, chat, context.media)
        pairs, questions, measured, asking = mined.pairs, mined.questions, mined.held_out, mined.asking
    else:
        pairs = _pairs_of_file(data, context, settings, chat)
        questions = tuple({_identity(pair.task): pair.task for pair in pairs}.values())
    _check_pictures(pairs, chat, settings.dpo.optimizer.micro_batch_tokens)
    training, apart = _split(questions, measured, settings.held_out_share, context)
    for task in apart if from_run and context.held_out is None else ():
        add_images(task.images, RunPaths(root=data).media, context.media, data)
    are_learned, are_apart = (set(map(_identity, tasks)) for tasks in (training, apart))
    learned = [pair for pair in pairs if _identity(pair.task) in are_learned]
    if not learned:
        raise UserError(f"{data}: all {len(pairs)} pairs are of held-out questions; lower held_out_share, or give more")
    return RequestedPairs(
        data=data,
        model=model,
        settings=settings,
        chat=chat,
        learned=learned,
        held_out=[pair for pair in pairs if _identity(pair.task) in are_apart],
        questions=tuple(apart) if from_run or context.held_out is not None else (),
        asking=asking,
    )


def _split(
    questions: Sequence[Task], measured: Sequence[Task], share: float, context: RecipeContext
) -> tuple[Sequence[Task], Sequence[Task]]:
    """Questions to learn from and held-out ones: those of ``--held-out``, the run's own, or a share."""
    # A validation split of pairs holds no questions.
    alone = replace(context, data=None, split=None)
    if context.held_out is not None:
        return split_held_out(questions, share, alone)
    if measured:
        return questions, measured
    return split_held_out(questions, share, alone) if share else (questions, ())


def _pairs_of_file(
    data: Path, context: RecipeContext, settings: PairsSettings, chat: Chat
) -> tuple[TrajectoryPair, ...]:
    count = ConversationCount(writer=ConversationWriter(chat), max_tokens=settings.max_tokens)
    written: list[TrajectoryPair] = []

    def check(pair: SpokenPair) -> None:
        chosen, rejected = (count.add(one).trajectory for one in (pair.chosen, pair.rejected))
        if prompt_of(chosen) != prompt_of(rejected):
            raise UserError("the chat template writes the prompt of both otherwise, so that they cannot be compared")
        if not is_pair(chosen, rejected):
            raise UserError("both say the same in the model's tokens, so that there is nothing to prefer")
        written.append(TrajectoryPair(task=pair.chosen.task, chosen=chosen, rejected=rejected))

    log_splits(data, context.split)
    with phase(lambda: f"reading {data}: {len(written):,} pairs"):
        read = read_pairs(
            data,
            media=context.media,
            skip_bad_rows=context.skip_bad_rows,
            image_root=context.image_root,
            split=context.split,
            check=check,
        )
    logger.info("%s: %d pairs, %d of %d tokens learned", data, len(written), count.learned, count.tokens)
    if read.left_out:
        logger.warning("%s: left out: %s", data, ", ".join(f"{what} ({rows} rows)" for what, rows in read.left_out))
    warn_of_bad_rows(data, read.skipped, len(written))
    return tuple(written)


def _identity(task: Task) -> tuple[str, str]:
    """Rows of a file may repeat an id on another picture."""
    return task.id, picture_key(seen_in(task))


def _check_pictures(pairs: Sequence[TrajectoryPair], chat: Chat, room: int) -> None:
    shown = chain.from_iterable((*pair.chosen.images, *pair.rejected.images) for pair in pairs)
    largest = max(map(chat.token_count, dict.fromkeys(shown)), default=0)
    if largest > room:
        raise UserError(
            f"a picture takes {largest} tokens of dpo.optimizer.micro_batch_tokens={room}; raise that, or lower "
            "model.max_pixels"
        )
