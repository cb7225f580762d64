"""World: one episode at a time of somebody else's environment, played by actions in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from PIL import Image

from saccade.characters import whole_characters
from saccade.errors import UserError
from saccade.seeding import seed_for
from saccade.types import Task

Split = Literal["train", "test"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldObservation:
    """Observation of a foreign environment: text and pictures, in that order."""

    text: str = ""
    pictures: tuple[Image.Image, ...] = ()

    def __post_init__(self) -> None:
        # What an environment says goes to a tokenizer and into files.
        object.__setattr__(self, "text", whole_characters(self.text))


@dataclass(frozen=True, kw_only=True, slots=True)
class StepResult:
    """Result of one action.

    ``invalid`` says why an action was none of the environment's, which has then not moved: ``shown`` is not read.
    """

    shown: WorldObservation = WorldObservation()
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    """Whether the environment itself calls the episode a success; None where it does not say."""
    invalid: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "invalid", whole_characters(self.invalid))


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberedEpisode:
    """An episode that can be begun again: its number inside a split."""

    number: int
    split: Split = "train"

    def seed(self, name: str) -> int:
        """A seed of 31 bits for environments that are seeded: the same episode of the same name, the same seed."""
        return seed_for(0, "episode", name, self.split, self.number) & 0x7FFFFFFF


class World(Protocol):
    """One foreign environment. It is played by one thread at a time; what it raises is the machine's failure."""

    @property
    def rules(self) -> str:
        """Rules and actions, as a model is told them; known after ``reset``."""
        ...

    def reset(self, episode: NumberedEpisode) -> WorldObservation: ...

    def step(self, action: str) -> StepResult: ...

    def close(self) -> None: ...


class WorldSource(Protocol):
    """A named environment, of which any number of worlds can be made."""

    @property
    def name(self) -> str: ...

    def make(self) -> World:
        """A world of its own; ``UserError`` for settings that it refuses."""
        ...

    def count(self, split: Split) -> int | None:
        """How many episodes the split has; None without an end."""
        ...

    def actions(self) -> tuple[str, ...]:
        """All actions in words, where they are few; empty where they are free text."""
        ...


class EndlessSource:
    """Base of sources whose episodes have no end, and whose actions are texts, of which the user may name some."""

    action_names: tuple[str, ...] = ()

    def count(self, split: Split) -> int | None:
        return None

    def actions(self) -> tuple[str, ...]:
        return self.action_names


def episode_task(name: str, episode: NumberedEpisode) -> Task:
    """The episode as a task: what is asked of the model stands in the environment's own words in the prompt."""
    return Task(
        id=f"{name}/{episode.split}#{episode.number}",
        family=name,
        question=f"Episode {episode.number} of {name} ({episode.split}).",
        answer="",
        answer_kind="exact",
        images=(),
        source="environment",
    )


def episode_of_task(task: Task) -> NumberedEpisode:
    """The inverse of ``episode_task``; UserError for any other task."""
    head, _, number = task.id.rpartition("#")
    split = head.rpartition("/")[2]
    if not number.isdecimal() or split not in ("train", "test"):
        raise UserError(f"task {task.id!r} is no episode of an environment; make it by episode_task(name, episode)")
    return NumberedEpisode(number=int(number), split="train" if split == "train" else "test")


def action_named(text: str, actions: Sequence[str]) -> int | None:
    """Index of the action that the text names, without regard to case, spaces, hyphens and underscores."""
    wanted = _plain(text)
    return next((index for index, action in enumerate(actions) if _plain(action) == wanted), None)


def no_such_action(text: str, actions: Sequence[str]) -> StepResult:
    """The result of a text that names no action; the text is cut, since it is a model's."""
    return StepResult(invalid=f"there is no action {text[:40]!r}; the actions are {', '.join(actions)}")


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
