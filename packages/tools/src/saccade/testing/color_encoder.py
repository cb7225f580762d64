"""An encoder of pages that needs no model: it knows colours by their names, which is enough to search drawn pages."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.vision_models.kinds import PageVectors

COLORS: Mapping[str, tuple[int, int, int]] = {
    "red": (220, 30, 30),
    "green": (30, 160, 60),
    "blue": (40, 60, 220),
    "yellow": (230, 210, 40),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}


class ColorEncoder:
    """A vector for each patch of a page and for each word of a question that names a colour.

    A patch is most like the word for the colour that is nearest to its mean.
    """

    def __init__(self, *, grid: int = 4, identity: str = "colors") -> None:
        self._grid = grid
        self._identity = identity
        self.pages = 0
        """So many were encoded."""

    @property
    def identity(self) -> str:
        return f"{self._identity}:{self._grid}"

    @property
    def dimension(self) -> int:
        return len(COLORS)

    def encode_pages(self, images: Sequence[Image.Image]) -> Sequence[PageVectors]:
        self.pages += len(images)
        return [PageVectors(vectors=self._patches(image), grid=(self._grid, self._grid), first=1) for image in images]

    def encode_questions(self, texts: Sequence[str]) -> Sequence[NDArray[np.float32]]:
        """A question without a colour has one vector, which is like no page more than another."""
        return [self._words(text) for text in texts]

    def _patches(self, image: Image.Image) -> NDArray[np.float32]:
        """The patches behind a vector for the page as a whole."""
        small = np.asarray(image.convert("RGB").resize((self._grid, self._grid), Image.Resampling.BOX), np.float32)
        known = np.array(list(COLORS.values()), dtype=np.float32)
        away = np.linalg.norm(small.reshape(-1, 1, 3) - known, axis=2)
        like = np.exp(-away / 40)
        like = np.concatenate([like.mean(axis=0, keepdims=True), like])
        patches: NDArray[np.float32] = (like / np.linalg.norm(like, axis=1, keepdims=True)).astype(np.float32)
        return patches

    def _words(self, text: str) -> NDArray[np.float32]:
        named = [list(COLORS).index(word) for word in text.lower().replace("?", " ").split() if word in COLORS]
        none = np.full((1, len(COLORS)), len(COLORS) ** -0.5, dtype=np.float32)
        return np.eye(len(COLORS), dtype=np.float32)[named] if named else none
