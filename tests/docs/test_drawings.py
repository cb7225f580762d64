"""Texts of the drawings in concepts.md fit into their boxes in DejaVu Sans, the widest of the usual fonts."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import pytest
from PIL import ImageFont

from places import ROOT

DRAWINGS = ROOT / "docs" / "drawings"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["episode", "training", "rewards", "fleet"])
def test_texts_stay_inside_their_boxes(name: str) -> None:
    drawing = (DRAWINGS / f"{name}.svg").read_text(encoding="utf-8")
    root, [small] = ET.fromstring(drawing), re.findall(r"\.small { font-size: (\d+)px", drawing)
    boxes = [[float(one.get(key, "0")) for key in ("x", "y", "width", "height")] for one in root.iter(f"{SVG}rect")]
    outside = []
    for text in root.iter(f"{SVG}text"):
        head = text.get("class") == "head"
        font = ImageFont.truetype(
            str(FONTS / ("DejaVuSans-Bold.ttf" if head else "DejaVuSans.ttf")), 14 if head else int(small)
        )
        width, x, y = font.getlength(text.text or ""), float(text.get("x", "0")), float(text.get("y", "0"))
        left = x if text.get("text-anchor") == "start" else x - width / 2
        around = [one for one in boxes if one[0] <= x <= one[0] + one[2] and one[1] <= y <= one[1] + one[3]]
        inner = around[-1]  # drawn last, on top
        if left < inner[0] or left + width > inner[0] + inner[2]:
            outside.append(text.text)
    assert outside == []
