"""What other environments call an observation, as text and pictures."""

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from saccade.interop.environments.world import WorldObservation

LEAST_SIDE_PX = 16
"""An array smaller than this is an encoding (MiniGrid's 7 x 7 x 3), not a picture."""
MOST_NUMBERS = 32
"""An observation of at most so many numbers is shown as text."""
CHANNELS = (1, 3, 4)


def shown_from(observation: object, *, with_pictures: bool = True) -> WorldObservation:
    """Texts of the observation, by name where its parts have names, and its pictures.

    Pictures are PIL images and uint8 arrays of height x width x channels, or channels x height x width, with sides of
    at least ``LEAST_SIDE_PX``. A named row of few numbers is text, as ``pos: [0, 1]``; other small arrays and single
    numbers are where there is no other text and no picture; large arrays say nothing.
    """
    texts: list[str] = []
    pictures: list[Image.Image] = []
    _gather(observation, "", texts, pictures)
    if not texts and not pictures:
        texts += _numbers(observation)
    return WorldObservation(text="\n".join(texts), pictures=tuple(pictures) if with_pictures else ())


def picture_of(array: np.ndarray) -> Image.Image | None:
    """The array as a picture; None where it is none."""
    if array.dtype != np.uint8 or array.ndim not in (2, 3):
        return None
    drawn = array
    if array.ndim == 3 and array.shape[2] not in CHANNELS:
        if array.shape[0] not in CHANNELS:
            return None
        drawn = np.moveaxis(array, 0, 2)
    if min(drawn.shape[:2]) < LEAST_SIDE_PX:
        return None
    squeezed = drawn[..., 0] if drawn.ndim == 3 and drawn.shape[2] == 1 else drawn
    return Image.fromarray(np.ascontiguousarray(squeezed)).convert("RGB")


def _gather(part: object, name: str, texts: list[str], pictures: list[Image.Image]) -> None:
    if isinstance(part, str):
        texts.append(f"{name}: {part}" if name else part)
    elif isinstance(part, Image.Image):
        pictures.append(part.convert("RGB"))
    elif isinstance(part, np.ndarray):
        if (drawn := picture_of(part)) is not None:
            pictures.append(drawn)
        elif name and part.ndim == 1 and 0 < part.size <= MOST_NUMBERS:
            texts.append(f"{name}: {part.tolist()}")
    elif isinstance(part, Mapping):
        for key, value in part.items():
            _gather(value, str(key), texts, pictures)
    elif isinstance(part, Sequence):
        for value in part:
            _gather(value, name, texts, pictures)


def _numbers(observation: object) -> list[str]:
    if isinstance(observation, np.ndarray) and observation.size > MOST_NUMBERS:
        return []
    if isinstance(observation, Mapping):
        return [line for key, value in observation.items() for line in _value_lines(str(key), value)]
    return _value_lines("observation", observation)


def _value_lines(name: str, value: object) -> list[str]:
    if isinstance(value, np.ndarray):
        return [f"{name}: {value.tolist()}"] if value.size <= MOST_NUMBERS else []
    if isinstance(value, bool | int | float | np.generic):
        return [f"{name}: {value}"]
    if isinstance(value, Sequence) and len(value) <= MOST_NUMBERS:
        return [f"{name}: {', '.join(str(one) for one in value)}"]
    return []
