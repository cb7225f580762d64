"""A judge that sees: does a crop show the plate that the question names? One verdict in ten is turned round.

``look_closer`` with it, for ``rl.evidence.form=judged`` (TAPO's form) without a vision-language model: it counts the
plate's pixels in the crop, and knows neither the plate's place nor the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.config import RecipeContext
from saccade.media import MediaStore
from saccade.miniature.look_closer import look_closer
from saccade.rewards.judges.evidence_judge import EvidenceJudge
from saccade.rewards.judges.llm_judge import JudgeClient
from saccade.seeding import generator_for
from saccade.tasks.drawing import COLOURS
from saccade.train import Plan
from saccade.types import ImageRef, Message

PLATE_PX, TEXTURE, WRONG = 48, 44, 0.1
"""Side of a plate, the step of its texture's brightness, and the share of wrong verdicts."""


@dataclass(frozen=True, kw_only=True)
class ColourJudge:
    """A ``ChatModel`` that says YES where nine tenths of a plate of the named colour are in the last picture."""

    media: MediaStore
    seed: int

    async def __call__(
        self, messages: Sequence[Message], *, temperature: float, samples: int, seed: int
    ) -> Sequence[str]:
        text = "".join(part for part in messages[-1].parts if isinstance(part, str))
        [colour] = re.findall(r"on the (\w+) plate", text)
        pictures = [part for part in messages[-1].parts if isinstance(part, ImageRef)]
        shows = any(self.pixels(one, colour) >= 0.9 * PLATE_PX**2 for one in pictures)
        is_wrong = generator_for(self.seed, "verdict", seed).random() < WRONG
        return ["YES" if shows != is_wrong else "NO"] * samples

    def pixels(self, picture: ImageRef, colour: str) -> int:
        """How many of a picture have the colour, made brighter or darker by a texture or not."""
        offsets = np.asarray(self.media.get(picture).convert("RGB"), np.int16) - np.asarray(COLOURS[colour], np.int16)
        steps = np.asarray((-TEXTURE, 0, TEXTURE))[:, None, None, None]
        return int((np.abs(offsets - steps) < 12).all(axis=-1).any(axis=0).sum())


def judged(context: RecipeContext) -> Plan:
    """The recipe with verdicts on its crops."""
    asking = JudgeClient(model=ColourJudge(media=context.media, seed=context.seed), seed=context.seed)
    return look_closer(context).with_evidence_judge(EvidenceJudge(asking=asking))
