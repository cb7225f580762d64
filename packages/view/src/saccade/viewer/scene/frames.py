"""The frame in which a model wrote coordinates, worked out from what it wrote and what was made of it.

Records have both: the numbers in the turn's own text, and the pixels of the original that the protocol made of them.
"""

import math
from collections.abc import Sequence

from saccade.types import ImageRef

_TOLERANCE_PX = 1.01


def frame_words(written: Sequence[float], pixels: Sequence[float], image: ImageRef) -> str:
    """``pixels``, ``0 to 1000``, ``0 to 1``, or ``pixels of a view of 448 × 224``; ``unknown frame`` if none fits."""
    sides = [image.width, image.height] * (len(written) // 2)
    if _fits(written, pixels, [1.0] * len(written)):
        return "pixels"
    for whole, words in ((1000.0, "0 to 1000"), (1.0, "0 to 1")):
        if _fits(written, pixels, [side / whole for side in sides]):
            return words
    across, down = _scale(written[0::2], pixels[0::2]), _scale(written[1::2], pixels[1::2])
    if across is None or down is None or not _fits(written, pixels, [across, down] * (len(written) // 2)):
        return "unknown frame"
    return f"pixels of a view of {round(image.width / across)} × {round(image.height / down)}"


def _fits(written: Sequence[float], pixels: Sequence[float], scales: Sequence[float]) -> bool:
    return all(abs(one * scale - pixel) <= _TOLERANCE_PX for one, pixel, scale in zip(written, pixels, scales))


def _scale(written: Sequence[float], pixels: Sequence[float]) -> float | None:
    """Pixels of the original per unit written, from the largest number, which tells it best."""
    largest = max(range(len(written)), key=lambda at: abs(written[at]))
    if not written[largest]:
        return None
    scale = pixels[largest] / written[largest]
    return scale if math.isfinite(scale) and scale > 0 else None
