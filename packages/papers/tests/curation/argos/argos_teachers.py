"""Teachers of Argos' curation for tests: what they say of drawn plates, which they know by their pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saccade.errors import MachineError
from saccade.gym.pointing import pointed
from saccade.media.store import MediaStore
from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier
from saccade.tasks.procedural import generate
from saccade.types import Answer, Example, ImageRef, Message

Say = Callable[[Example, int], str]
"""Reply to a question, for each of the samples."""


def plates(count: int, media: MediaStore, family: str = "plate_mark") -> list[Example]:
    """Questions about plates with experts that point."""
    return [pointed(generate(family, split="train", index=index, seed=0, media=media)) for index in range(count)]


def pictures_in(messages: Sequence[Message]) -> list[ImageRef]:
    return [part for message in messages for part in message.parts if isinstance(part, ImageRef)]


def words_in(messages: Sequence[Message]) -> str:
    return "\n".join(part for message in messages for part in message.parts if isinstance(part, str))


@dataclass
class PlateTeacher:
    """Says for each question and sample what it is told to; ``down`` calls, counted from 0, find it broken."""

    examples: Sequence[Example]
    say: Say
    down: Callable[[int], bool] = lambda _: False
    calls: int = 0
    asked: int = 0

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        number, self.calls = self.calls, self.calls + 1
        if self.down(number):
            raise MachineError("the server is down")
        self.asked += 1
        shown = pictures_in(messages)[0]
        [example] = [one for one in self.examples if one.task.images[0] == shown]
        return [self.say(example, sample) for sample in range(samples)]


def thought_of(example: Example) -> str:
    return example.turns[0].thought


def answer_of(example: Example) -> str:
    action = example.turns[0].action
    assert isinstance(action, Answer)
    return action.text


def told(example: Example, *, thought: str | None = None, answer: str | None = None) -> str:
    """The expert's turn, or another one's."""
    said = thought_of(example) if thought is None else thought
    return f"<think>{said}</think><answer>{answer_of(example) if answer is None else answer}</answer>"


def exact_reward() -> ArgosReward:
    return ArgosReward(reasoning_weight=0.0, verifier=Verifier(regions=ExactRegions()))
