"""Write one contact sheet per task family, so that a person can check what the program draws.

Each cell shows a task's picture as it is and with its targets (white box, black point, tinted mask) and what the
expert looks at (red), then the question, the answer and the expert's turns.

    python benchmarks/task_sheet.py --out sheets --samples 9
    python benchmarks/task_sheet.py --out sheets --samples 4 --families video_event --difficulties 0 0.5 1
"""

import argparse
import json
import textwrap
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.tasks.procedural import FAMILIES, generate
from saccade.types import Answer, Example, Target, ToolCall

GAP_PX = 8
LINE_PX = 17
TEXT_LINES = 9
FONT = ImageFont.load_default(size=13)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for <family>.png")
    parser.add_argument("--samples", type=int, default=9, help="tasks per family")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--difficulties", nargs="+", type=float, default=[0.0, 0.5, 1.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=int, default=1, help="enlarge the pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for family in options.families:
        cells = []
        for index in range(options.samples):
            difficulty = options.difficulties[index % len(options.difficulties)]
            media = MediaStore()
            example = generate(
                family, split="train", index=index, seed=options.seed, media=media, difficulty=difficulty
            )
            cells.append(_cell(example, media, options.scale))
        path = options.out / f"{family}.png"
        _grid(cells, columns=len(options.difficulties)).save(path)
        print(path)


def _cell(example: Example, media: MediaStore, scale: int) -> Image.Image:
    """The pictures, the marked pictures below them, and the words below those."""
    pictures = [media.get(ref) for ref in example.task.images]
    marked = [_marked(picture, example, number) for number, picture in enumerate(pictures)]
    rows = [[*pictures, *marked]] if len(pictures) == 1 else [pictures, marked]
    shrink = max(1, len(pictures) // 3)
    width_px = 256 * scale // shrink
    wide = max(len(row) for row in rows) * (width_px + GAP_PX)
    tall = len(rows) * (width_px + GAP_PX)
    cell = Image.new("RGB", (wide, tall + TEXT_LINES * LINE_PX), "white")
    for y, row in enumerate(rows):
        for x, picture in enumerate(row):
            sized = picture.resize((width_px, width_px), Image.Resampling.BOX if scale == 1 else 0)
            cell.paste(sized, (x * (width_px + GAP_PX), y * (width_px + GAP_PX)))
    drawing = ImageDraw.Draw(cell)
    lines = [line for text in _words(example) for line in textwrap.wrap(text, wide // 7)]
    for i, line in enumerate(lines[:TEXT_LINES]):
        drawing.text((0, tall + i * LINE_PX), line, fill="black", font=FONT)
    return cell


def _words(example: Example) -> list[str]:
    task = example.task
    event = f" event {task.event_s} s" if task.event_s else ""
    texts = [
        f"{task.id}",
        f"Q: {task.question}",
        f"A: {task.answer} ({task.answer_kind}, tolerance {task.tolerance}){event}",
    ]
    for turn in example.turns:
        action = turn.action
        assert isinstance(action, ToolCall | Answer)
        said = f"{action.name} {json.dumps(action.arguments)}" if isinstance(action, ToolCall) else action.text
        texts.append(f"- {turn.thought}: {said}")
    return texts


def _marked(picture: Image.Image, example: Example, number: int) -> Image.Image:
    """A copy with the targets of this image and the places that the expert's calls name."""
    image = picture.copy()
    for target in example.task.targets:
        if target.image_index == number:
            image = _with_target(image, target)
    drawing = ImageDraw.Draw(image)
    for turn in example.turns:
        if not isinstance(turn.action, ToolCall) or turn.action.arguments.get("image", 1) != number + 1:
            continue
        numbers = json.loads(json.dumps(turn.action.arguments))
        if "bbox_2d" in numbers:
            drawing.rectangle(numbers["bbox_2d"], outline=(255, 0, 0))
        if "start" in numbers:
            drawing.line([*numbers["start"], *numbers["end"]], fill=(255, 0, 0))
        for box in numbers.get("boxes", []):
            drawing.rectangle(box, outline=(255, 0, 0))
        for x, y in numbers.get("points", []):
            drawing.ellipse([x - 3, y - 3, x + 3, y + 3], outline=(255, 0, 0))
    return image


def _with_target(image: Image.Image, target: Target) -> Image.Image:
    pixels = np.asarray(image).copy()
    if target.mask is not None:
        inside = target.mask.to_array()
        pixels[inside] = pixels[inside] // 2 + np.array([127, 127, 0], dtype=np.uint8)
    marked = Image.fromarray(pixels)
    drawing = ImageDraw.Draw(marked)
    drawing.rectangle(_inclusive(target.box), outline="white")
    x, y = target.point.x, target.point.y
    drawing.ellipse([x - 2, y - 2, x + 2, y + 2], fill="black")
    return marked


def _inclusive(box: Box) -> list[float]:
    return [box.x1, box.y1, box.x2 - 1, box.y2 - 1]


def _grid(cells: list[Image.Image], columns: int) -> Image.Image:
    width = max(cell.width for cell in cells) + GAP_PX
    height = max(cell.height for cell in cells) + GAP_PX
    rows = -(-len(cells) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), (200, 220, 200))
    for i, cell in enumerate(cells):
        sheet.paste(cell, ((i % columns) * width, i // columns * height))
    return sheet


if __name__ == "__main__":
    main()
