from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from saccade.testing.tiny_specialists import save_tiny

Checkpoints = Callable[[str], Path]


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    """The directory of a tiny checkpoint by its kind, saved once."""
    root, saved = tmp_path_factory.mktemp("checkpoints"), {}

    def checkpoint(kind: str) -> Path:
        if kind not in saved:
            saved[kind] = save_tiny(kind, root / kind)
        return saved[kind]

    return checkpoint


@pytest.fixture(scope="session")
def picture() -> Image.Image:
    image = Image.new("RGB", (160, 120), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((20, 20, 80, 90), fill="red")
    draw.ellipse((100, 40, 150, 90), fill="blue")
    return image
