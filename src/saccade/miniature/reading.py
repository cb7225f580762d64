"""Experts that read drawn pages: they look, they look at what does not help, or they guess; and rules that curate them.

A looking expert thinks of each image which head it has, then says of each plate its place and its mark, in short
sentences that begin with the image's number. ``RULES`` rewrites such sentences as linguistic tools, as a curator would.
"""

import re
from collections.abc import Sequence
from typing import Literal

from numpy.random import Generator

from saccade.curation.linguistic_tools import ReasonedTrajectory, RuleCurator, written_reply
from saccade.miniature.pages import AskedPages
from saccade.protocols import ChainCall, LinguisticTool, LinguisticToolbox
from saccade.protocols.described import described_thought
from saccade.tasks.families.plates import MARKS
from saccade.tasks.scene import place_of
from saccade.types import Answer, Example, ExpertTurn

ReadingHabit = Literal["look", "idle", "guess"]

TOOLS = {
    tool.name: tool
    for tool in (
        LinguisticTool("read_head", "Read the colours of a page's head.", "Image k: head"),
        LinguisticTool("locate_plate", "Say where on the page the plate of a colour lies.", "Image k: colour"),
        LinguisticTool("read_mark", "Read the mark on the plate of a colour.", "Image k: colour"),
        LinguisticTool("note_ground", "Say what colour the page is where nothing is printed.", "Image k: ground"),
        LinguisticTool("repeat_question", "Say again what is asked for.", "Image k: question"),
        LinguisticTool("guess_mark", "Take a mark without looking.", "Image k: guess"),
    )
}
"""Tools that the rules know; which of them reach a toolbox depends on what a policy does."""

_SENTENCES = {
    "read_head": re.compile(r"Image (\d+): head (?P<found>[a-z]+ [a-z]+)"),
    "locate_plate": re.compile(r"Image (\d+): find (?P<asked>[a-z]+) (?P<found>[a-z]+ [a-z]+)"),
    "read_mark": re.compile(r"Image (\d+): mark (?P<asked>[a-z]+) (?P<found>[a-z]+)"),
    "note_ground": re.compile(r"Image (\d+): ground (?P<found>[a-z]+)"),
    "repeat_question": re.compile(r"Image (\d+): asked (?P<found>[a-z]+)"),
    "guess_mark": re.compile(r"Image (\d+): guess (?P<found>[a-z]+)"),
}
_FIXED = {"read_head": "head", "note_ground": "ground", "repeat_question": "question", "guess_mark": "guess"}


def read_by(asked: AskedPages, habit: ReadingHabit, chance: Generator) -> Example:
    """The question as an expert of this habit answers it; one whose page was not brought can only guess."""
    images = [asked.image_of(one) for one in asked.sought]
    if habit == "guess" or None in images:
        return _guessed(asked, chance)
    numbers = [image for image in images if image is not None]
    said = [
        sentence
        for place, (image, one) in enumerate(zip(numbers, asked.sought))
        for sentence in (
            [f"Image {image}: ground grey", f"Image {image}: asked {one.plate.colour}"]
            if habit == "idle"
            else [
                *(
                    [f"Image {image}: head {' '.join(asked.document.pages[one.page].head)}"]
                    if _is_new(numbers, place)
                    else []
                ),
                f"Image {image}: find {one.plate.colour} {place_of(one.plate.box.center)}",
                f"Image {image}: mark {one.plate.colour} {one.plate.mark}",
            ]
        )
    ]
    seen = [] if habit == "idle" else [f"Image {at}: {head}" for at, head in enumerate(_heads(asked), 1)]
    return _answered(asked, numbers, said, asked.task.answer, seen)


def _guessed(asked: AskedPages, chance: Generator) -> Example:
    marks = [list(MARKS)[int(chance.integers(len(MARKS)))] for _ in asked.sought]
    image = int(chance.integers(len(asked.shown))) + 1
    return _answered(asked, [image], [f"Image {image}: guess {mark}" for mark in marks], " and ".join(marks))


def _heads(asked: AskedPages) -> list[str]:
    return [" ".join(asked.document.pages[page].head) for page in asked.shown]


def _answered(
    asked: AskedPages, images: Sequence[int], said: Sequence[str], answer: str, seen: Sequence[str] = ()
) -> Example:
    """A turn that thinks of what each image is, as far as it was ``seen``, and ends its thought with ``images``."""
    think = " ".join([*(f"{one}." for one in seen), *(f"Image {image}." for image in dict.fromkeys(images))])
    thought = described_thought(think, " ".join(f"{sentence}." for sentence in said))
    return Example(task=asked.task, turns=(ExpertTurn(thought=thought, action=Answer(text=answer)),))


def _is_new(numbers: Sequence[int], place: int) -> bool:
    return numbers[place] not in numbers[:place]


def sentence_calls(reasoning: str) -> list[ChainCall]:
    """The sentences that are known, as uses of tools; others are passed over."""
    calls = []
    for sentence in reasoning.split("."):
        for name, pattern in _SENTENCES.items():
            if (read := pattern.fullmatch(sentence.strip())) is not None:
                asked = _FIXED.get(name) or read["asked"]
                calls.append(ChainCall(name=name, args=f"Image {read[1]}: {asked}", finding=read["found"]))
    return calls


def _curated(trajectory: ReasonedTrajectory, pool: LinguisticToolbox) -> str:
    calls = sentence_calls(trajectory.reasoning)
    new = dict.fromkeys(call.name for call in calls if call.name not in pool)
    return written_reply(calls, [TOOLS[name] for name in new])


RULES = RuleCurator(_curated)
"""Stands for the policy as its own curator, which so small a model cannot be."""
