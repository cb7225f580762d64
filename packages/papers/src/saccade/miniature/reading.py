"""Experts that read drawn pages: they look, they look at what does not help, or they guess; and rules that curate them.

A looking expert thinks of each image which head it has, then says of each plate its mark and its place, in short
sentences that begin with the image's number. ``RULES`` rewrites such sentences as linguistic tools, as a curator would.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numpy.random import Generator

from saccade.curation.linguistic_tools import ReasonedTrajectory, RuleCurator, written_reply
from saccade.gym.drawn.plates import MARKS
from saccade.miniature.pages import AskedPages
from saccade.miniature.schedules import check_shares
from saccade.protocols import ChainCall, LinguisticTool, LinguisticToolbox
from saccade.protocols.described import described_parts, described_thought
from saccade.protocols.toolchain import chain_thought
from saccade.tasks.scene import place_of
from saccade.types import Answer, Example, ExpertTurn

ReadingHabit = Literal["look", "idle", "guess"]


@dataclass(frozen=True, kw_only=True)
class GoldLessons:
    """Demonstrations that are shown gold pages alone."""

    until: float = 0.45
    """Share of the imitation steps before which all are: which of a page's plates is meant is learned sooner where
    there are fewer of them."""
    share: float = 0.25
    """Share of the demonstrations from then on."""

    def check(self) -> None:
        check_shares(self, "until", "share")

    def applies(self, draw: float, progress: float) -> bool:
        """Whether a demonstration is one of them, from a number in 0..1 drawn at random."""
        return progress < self.until or draw < self.share


TOOLS = {
    tool.name: tool
    for tool in (
        LinguisticTool("read_head", "Read the colours of a page's head.", "Image k"),
        LinguisticTool("locate_plate", "Say where on the page the plate of a colour lies.", "Image k: colour"),
        LinguisticTool("read_mark", "Read the mark on the plate of a colour.", "Image k: colour"),
        LinguisticTool("note_ground", "Say what colour the page is where nothing is printed.", "Image k"),
        LinguisticTool("repeat_question", "Say again what is asked for.", "Image k"),
        LinguisticTool("guess_mark", "Take a mark without looking.", "Image k"),
    )
}
"""Tools that the rules know; which of them reach a toolbox depends on what a policy does."""

OPENINGS = {
    "read_head": "Head of Image",
    "locate_plate": "Place on Image",
    "read_mark": "Mark on Image",
    "note_ground": "Ground of Image",
    "repeat_question": "Asked of Image",
    "guess_mark": "Guess on Image",
}
"""How a sentence begins that says what a tool finds: "Mark on Image 2: red, white". The number, what is asked and the
finding come in the order of a tool's tag, so that a small model's skill carries over to it."""

_SENTENCES = {
    name: re.compile(rf"{opening} (?P<args>\d+(?:: [a-z]+)?), (?P<found>[a-z ]+)") for name, opening in OPENINGS.items()
}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers of images, each right behind the head that it was read from: what a small model copies best."""


def read_by(asked: AskedPages, habit: ReadingHabit, chance: Generator) -> Example:
    """The question as an expert of this habit answers it; one whose page was not brought can only guess."""
    images = [asked.image_of(one) for one in asked.sought]
    if habit == "guess" or None in images:
        return _guess(asked, chance)
    numbers = [image for image in images if image is not None]
    sentences = [
        sentence
        for place, (image, one) in enumerate(zip(numbers, asked.sought))
        for sentence in (
            [
                finding_sentence("note_ground", image, "grey"),
                finding_sentence("repeat_question", image, one.plate.colour),
            ]
            if habit == "idle"
            else [
                *(
                    [finding_sentence("read_head", image, " ".join(asked.document.pages[one.page].head))]
                    if _is_new(numbers, place)
                    else []
                ),
                # The mark first: behind a place that is wrong, a small model reads the mark there.
                finding_sentence("read_mark", image, one.plate.mark, one.plate.colour),
                finding_sentence("locate_plate", image, place_of(one.plate.box.center), one.plate.colour),
            ]
        )
    ]
    seen = [] if habit == "idle" else [f"{head} {word}" for word, head in zip(_NUMBERS, _heads(asked))]
    return _answer_turn(asked, numbers, sentences, asked.task.answer, seen)


def in_tools(example: Example) -> Example:
    """The same with each sentence of the description as the use of a tool."""
    turns = []
    for turn in example.turns:
        think, description = described_parts(turn.thought)
        turns.append(replace(turn, thought=chain_thought(think, sentence_calls(description))))
    return replace(example, turns=tuple(turns))


def _guess(asked: AskedPages, chance: Generator) -> Example:
    answers, count = (("yes", "no"), 1) if len(asked.sought) == 3 else (tuple(MARKS), len(asked.sought))
    marks = [answers[int(chance.integers(len(answers)))] for _ in range(count)]
    image = int(chance.integers(len(asked.shown))) + 1
    return _answer_turn(
        asked, [image], [finding_sentence("guess_mark", image, mark) for mark in marks], " and ".join(marks)
    )


def _heads(asked: AskedPages) -> list[str]:
    return [" ".join(asked.document.pages[page].head) for page in asked.shown]


def _answer_turn(
    asked: AskedPages, images: Sequence[int], sentences: Sequence[str], answer: str, seen: Sequence[str] = ()
) -> Example:
    """A turn that thinks of what each image is, as far as it was ``seen``, and ends its thought with ``images``."""
    named = [f"Image {image}." for image in dict.fromkeys(images)]
    if seen:
        heads = [asked.document.pages[page].head for page in dict.fromkeys(one.page for one in asked.sought)]
        words = [_NUMBERS[image - 1] for image in dict.fromkeys(images)]
        named = [f"Headed {' '.join(head)} {word}: {one}" for head, word, one in zip(heads, words, named)]
    think = " ".join([*([f"Heads: {', '.join(seen)}."] if seen else []), *named])
    thought = described_thought(think, " ".join(f"{sentence}." for sentence in sentences))
    return Example(task=asked.task, turns=(ExpertTurn(thought=thought, action=Answer(text=answer)),))


def _is_new(numbers: Sequence[int], place: int) -> bool:
    return numbers[place] not in numbers[:place]


def finding_sentence(tool: str, image: int, finding: str, asked: str = "") -> str:
    """The sentence that a tool rewrites, without its full stop."""
    return f"{OPENINGS[tool]} {image}{asked and f': {asked}'}, {finding}"


def sentence_calls(reasoning: str) -> list[ChainCall]:
    """The sentences that are known, as uses of tools; others are passed over."""
    calls = []
    for sentence in reasoning.split("."):
        for name, pattern in _SENTENCES.items():
            if (read := pattern.fullmatch(sentence.strip())) is not None:
                calls.append(ChainCall(name=name, args=f"Image {read['args']}", finding=read["found"]))
    return calls


def _curator_reply(trajectory: ReasonedTrajectory, pool: LinguisticToolbox) -> str:
    calls = sentence_calls(trajectory.reasoning)
    new = dict.fromkeys(call.name for call in calls if call.name not in pool)
    return written_reply(calls, [TOOLS[name] for name in new])


RULES = RuleCurator(_curator_reply)
"""Stands for the policy as its own curator, which so small a model cannot be."""
