"""Pages set by Typst, with the box of every marked element, in its own fonts alone.

The source marks an element by ``#el("id")[...]``; where each lies is asked of the layout itself.
"""

import io
import json
import math
from functools import cache
from typing import TYPE_CHECKING, cast

from PIL import Image

from saccade.geometry import Box
from saccade.gym.rendering import Rendering, SeenRegion

if TYPE_CHECKING:
    import typst

MODULES = ("typst",)
FACES = ("Libertinus Serif", "New Computer Modern", "DejaVu Sans Mono")
"""The fonts that Typst carries."""

PPI = 72
"""One point is one pixel."""

PREAMBLE = """
#let el(id, body) = box(inset: 0pt, {
  place(top + left, [#metadata((id, 0))<el>])
  set text(top-edge: "ascender", bottom-edge: "descender")
  body
  place(bottom + right, [#metadata((id, 1))<el>])
})
#context [#metadata(query(<el>).map(one => {
  let p = one.location().position()
  (..one.value, p.page, p.x.pt(), p.y.pt())
}))<places>]
"""


def set_pages(source: str, *, width: int, height: int | None, ppi: float = PPI) -> Rendering:
    """The pages of a source, ``width`` points wide; as high as their content where the height is None."""
    import typst

    tall = "auto" if height is None else f"{height}pt"
    text = f"#set page(width: {width}pt, height: {tall})\n{PREAMBLE}\n{source}".encode()
    # The stub knows of one page alone.
    made = cast("bytes | list[bytes]", typst.compile(text, format="png", ppi=ppi, font_paths=_fonts()))
    pages = made if isinstance(made, list) else [made]
    images = tuple(Image.open(io.BytesIO(page)).convert("RGB") for page in pages)
    found = json.loads(typst.query(text, "<places>", field="value", one=True, font_paths=_fonts()))
    return Rendering(images=images, regions=_regions(found, images, ppi / 72))


def _regions(
    places: list[tuple[str, int, int, float, float]], images: tuple[Image.Image, ...], scale: float
) -> tuple[SeenRegion, ...]:
    starts = {identity: (page, x, y) for identity, corner, page, x, y in places if corner == 0}
    ends = {identity: (page, x, y) for identity, corner, page, x, y in places if corner == 1}
    found = []
    for identity, (page, left, top) in starts.items():
        end_page, right, bottom = ends[identity]
        if page != end_page:
            continue
        box = Box(
            math.floor(left * scale), math.floor(top * scale), math.ceil(right * scale), math.ceil(bottom * scale)
        ).clipped(*images[page - 1].size)
        if box.is_ordered:
            found.append(SeenRegion(element=identity, box=box, image_index=page - 1))
    return tuple(found)


@cache
def _fonts() -> "typst.Fonts":
    import typst

    return typst.Fonts(include_system_fonts=False)


def set_words(words: str, style: str = "") -> str:
    """Words as they are, whatever they hold; ``style`` is the named arguments of Typst's ``text``."""
    said = json.dumps(words, ensure_ascii=False)
    return f"#text({style}, {said})" if style else f"#{said}"


def marked_words(identity: str, words: str, style: str = "") -> str:
    """Words as an element that the regions name."""
    return f"#el({json.dumps(identity)}, [{set_words(words, style)}])"
