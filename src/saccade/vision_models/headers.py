"""A line of text above a picture: how Pix2Struct models are told what to do.

transformers draws it too, but with a font that it downloads.
"""

import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from saccade.errors import UserError

TEXT_SIZE_PX = 36
MARGIN_PX = 5
LINE_CHARS = 80

Font = ImageFont.FreeTypeFont


def header_font(path: Path | None) -> Font:
    """The font of a file (the published models saw Arial), or the one that comes with Pillow."""
    if path is None:
        font = ImageFont.load_default(TEXT_SIZE_PX)
        if not isinstance(font, ImageFont.FreeTypeFont):
            raise UserError('this Pillow is built without FreeType; give a font, as in font = "Arial.ttf"')
        return font
    try:
        return ImageFont.truetype(str(path), encoding="UTF-8", size=TEXT_SIZE_PX)
    except OSError as error:
        raise UserError(f"font {path} cannot be read: {error}; give a TrueType file") from error


def with_header(image: Image.Image, text: str, font: Font) -> Image.Image:
    """The picture below its text; the narrower of the two is enlarged to the width of the other."""
    header = _drawn("\n".join(textwrap.wrap(text, LINE_CHARS)), font)
    width = max(header.width, image.width)
    height = int(image.height * (width / image.width))
    header_height = int(header.height * (width / header.width))
    whole = Image.new("RGB", (width, header_height + height), "white")
    whole.paste(header.resize((width, header_height)), (0, 0))
    whole.paste(image.resize((width, height)), (0, header_height))
    return whole


def _drawn(text: str, font: Font) -> Image.Image:
    _, _, right, bottom = ImageDraw.Draw(Image.new("RGB", (1, 1))).textbbox((0, 0), text, font=font)
    picture = Image.new("RGB", (int(right + 2 * MARGIN_PX), int(bottom + 2 * MARGIN_PX)), "white")
    ImageDraw.Draw(picture).text((MARGIN_PX, MARGIN_PX), text, fill="black", font=font)
    return picture
