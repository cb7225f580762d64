"""Copy the example pictures out of the installed scikit-image and scikit-learn into ``images/``.

    python examples/photos/make_photos.py

Nothing is downloaded. ``questions.jsonl`` was written for exactly these pictures, so their pixels are compared with the
hashes below: a later release of a package may have replaced one.
"""

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import skimage
import sklearn
from PIL import Image
from sklearn.datasets import load_digits

from saccade.media import decode_image, image_hash

HERE = Path(__file__).parent
SKIMAGE = Path(skimage.__file__).parent / "data"
SKLEARN = Path(sklearn.__file__).parent / "datasets" / "images"

PIXEL_HASHES: dict[str, str] = {
    "astronaut.png": "f40e174100232718",
    "brick.png": "ca97d530fa1574f3",
    "camera.png": "7018e2a69f932d39",
    "cell.png": "007ccb6d2099a93c",
    "chelsea.png": "1c6a694dfcc44c0d",
    "chessboard_RGB.png": "1902b3a6291aaca4",
    "china.jpg": "9eb3d50b5e8b3633",
    "coffee.png": "f43ec406c4aa10b0",
    "coins.png": "27bd8ee438a3b203",
    "color.png": "1eca721e7640959a",
    "digits.png": "73580fe852a8db6b",
    "flower.jpg": "4754a9a48f12a78b",
    "horse.png": "4f499f5c22abf215",
    "hubble_deep_field.jpg": "2d3d343485bd7f63",
    "ihc.png": "187e35cc3faf1bec",
    "logo.png": "44fa4fc354d648e7",
    "moon.png": "9896e4b3333301dd",
    "motorcycle_left.png": "d56d490d13749e37",
    "page.png": "1c0b13b85a0824d8",
    "phantom.png": "7d3e5dfa34268d1a",
    "retina.jpg": "b0353c51f1f30bca",
    "rocket.jpg": "302a769c7f264d2d",
}  # fmt: skip
"""File to the first characters of ``saccade.media.store.image_hash``."""

FIRST_DIGIT, DIGITS_PER_ROW, CELL_PX, MARGIN_PX = 1020, 5, 96, 7


def digit_sheet() -> Image.Image:
    """Two rows of five handwritten digits, scans of 8 x 8 px enlarged twelve times."""
    scans = load_digits().images[FIRST_DIGIT : FIRST_DIGIT + 2 * DIGITS_PER_ROW]
    pitch = CELL_PX + 2 * MARGIN_PX
    sheet = Image.new("L", (DIGITS_PER_ROW * pitch, 2 * pitch), 255)
    for index, scan in enumerate(scans):
        grey = Image.fromarray((255 - scan * 255 / 16).astype(np.uint8))
        cell = grey.resize((CELL_PX, CELL_PX), Image.Resampling.BICUBIC)
        row, column = divmod(index, DIGITS_PER_ROW)
        sheet.paste(cell, (column * pitch + MARGIN_PX, row * pitch + MARGIN_PX))
    return sheet


def make_photos(directory: Path) -> list[str]:
    """Write every picture; the names of those whose pixels are not the expected ones."""
    directory.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, expected in PIXEL_HASHES.items():
        target = directory / name
        if name == "digits.png":
            digit_sheet().save(target)
        else:
            source = SKIMAGE / name if (SKIMAGE / name).is_file() else SKLEARN / name
            shutil.copyfile(source, target)
        if not image_hash(decode_image(target.read_bytes(), name)).startswith(expected):
            changed.append(name)
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=HERE / "images", help="folder to write to")
    out = parser.parse_args().out
    changed = make_photos(out)
    sys.stdout.write(f"{len(PIXEL_HASHES)} pictures in {out}\n")
    if changed:
        sys.exit(f"not the pictures that the questions were written for: {', '.join(changed)}")


if __name__ == "__main__":
    main()
