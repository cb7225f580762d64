"""The folder of a curation, as every command of ``saccade curate`` uses it."""

import hashlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from saccade.chat.connect import ChatServerSettings
from saccade.config.settings import to_json
from saccade.curation.journal import Journal, Kept
from saccade.types import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Outcome = TypeVar("Outcome", bound=Kept)

PICTURES = ".pictures"
"""Where pictures of a run lie on disk, for they are many; the folder is hidden and goes in the end."""

logger = logging.getLogger(__name__)


def deciding(settings: "DataclassInstance", server: ChatServerSettings) -> dict[str, Json]:
    """The settings that decide what is asked and kept; how fast one asks decides nothing."""
    values = to_json(settings)
    values["server"] = {"max_tokens": server.max_tokens, "extra_body": server.extra_body}
    del values["questions_at_once"]
    return values


def digest(lines: Iterable[str]) -> str:
    """SHA-256 of what is worked on, so that a changed file of questions is noticed when resumed."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", errors="replace")).hexdigest()


def telling(journal: Journal[Outcome], total: int, is_kept: Callable[[Outcome], bool]) -> Callable[[Outcome], None]:
    """Says every twentieth of the way how far it is."""

    def tell(_: Outcome) -> None:
        done = len(journal.outcomes)
        if done % max(1, total // 20) == 0:
            kept = sum(is_kept(outcome) for outcome in journal.outcomes.values())
            logger.info("%d of %d questions, %d kept", done, total, kept)

    return tell


def remove_pictures(out: Path) -> None:
    """Deletes the pictures that only the run itself needed."""
    directory = out / PICTURES
    for picture in directory.glob("*.png"):
        picture.unlink(missing_ok=True)
    if directory.is_dir():
        directory.rmdir()
