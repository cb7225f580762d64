"""How much the result of each call raised the probability of the right answer: was the call necessary?

For a call with result z after the context c, p(a | c, z) - p(a | c, z0): the probabilities that the policy itself gives
to the right answer a if it answers at once, on the result, and on an empty one of the same form (no text, pictures of
the same sizes in grey). p is the geometric mean over the tokens of a, so a gain lies between -1 and 1.

It is the probe of TACO's differential reward (arXiv 2606.30251), of probabilities where the paper samples an answer
before and after the call. Thought and call stand before both probabilities: an answer that is written there raises
neither above the other. What a call prints without looking at the picture raises the gain like evidence does; that is
told apart by what its output depends on (``SEEN``).
"""

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from PIL import Image

from saccade.engines.engine import Engine, ScoreRequest
from saccade.errors import SaccadeError
from saccade.media.store import MediaStore
from saccade.models.chat import Chat
from saccade.protocols.protocol import ChatProtocol
from saccade.types import GAIN, Answer, ExpertTurn, ImageRef, Segment, Task, Tokens, Trajectory, Turn

GREY = (128, 128, 128)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class CallProbe:
    """Asks an engine for the gains of a trajectory's calls."""

    protocol: ChatProtocol
    media: MediaStore

    async def probed(self, task: Task, trajectory: Trajectory, *, engine: Engine, chat: Chat) -> Trajectory:
        """The trajectory with a ``GAIN`` in the data of each result that has one.

        None has: a call that failed, one after which a new context began, and any call of a question whose right
        answer is boxes or cannot be written in the protocol.
        """
        answer = self._answer_ids(task, chat)
        if answer is None:
            return trajectory
        with self._grey_pictures(trajectory) as grey:
            asked = {
                place: requests
                for place, turn in enumerate(trajectory.turns)
                if (requests := self._requests(task, trajectory, place, turn, chat, answer, grey)) is not None
            }
            scores = iter(await engine.score_batch([one for pair in asked.values() for one in pair]) if asked else ())
        turns = list(trajectory.turns)
        for place, result in ((place, turns[place].result) for place in asked):
            gain = _probability(next(scores), answer[1]) - _probability(next(scores), answer[1])
            if result is not None:
                turns[place] = replace(turns[place], result=replace(result, data={**result.data, GAIN: gain}))
        return replace(trajectory, turns=tuple(turns))

    def _answer_ids(self, task: Task, chat: Chat) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Ids of the beginning of a turn that answers without a thought, and of the right answer."""
        gold = task.answer.strip()
        if not gold or task.answer_kind in ("boxes", "click"):
            return None
        try:
            before, _, _ = self.protocol.write(ExpertTurn(thought="", action=Answer(text=gold))).rpartition(gold)
            return chat.encode(before), tuple(chat.tokenizer.encode(gold, add_special_tokens=False))
        except SaccadeError as error:
            logger.debug("calls of %s have no gain: %s", task.id, error)
            return None

    def _requests(
        self,
        task: Task,
        trajectory: Trajectory,
        place: int,
        turn: Turn,
        chat: Chat,
        answer: tuple[tuple[int, ...], tuple[int, ...]],
        grey: dict[ImageRef, ImageRef],
    ) -> tuple[ScoreRequest, ScoreRequest] | None:
        """The right answer after the result, and after an empty one."""
        if turn.result is None or not turn.result.is_ok or turn.observation is None:
            return None
        found = _context_of(trajectory, place)
        if found is None:
            return None
        before, shown = found
        images_before = len(task.images) + sum(len(one.result.images) for one in trajectory.turns[:place] if one.result)
        pictures = tuple(grey[image] for image in turn.result.images)
        empty = self.protocol.observe(replace(turn.result, text="", images=pictures), images_before)
        for ends_with_eos in (False, True):
            # The suffix begins with the end of the turn, unless that was sampled.
            if chat.observation(turn.observation, ends_with_eos=ends_with_eos).ids == shown.ids:
                without = chat.observation(empty, ends_with_eos=ends_with_eos)
                return _request(before, shown.ids, shown.images, answer), _request(
                    before, without.ids, without.images, answer
                )
        return None

    @contextmanager
    def _grey_pictures(self, trajectory: Trajectory) -> Iterator[dict[ImageRef, ImageRef]]:
        """A grey picture of the size of each that a call returned; other trajectories are probed meanwhile."""
        results = [turn.result for turn in trajectory.turns if turn.result is not None]
        shown = list(dict.fromkeys(image for result in results for image in result.images))
        with self.media.lent(Image.new("RGB", (one.width, one.height), GREY) for one in shown) as grey:
            yield dict(zip(shown, grey, strict=True))


def _context_of(trajectory: Trajectory, turn: int) -> tuple[Tokens, Segment] | None:
    """What stands before the observation of a turn in its context, and the observation; None where a new one began."""
    for context in trajectory.contexts:
        for place, segment in enumerate(context):
            if segment.role == "observation" and segment.turn == turn:
                before = context[:place]
                ids = tuple(token for one in before for token in one.ids)
                return Tokens(ids=ids, images=tuple(image for one in before for image in one.images)), segment
    return None


def _request(
    before: Tokens, ids: Sequence[int], images: Sequence[ImageRef], answer: tuple[tuple[int, ...], tuple[int, ...]]
) -> ScoreRequest:
    text = (*ids, *answer[0], *answer[1])
    # What stands before the result is forwarded once for both. A text that is scored has no pictures in it.
    start = len(before.ids) + (len(text) - len(answer[1]) if images else 0)
    return ScoreRequest(ids=(*before.ids, *text), images=(*before.images, *images), start=start)


def _probability(logprobs: Sequence[float], answer: Sequence[int]) -> float:
    """Of the answer, with which the scored text ends."""
    logprobs = logprobs[-len(answer) :]
    return math.exp(math.fsum(logprobs) / len(logprobs))
