"""The user's own conversations as a model learns them: counted and checked before any work, and shown in tokens."""

import logging
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from saccade.config.context import RecipeContext, log_splits, warn_of_bad_rows
from saccade.errors import UserError
from saccade.heartbeat import phase
from saccade.models.chat import Chat
from saccade.models.chat_conversations import ConversationWriter, WrittenConversation
from saccade.tasks.conversations import ConversationFile, read_conversations
from saccade.types import Segment, SpokenConversation, Trajectory

logger = logging.getLogger(__name__)


@dataclass(kw_only=True)
class ConversationCount:
    """Counts conversations as they are read; UserError for one that is longer than may be learned."""

    writer: ConversationWriter
    max_tokens: int | None = None
    """Of a context; nothing is ever cut."""
    max_picture_tokens: int | None = None
    rows: int = 0
    replies: int = 0
    tokens: int = 0
    learned: int = 0
    longest: int = 0
    empty_thoughts: int = 0
    contexts: list[int] = field(default_factory=list)
    """Contexts of each conversation that has several."""

    def add(self, conversation: SpokenConversation) -> WrittenConversation:
        """The conversation in tokens."""
        written = self.writer.write(conversation)
        longest = max(written.context_tokens)
        if self.max_tokens is not None and longest > self.max_tokens:
            raise UserError(
                f"takes {longest} tokens of max_tokens={self.max_tokens}, and nothing is cut; raise max_tokens, or "
                "lower model.max_pixels"
            )
        largest = max(map(self.writer.chat.token_count, conversation.task.images), default=0)
        if self.max_picture_tokens is not None and largest > self.max_picture_tokens:
            raise UserError(
                f"a picture takes {largest} tokens of sft.optimizer.micro_batch_tokens={self.max_picture_tokens}; "
                "raise that, or lower model.max_pixels"
            )
        self.rows += 1
        self.replies += written.replies
        self.tokens += sum(written.context_tokens)
        self.learned += written.learned_tokens
        self.longest = max(self.longest, longest)
        self.empty_thoughts += written.empty_thoughts
        if len(written.context_tokens) > 1:
            self.contexts.append(len(written.context_tokens))
        return written

    @property
    def in_words(self) -> str:
        parts = [
            f"{self.rows:,} conversations with {self.replies:,} replies to learn: {self.learned:,} of {self.tokens:,} "
            f"tokens, at most {self.longest:,} in a context"
        ]
        if self.contexts:
            parts.append(
                f"{len(self.contexts):,} of them in {sum(self.contexts):,} contexts, since the chat template writes "
                "earlier turns anew (without their thoughts)"
            )
        if self.empty_thoughts:
            parts.append(f"{self.empty_thoughts:,} replies without a thought, for which it writes an empty one")
        return "; ".join(parts)


def read_counted(data: Path, context: RecipeContext, count: ConversationCount) -> ConversationFile:
    """The conversations of a file. The log says how much is learned of them, and what is left out."""
    log_splits(data, context.split)
    with phase(lambda: f"reading {data}: {count.rows:,} conversations"):
        read = read_conversations(
            data,
            media=context.media,
            skip_bad_rows=context.skip_bad_rows,
            image_root=context.image_root,
            split=context.split,
            check=count.add,
        )
    logger.info("%s: %s", data, count.in_words)
    if read.left_out:
        logger.warning("%s: left out: %s", data, ", ".join(f"{what} ({rows} rows)" for what, rows in read.left_out))
    warn_of_bad_rows(data, read.skipped, len(read.conversations))
    return read


def token_lines(trajectory: Trajectory, chat: Chat) -> list[str]:
    """A conversation token by token, with ``·`` between them; lines that begin with ``>`` are learned."""
    lines = []
    for number, context in enumerate(trajectory.contexts, start=1):
        lines += [f"  context {number}:"] if len(trajectory.contexts) > 1 else []
        for segment in context:
            is_learned = segment.role == "action"
            lines.append(f"  {'>' if is_learned else ' '} {_tokens(segment, chat)}  [{len(segment.ids)}]")
    return lines


def _tokens(segment: Segment, chat: Chat) -> str:
    words: list[str] = []
    for token, run in groupby(segment.ids):
        count, text = len(list(run)), chat.tokenizer.decode([token])
        shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
        words += [f"{shown} x {count}"] if token == chat.image_token_id else [shown] * count
    return "·".join(words)
