"""What is said at the start of a run on thoughts of earlier turns, where its settings and the chat template differ."""

import logging
from collections.abc import Iterable

from saccade.models.chat_history import TemplateHistory
from saccade.rollout.episodes import EpisodeSpec

logger = logging.getLogger(__name__)


def tell_of_old_thoughts(episodes: Iterable[EpisodeSpec], history: TemplateHistory) -> None:
    """One line where the template leaves out thoughts that episodes keep, one where there is nothing to leave out."""
    forgotten, kept = False, False
    for one in episodes:
        forgets = (one.max_turns > 1 and history.forgets_after_tools) or (
            one.rollout.few_shot > 0 and history.forgets_after_questions
        )
        forgotten |= forgets and not one.rollout.drops_old_thoughts
        kept |= not forgets and one.rollout.drops_old_thoughts
    if forgotten:
        logger.warning(
            "the chat template leaves out what was thought in earlier turns; here it stays as it was sampled "
            "(rollout.drops_old_thoughts=true leaves it out, and the next turn begins a new context)"
        )
    if kept:
        logger.warning(
            "rollout.drops_old_thoughts=true changes nothing in these episodes: the chat template keeps what was "
            "thought in their turns%s",
            " until the user asks again" if history.forgets_after_questions else "",
        )
