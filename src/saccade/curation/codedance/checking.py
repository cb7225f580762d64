"""Cross-checking by a second model: verdicts of one word, asked for again when there is none, and counted."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from saccade.chat.chat_model import ChatModel
from saccade.curation.codedance import prompts
from saccade.curation.codedance.outcomes import Step, StepVerdict, Value
from saccade.curation.codedance.settings import CurationSettings
from saccade.curation.codedance.verdicts import read_boxes, read_verdict
from saccade.seeding import seed_for
from saccade.types import Message, Target, Task, Turn

SECOND_TRY_TEMPERATURE = 0.7
"""At 0 a model that gave no verdict would say the same again."""


@dataclass(kw_only=True)
class Checker:
    """Checks one question; ``verdicts`` holds what was found, in order."""

    teacher: ChatModel
    task: Task
    settings: CurationSettings
    seed: int
    verdicts: list[StepVerdict] = field(default_factory=list)

    async def image(self) -> Value:
        """Whether the question's image is rich enough."""
        return await self._verdict(
            "image", prompts.image_suitability(self.task), good=prompts.SUITABLE, bad=prompts.UNSUITABLE
        )

    async def question(self) -> Value:
        """Whether question and answer are worth training on."""
        return await self._verdict("question", prompts.question_quality(self.task), good=prompts.GOOD, bad=prompts.BAD)

    async def solution(self, turns: Sequence[Turn]) -> Value:
        """Whether the checker agrees with a solution."""
        messages = prompts.agreement(self.task, turns)
        return await self._verdict("solution", messages, good=prompts.AGREES, bad=prompts.DISAGREES)

    async def boxes(self) -> tuple[Target, ...]:
        """Where to look; empty when the reply cannot be read."""
        [reply] = await self._ask("boxes", prompts.locating(self.task), attempt=0)
        boxes = read_boxes(reply, self.task.images[0])
        self.verdicts.append(StepVerdict(step="boxes", value="none" if boxes is None else "good"))
        return boxes or ()

    async def _verdict(self, step: Step, messages: Sequence[Message], *, good: str, bad: str) -> Value:
        value: Value = "none"
        for attempt in range(self.settings.verdict_tries):
            [reply] = await self._ask(step, messages, attempt=attempt)
            verdict = read_verdict(reply, good=good, bad=bad)
            if verdict is not None:
                value = "good" if verdict else "bad"
                break
        self.verdicts.append(StepVerdict(step=step, value=value))
        return value

    async def _ask(self, step: Step, messages: Sequence[Message], *, attempt: int) -> Sequence[str]:
        return await self.teacher(
            messages,
            temperature=SECOND_TRY_TEMPERATURE if attempt else 0.0,
            samples=1,
            seed=seed_for(self.seed, "check", step, self.task.id, len(self.verdicts), attempt),
        )
