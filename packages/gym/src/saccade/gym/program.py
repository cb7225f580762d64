"""Programs: questions about a state and its rendering, each with its answer and all that is known of it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeVar

from numpy.random import Generator

from saccade.gym.levels import Levels
from saccade.gym.rendering import Rendering
from saccade.gym.state import SceneState
from saccade.types import AnswerKind

Item = TypeVar("Item")
Answer = TypeVar("Answer")

ExpertKind = Literal["crop", "points", "boxes", "code", "glance"]
"""How an expert finds an answer: crops of the evidence in order, points on it, boxes around it, a run of Python, or
one look at the whole picture."""

UNANSWERABLE = "unanswerable"
"""The answer of a question that what the picture shows does not answer."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What a program may look at. Pictures are drawn when ``rendering`` is first asked for: look at the state first."""

    state: SceneState
    render: Callable[[], Rendering]
    rng: Generator
    levels: Levels
    coin: float
    """Chance in [0, 1) for the answer that is wanted: the same for one state after the other, so that answers which
    few states allow are not asked for less often."""

    @cached_property
    def rendering(self) -> Rendering:
        """The pictures of the state, with what they show where."""
        return self.render()

    def wanted(self, options: Sequence[Item]) -> Item:
        """The one of the options that the coin falls on."""
        return options[int(self.coin * len(options))]

    def with_wanted(self, answers: Sequence[Answer], items: Iterable[tuple[Answer, Item]]) -> Item | None:
        """One of the items, each named after its answer, whose answer is the wanted one of ``answers``.

        None where no item has it. All answers are asked for equally often, where states have each often enough: about
        one in fifty.
        """
        wanted = self.wanted(answers)
        found = [item for answer, item in items if answer == wanted]
        return found[int(self.rng.integers(len(found)))] if found else None

    @property
    def is_wanted(self) -> bool:
        """Whether what is asked should hold."""
        return self.coin < 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramQuestion:
    """A question that a program asks, without its wording."""

    answer: str
    words: Mapping[str, str] = field(default_factory=dict)
    """What the slots of the wordings mean here."""
    kind: AnswerKind = "exact"
    tolerance: float = 0.0
    accepted: tuple[str, ...] = ()
    """Other texts that are right too; the answer itself need not be said."""
    choices: tuple[str, ...] = ()
    """Options of a question of a closed set, the answer among them; the family shuffles them."""
    near: tuple[str, ...] = ()
    """Hard negatives: answers that are wrong, and that a careless look would give."""
    evidence: tuple[str, ...] = ()
    """Ids of elements that the answer depends on, in the order in which one looks at them."""
    conclusion: str = "clear now"
    """The expert's thought when it answers."""
    event_s: tuple[float, float] | None = None
    """For a video: start and end of the event that it asks about, in seconds."""
    code: str = ""
    """Python that prints the answer from the pixels of ``input_image``; empty where code makes no sense."""


Ask = Callable[[Asking], ProgramQuestion | None]
"""Finds a question in a state; None where this state has none that is sensible and unambiguous."""

Solve = Callable[[SceneState, Mapping[str, str]], str]
"""A second solver: answers from the state and the words of the question alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A sort of question."""

    name: str
    wordings: tuple[str, ...]
    """Paraphrases with ``{slots}``; none says the answer. Two at least."""
    ask: Ask
    solve: Solve | None = None
    falsify: Ask | None = None
    """Asks about what is not there; ``answer`` is not read. Without it, what the answer depends on is covered up."""
    axes: tuple[str, ...] = ()
    """Axes of difficulty that it reads itself."""
    experts: tuple[ExpertKind, ...] = ("crop", "points", "boxes")
    """The experts that make sense, the usual one first; "code" where ``ProgramQuestion.code`` is written."""
    spread: int = 1
    """Questions that are found before one is asked, in as many states: each of their answers is as likely, so that
    those which many states give are not asked for much more often."""


def with_article(words: str) -> str:
    """ "a" or "an" before words."""
    return f"{'an' if words[:1].lower() in tuple('aeiou') else 'a'} {words}"


_ARTICLE = re.compile(r"\b([Aa]) \{(\w+)\}")


def sentence(wording: str, words: Mapping[str, str]) -> str:
    """A wording with its slots filled; "a" before a slot is "an" where the word begins with a vowel."""

    def article(match: re.Match[str]) -> str:
        return f"{match[1]}{with_article(words[match[2]]).partition(' ')[0][1:]} {{{match[2]}}}"

    return _ARTICLE.sub(article, wording).format(**words)


def program(
    *wordings: str,
    name: str = "",
    solve: Solve | None = None,
    falsify: Ask | None = None,
    axes: tuple[str, ...] = (),
    experts: tuple[ExpertKind, ...] = ("crop", "points", "boxes"),
    spread: int = 1,
) -> Callable[[Ask], Program]:
    """Makes the program of the function that asks, under its own name or another: the words stand beside it."""

    def asked_by(ask: Ask) -> Program:
        return Program(
            name=name or ask.__name__.lstrip("_"),
            wordings=wordings,
            ask=ask,
            solve=solve,
            falsify=falsify,
            axes=axes,
            experts=experts,
            spread=spread,
        )

    return asked_by
