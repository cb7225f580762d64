"""Continuing a sequence: the check that what a slot is given goes on from what it has seen."""

from collections.abc import Sequence
from typing import Protocol

from saccade.engines.engine import Sampling
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef


class ImageTokens(Protocol):
    """Counts of image tokens, for the check that every placeholder has its image."""

    def count_in(self, ids: Sequence[int]) -> int: ...

    def count_of(self, image: ImageRef) -> int: ...


class Placeholders:
    """``ImageTokens`` of a model."""

    def __init__(self, model: VisionLanguageModel) -> None:
        self._image_token_id = model.image_token_id
        self.count_of = model.view.token_count

    def count_in(self, ids: Sequence[int]) -> int:
        return ids.count(self._image_token_id)


class Seen(Protocol):
    """A slot of some engine, by what it was given and has sampled."""

    @property
    def label(self) -> str: ...

    @property
    def ids(self) -> Sequence[int]: ...

    @property
    def images(self) -> Sequence[ImageRef]: ...


def check_continues(
    slot: Seen,
    ids: Sequence[int],
    images: Sequence[ImageRef],
    sampling: Sampling,
    *,
    seed: int | None,
    image_tokens: ImageTokens,
) -> None:
    """ValueError when they do not extend what was there before, or images do not match their placeholders.

    ``seed`` is that of the turns before, None before the first.
    """
    held, held_images = (0, 0) if sampling.begins_anew else (len(slot.ids), len(slot.images))
    extends = list(ids[:held]) == list(slot.ids[:held]) and list(images[:held_images]) == list(
        slot.images[:held_images]
    )
    if not ids or not extends:
        raise ValueError(f"sequence {slot.label!r} must extend the {held} tokens before it")
    fresh, fresh_images = ids[held:], images[held_images:]
    expected = sum(image_tokens.count_of(image) for image in fresh_images)
    if image_tokens.count_in(fresh) != expected:
        raise ValueError(
            f"sequence {slot.label!r}: {image_tokens.count_in(fresh)} image tokens for {len(fresh_images)} images of "
            f"{expected} tokens"
        )
    if sampling.max_tokens < 1 or seed not in (None, sampling.seed):
        raise ValueError(
            f"sequence {slot.label!r}: max_tokens={sampling.max_tokens} must be positive and seed={sampling.seed} "
            f"the same in every turn (was {seed})"
        )
