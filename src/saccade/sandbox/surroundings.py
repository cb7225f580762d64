"""What code finds when it starts: its folder, its images, notebook functions, seeds."""

import builtins
import os
import random
import sys
import tempfile
import types
from typing import NoReturn

import cv2
import numpy as np
from PIL import Image

from saccade.sandbox import displays
from saccade.sandbox.capture import UNREADABLE, Gallery


class RefusedError(Exception):
    """An image cannot be read; says why."""


def furnish(
    module: types.ModuleType, gallery: Gallery, *, work: str, temporary: str, images: list[str], seed: int
) -> None:
    """Makes the module ``__main__``, in the folder ``work``; RefusedError for files that are no images."""
    os.chdir(work)
    os.environ.update(HOME=work, TMPDIR=temporary, PWD=work)
    tempfile.tempdir = temporary
    space = module.__dict__
    sys.modules["__main__"] = module
    space["display"] = displays.install(gallery)
    # Modules that the model writes into its folder can be imported.
    sys.path.insert(0, "")
    # Of the task's own code nothing can be imported, not even what the runner itself is made of.
    for name in [name for name in sys.modules if name.partition(".")[0] == "saccade"]:
        del sys.modules[name]
    builtins.input = _no_input
    builtins.exit = builtins.quit = _leave  # type: ignore[assignment]  # of `site`, which is not loaded
    try:
        decoded = [_decoded(name) for name in images]
    except (*UNREADABLE, MemoryError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    if decoded:
        space["input_image"] = decoded[0]
        space["input_images"] = decoded
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    cv2.setRNGSeed(seed % (1 << 31))


def _decoded(name: str) -> Image.Image:
    image: Image.Image = Image.open(name)
    image.load()
    # Read whole, its file is closed; a copy of what is RGB already would double the memory of every session.
    if image.mode == "RGB":
        return image
    with image:
        return image.convert("RGB")


def _no_input(prompt: object = "") -> str:
    raise EOFError("input() has nobody to answer it here: put the value into the code")


def _leave(code: object = None) -> NoReturn:
    raise SystemExit(code)
