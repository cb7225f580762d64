"""Makes ``typefaces.npz`` of the readers: how characters of common typefaces look in small diagrams.

    python benchmarks/diagram_typefaces.py

Needs the DejaVu and Liberation fonts. The reader compares what is printed with these pictures and with Pillow's type.
"""

from pathlib import Path

import numpy as np
from PIL import ImageFont

from saccade.readers.diagrams.ink import CHARACTERS, printed_character, square

FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Italic.ttf",
    "LiberationSans-Regular.ttf",
    "LiberationSerif-Regular.ttf",
    "LiberationSerif-Italic.ttf",
)
SIZE_PX = 26
TARGET = Path("packages/readers/src/saccade/readers/diagrams/typefaces.npz")


def main() -> None:
    """Writes the pictures with their characters."""
    names, pictures = [], []
    for font in FONTS:
        for name in CHARACTERS:
            names.append(name)
            pictures.append(square(printed_character(name, ImageFont.truetype(font, SIZE_PX), SIZE_PX, 1.0)))
    # From -1 to 1 in bytes: likeness needs no more.
    scaled = np.round(127 * np.stack(pictures) / np.abs(pictures).max()).astype(np.int8)
    np.savez_compressed(TARGET, names=np.array(names), pictures=scaled)
    print(f"{len(names)} pictures, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
