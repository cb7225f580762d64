"""Character error rates of the text reader on pages that are upright, turned, noisy and in columns, beside its engine.

    python benchmarks/ocr_pages.py --out ocr_pages.json
    python benchmarks/ocr_pages.py --chromium chromium --engine --turns 0 3 10

Pages are drawn by Pillow and, where a Chromium is named, from HTML by it. The engine alone is RapidOCR with its own
settings and classifier, its lines in the order in which it gives them. An error rate is the edit distance to the text
in reading order over that text's length, both without white space.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from saccade.readers.text.rapid import RapidReader
from saccade.tasks.drawing import font

PROSE = """The harbour master keeps a ledger of 1,248 boats. Each line holds a name, a berth and the date on which it
was last seen. On 31/12/2025 the storm took seven of them, and the quay was closed for nine days. Repairs cost $46,300,
which the town paid in three parts. In spring the fishermen came back, and by May all berths but four were let again.
Visitors may walk the pier from 8:30 to 19:00; dogs are welcome on a lead. Tickets are sold at gate B."""
FIELDS = (
    ("Invoice", "No. 20417"), ("Date", "31/12/2025"), ("Due", "14/01/2026"), ("Items", "36"), ("Subtotal", "$1,204.50"),
    ("Tax", "$96.36"), ("Total", "$1,300.86"), ("Contact", "office@quay.example"),
)  # fmt: skip
TURNS = (0, 3, -3, 10, 45, 90, 180, 270)

Reader = Callable[[Image.Image], str]


def wrapped(words: list[str], letters: int) -> list[str]:
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > letters:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def prose(columns: int) -> tuple[Image.Image, str]:
    """A heading over one to three columns of prose."""
    width, letters = (760, 66) if columns == 1 else (900, 72 // columns)
    image = Image.new("RGB", (width, 520), "white")
    draw = ImageDraw.Draw(image)
    draw.text((40, 24), "Notes from the harbour, winter 2025", fill="black", font=font(26))
    lines = wrapped(PROSE.split(), letters)
    each = -(-len(lines) // columns)
    for number, line in enumerate(lines):
        column, row = divmod(number, each)
        draw.text((40 + column * (width - 60) // columns, 90 + 32 * row), line, fill="black", font=font(18))
    return image, "Notes from the harbour, winter 2025 " + PROSE


def form() -> tuple[Image.Image, str]:
    image = Image.new("RGB", (640, 420), "white")
    draw = ImageDraw.Draw(image)
    for number, (name, value) in enumerate(FIELDS):
        draw.text((50, 40 + 42 * number), name, fill="black", font=font(20))
        draw.text((300, 40 + 42 * number), value, fill="black", font=font(20))
    return image, " ".join(f"{name} {value}" for name, value in FIELDS)


def by_chromium(program: str, columns: int) -> tuple[Image.Image, str]:
    """The same prose as a web page in a serif type."""
    html = (
        "<body style='margin:30px;background:white;font:20px Liberation Serif'><h2>Notes from the harbour</h2>"
        f"<div style='columns:{columns};column-gap:50px;text-align:justify'>{PROSE}</div></body>"
    )
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder) / "page.html", Path(folder) / "page.png"
        page.write_text(html, encoding="utf-8")
        command = [program, "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=900,560"]
        subprocess.run([*command, f"--screenshot={picture}", f"file://{page}"], check=True, capture_output=True)
        return Image.open(picture).convert("RGB").copy(), "Notes from the harbour " + PROSE


def turned(page: Image.Image, degrees: float) -> Image.Image:
    return page.rotate(-degrees, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)


def noisy(page: Image.Image) -> Image.Image:
    """Grey paper, a soft focus and the grain of a poor scan."""
    grain = np.random.default_rng(7).normal(0, 18, (page.height, page.width, 1))
    soft = np.asarray(page.filter(ImageFilter.GaussianBlur(0.8))).astype(float)
    return Image.fromarray(np.clip(soft * 0.8 + 30 + grain, 0, 255).astype(np.uint8))


@cache
def engine() -> object:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1})


def engine_alone(page: Image.Image) -> str:
    found = engine()(np.asarray(page)[:, :, ::-1].copy())  # type: ignore[operator]
    return " ".join(getattr(found, "txts", None) or ())


def distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(b, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != other))
    return row[-1]


def error_rate(read: str, truth: str) -> float:
    wanted = "".join(truth.split())
    return min(1.0, distance("".join(read.split()), wanted) / len(wanted))


def pages(chromium: str | None) -> dict[str, tuple[Image.Image, str]]:
    drawn = {"prose": prose(1), "two columns": prose(2), "three columns": prose(3), "form": form()}
    if chromium:
        drawn |= {"web page": by_chromium(chromium, 1), "web page, two columns": by_chromium(chromium, 2)}
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chromium")
    parser.add_argument("--engine", action="store_true", help="the engine alone too, which takes most of the time")
    parser.add_argument("--turns", type=float, nargs="+", default=TURNS)
    parser.add_argument("--out", type=Path)
    request = parser.parse_args()
    reader = RapidReader()
    readers: dict[str, Reader] = {"reader": lambda page: " ".join(line.text for line in reader.read(page))}
    if request.engine:
        readers["engine alone"] = engine_alone
    for read in readers.values():
        read(Image.new("RGB", (64, 64), "white"))
    found: list[dict[str, object]] = []
    for name, (page, truth) in pages(request.chromium).items():
        cases = {f"turned by {degrees:g}": turned(page, degrees) for degrees in request.turns}
        cases |= {"noisy": noisy(page), "noisy, turned by 3": turned(noisy(page), 3)}
        for case, picture in cases.items():
            row: dict[str, object] = {"page": name, "case": case}
            for who, read in readers.items():
                started = time.process_time()
                text = read(picture)
                row |= {
                    who: round(error_rate(text, truth), 3),
                    f"{who}, CPU s": round(time.process_time() - started, 2),
                }
            found.append(row)
            print(json.dumps(row), flush=True)
    for who in readers:
        rates = [float(str(row[who])) for row in found]
        print(f"{who}: mean character error rate {sum(rates) / len(rates):.3f} over {len(rates)} pages")
    if request.out is not None:
        request.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
