"""What a model is shown of an episode: a context that grows turn by turn, and now and then a new one."""

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from saccade.envs.environment import Environment
from saccade.envs.wrapped import new_context
from saccade.errors import MachineError
from saccade.models.chat import Chat
from saccade.rollout.episodes import EpisodeSpec
from saccade.types import ImageRef, Message, Observation, Segment, Tokens

if TYPE_CHECKING:
    from saccade.models.chat_history import TemplateHistory

logger = logging.getLogger(__name__)


class Contexts:
    """The contexts of one episode, whose environment has been reset.

    A new one begins where the environment says so, or where ``drops_old_thoughts`` and the chat template leaves out a
    thought that the present one shows. It is the template's own text then; else nothing that was said is written again.
    One begins as well where a turn was ended by another token than the template's own (``Chat.replaces``).
    """

    def __init__(self, chat: Chat, env: Environment, *, drops_old_thoughts: bool) -> None:
        self._chat = chat
        self._env = env
        self._history = _History(chat, env.prompt) if drops_old_thoughts else None

    def prompt(self) -> Tokens:
        """The opening of the first."""
        return self._chat.conversation(self._env.prompt) if self._history is None else self._history.prompt()

    def after(
        self, said: str, *, turn: int, ends_with_eos: bool, ids: Sequence[int] = (), images: Sequence[ImageRef] = ()
    ) -> Segment:
        """What is shown after a turn: an observation that follows it, or the prompt of a new context.

        ``ids`` and ``images`` are all of the present context: where the turn was ended by another token than the
        template's own, they begin the new one without it.
        """
        opening = new_context(self._env)
        if opening is not None:
            shown = self._chat.prompt(opening)
            self._history = None if self._history is None else _History(self._chat, opening)
            return Segment(role="prompt", turn=turn + 1, ids=shown.ids, images=shown.images)
        seen = self._env.turns[-1].observation
        if seen is None:
            raise MachineError(f"the environment went on after turn {len(self._env.turns)} but showed nothing")
        anew = None if self._history is None else self._history.new_context(said, seen)
        if anew is not None:
            return Segment(role="prompt", turn=turn + 1, ids=anew.ids, images=anew.images)
        is_replaced = self._chat.replaces(ids)
        shown = self._chat.observation(seen, ends_with_eos=ends_with_eos and not is_replaced)
        if is_replaced:
            whole = (*ids[:-1], *shown.ids), (*images, *shown.images)
            return Segment(role="prompt", turn=turn + 1, ids=whole[0], images=whole[1])
        return Segment(role="observation", turn=turn, ids=shown.ids, images=shown.images)


class _History:
    """The messages of the present context, for a template that leaves thoughts out of earlier turns."""

    def __init__(self, chat: Chat, messages: Sequence[Message]) -> None:
        self._written = chat.history
        self._messages = list(messages)
        self._shown = list(self._written.kept_thoughts(messages))
        """Whether the context shows what was thought in each of the assistant's turns."""

    def prompt(self) -> Tokens:
        """The messages as the template writes them."""
        return self._written.prompt(self._messages)

    def new_context(self, said: str, seen: Observation) -> Tokens | None:
        """The prompt of a new context where the template now leaves out a thought that the present one shows."""
        words = (seen.text,) if seen.text else ()
        self._messages.append(Message(role="assistant", parts=(said,)))
        self._messages.append(Message(role="tool", parts=(*seen.images, *words)))
        # Of a turn that never ended its thought templates leave out nothing.
        self._shown.append("</think>" in said)
        kept = self._written.kept_thoughts(self._messages)
        if not any(was and not stays for was, stays in zip(self._shown, kept, strict=True)):
            return None
        self._shown = list(kept)
        return self.prompt()


def tell_of_old_thoughts(episodes: Iterable[EpisodeSpec], history: "TemplateHistory") -> None:
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
