"""What is benchmarked: one reinforcement step of a fixed shape, every number of which follows from labels."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from PIL import Image

from saccade.bench.work import StepWork
from saccade.errors import UserError
from saccade.media.resize import smart_resize
from saccade.seeding import generator_for

WorkloadName = Literal["single", "multi"]

IMAGE_FACTOR = 28
"""Pixels along one side of an image token: patches of 14, merged 2 by 2, as Qwen2.5-VL has them."""
MIN_PIXELS = 56 * 56
MAX_PIXELS = 4096 * IMAGE_FACTOR**2

_SEED = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """A step: ``prompts`` questions about one image each, ``group_size`` trajectories to a question.

    Every turn has exactly ``turn_tokens`` tokens, the end-of-turn token included. In all turns but the last the model
    crops a region of its own out of the image and is shown it.
    """

    name: str
    turns: int
    prompt_tokens: int
    """Tokens of the whole opening, image tokens included."""
    observation_tokens: int = 0
    """From after the model's end-of-turn token to where it may speak again, image tokens included."""
    prompts: int = 4
    group_size: int = 8
    turn_tokens: int = 64
    image_px: int = 224
    """Side of the square image of a question."""
    crop_px: int = 112
    """Side of the square region that the tool gives back."""

    def check(self) -> None:
        """Raises UserError for a step that cannot be built."""
        for name in ("turns", "prompts", "image_px", "crop_px"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)} must be 1 or more")
        if self.group_size < 2:
            raise UserError(f"group_size={self.group_size} leaves nothing to compare inside a group; use 2 or more")
        if self.crop_px >= self.image_px:
            raise UserError(f"crop_px={self.crop_px} must be below image_px={self.image_px}, so that crops can differ")

    @property
    def trajectories(self) -> int:
        return self.prompts * self.group_size

    @property
    def unique_work(self) -> StepWork:
        """A step in which nothing is done twice; a prompt is trained on once per group.

        The last token of a turn is forwarded together with the observation that follows it, so it counts as prefilled.
        """
        shown = self.turns - 1
        images = self.prompts + self.trajectories * shown
        prompts = self.prompts * self.prompt_tokens
        return StepWork(
            images_preprocessed=images,
            images_encoded_rollout=images,
            images_encoded_training=images,
            tokens_prefilled=prompts + self.trajectories * shown * (self.observation_tokens + 1),
            tokens_decoded=self.trajectories * self.turns * (self.turn_tokens - 1),
            tokens_trained=prompts
            + self.trajectories * (self.turns * self.turn_tokens + shown * self.observation_tokens),
        )

    def picture(self, step: int, prompt: int) -> Image.Image:
        """The image of a question: blocks of random colours, another one in every step."""
        noise = generator_for(_SEED, "picture", step, prompt).integers(0, 256, size=(16, 16, 3), dtype=np.uint8)
        coarse = Image.fromarray(noise, "RGB")
        return coarse.resize((self.image_px, self.image_px), Image.Resampling.BICUBIC)

    def corner(self, step: int, prompt: int, sample: int, turn: int) -> tuple[int, int]:
        """(left, top) of the region that is cropped; no two of a question are the same."""
        free = self.image_px - self.crop_px + 1
        chosen = generator_for(_SEED, "corners", step, prompt).permutation(free * free)
        place = int(chosen[sample * (self.turns - 1) + turn])
        return place % free, place // free

    def reward(self, step: int, prompt: int, sample: int) -> float:
        """Between 0 and 100, so that the floors that frameworks put under a standard deviation do not show."""
        return float(100.0 * generator_for(_SEED, "reward", step, prompt, sample).random())


def image_tokens(side_px: int) -> int:
    """Tokens of a square image."""
    width, height = smart_resize(side_px, side_px, factor=IMAGE_FACTOR, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS)
    return (width // IMAGE_FACTOR) * (height // IMAGE_FACTOR)


WORKLOADS: dict[WorkloadName, Workload] = {
    "single": Workload(name="single", turns=1, prompt_tokens=101),
    "multi": Workload(name="multi", turns=3, prompt_tokens=596, observation_tokens=68),
}
"""A question answered at once, and one answered after two looks; the lengths are those of docs/results.md."""


def with_image(workload: Workload, image_px: int) -> Workload:
    """The workload with images of another size; crops keep half their side, texts their length."""
    crop_px = image_px // 2
    grown = workload.observation_tokens + image_tokens(crop_px) - image_tokens(workload.crop_px)
    return replace(
        workload,
        image_px=image_px,
        crop_px=crop_px,
        prompt_tokens=workload.prompt_tokens + image_tokens(image_px) - image_tokens(workload.image_px),
        observation_tokens=grown if workload.turns > 1 else 0,
    )
