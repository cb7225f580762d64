"""Interactive families of the gym as worlds: ``gym:NAME``, with an expert to imitate and splits that share no picture.

A success pays 1: half for the progress towards the goal, action by action, and half for reaching it; all for reaching
it where a family counts no progress, or begins with all of it. Progress counts from where the episode began, and what
is undone is taken back, so that no way round in a circle pays.
"""

import functools
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError, nearest
from saccade.interop.environments.looking import look_interaction
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, StepResult, WorldObservation
from saccade.seeding import generator_for
from saccade.tasks.family_names import INTERACTIVE
from saccade.tasks.interaction import HasInteractionParts, Interaction, InteractionFunction, Move
from saccade.tasks.procedural import MAX_DRAWS, family_named, split_of_content

LOOK = "look/"
"""What stands before a family that is seen through a window."""
PROGRESS_SHARE = 0.5
"""What of an episode's reward is for progress; the rest is for its success."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class DrawnSource(EndlessSource):
    """An interactive family by its name, or a part of one: ``fill_form?clutter=0.2``."""

    name: str
    difficulty: float = 0.5
    has_captions: bool = False
    """Whether what a picture shows is said in words as well."""
    has_pictures: bool = True
    action_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.difficulty <= 1:
            raise UserError(f"difficulty={self.difficulty} must be from 0 to 1")
        if self.name.startswith(LOOK):
            family_named(self.name.removeprefix(LOOK))
        else:
            _interaction_function(self.name)

    def make(self) -> "DrawnWorld":
        return DrawnWorld(self)

    def interaction(self, episode: NumberedEpisode) -> Interaction:
        """The interaction of an episode: its beginning is in no other split."""
        wanted = "held_out" if episode.split == "test" else "train"
        if self.name.startswith(LOOK):
            return look_interaction(self.name.removeprefix(LOOK), wanted, episode.number, self.difficulty)
        draw = _interaction_function(self.name)
        rng = generator_for(0, "interaction", self.name, episode.split, episode.number)
        for _ in range(MAX_DRAWS):
            interaction = draw(rng, self.difficulty)
            if split_of_content(zlib.crc32(interaction.split_key)) == wanted:
                return interaction
        raise UserError(
            f"{self.name} has too few different beginnings for the split {wanted!r}; use a higher difficulty"
        )

    def demonstration(self, episode: NumberedEpisode, max_turns: int) -> Sequence[Move]:
        """What the expert does in an episode, to its end or for so many turns."""
        interaction, moves = self.interaction(episode), list[Move]()
        while len(moves) < max_turns:
            moves.append(interaction.next_move())
            if interaction.act(moves[-1].action).is_over:
                return moves
        _say_cut(self.name, max_turns)
        return moves


@functools.cache
def _say_cut(name: str, max_turns: int) -> None:
    """Once in a process, whichever episode it is of."""
    logger.warning(
        "the expert of gym:%s does not end every episode within max_turns=%d: those are imitated without their end; "
        "raise max_turns",
        name,
        max_turns,
    )


def _interaction_function(name: str) -> InteractionFunction:
    """The family of this name, or the part of one; ``UserError`` says which there are."""
    whole = name.partition("?")[0]
    draw = INTERACTIVE.get(whole)
    if draw is None:
        near = nearest(whole, tuple(INTERACTIVE))
        guess = f" Did you mean gym:{near}?" if near else ""
        raise UserError(
            f"no interactive family is called {whole!r}.{guess} There are {', '.join(INTERACTIVE)}, and "
            f"{LOOK}FAMILY for any other family, seen through a window"
        )
    return draw.part(name) if whole != name and isinstance(draw, HasInteractionParts) else draw


class DrawnWorld:
    """One interaction."""

    def __init__(self, source: DrawnSource) -> None:
        self._source = source
        self._interaction: Interaction | None = None
        self._start: float | None = None

    @property
    def rules(self) -> str:
        return self._now().actions

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        self._interaction = self._source.interaction(episode)
        self._start = self._interaction.progress()
        return self._shown(self._interaction.goal)

    def step(self, action: str) -> StepResult:
        interaction = self._now()
        before = interaction.progress()
        outcome = interaction.act(action)
        if outcome.invalid:
            return StepResult(invalid=outcome.invalid)
        after, share, gained = interaction.progress(), 0.0, 0.0
        if self._start is not None and self._start < 1 and before is not None and after is not None:
            share, gained = PROGRESS_SHARE, (after - before) / (1 - self._start)
        return StepResult(
            shown=self._shown(outcome.said),
            reward=share * gained + (1 - share) * outcome.is_success,
            terminated=outcome.is_over,
            success=outcome.is_success,
        )

    def close(self) -> None:
        self._interaction = None

    def _shown(self, said: str) -> WorldObservation:
        """What is said, the caption where one is wanted, and the picture."""
        now = self._now()
        text = "\n".join(filter(None, (said, now.caption() if self._source.has_captions else "")))
        return WorldObservation(text=text, pictures=(now.picture(),) if self._source.has_pictures else ())

    def _now(self) -> Interaction:
        assert self._interaction is not None, "reset comes first"
        return self._interaction
