"""A sheet of samples of families, to be looked at: pictures with their questions, answers and evidence.

python benchmarks/contact_sheet.py --out sheet.png shape_counts fine_letters
"""

import argparse
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw

from saccade.gym import Levels, find_draw
from saccade.gym.sample import GymSample
from saccade.seeding import generator_for
from saccade.tasks.drawing import font

CELL_PX = 330
PICTURE_PX = 250


def sheet(names: list[str], each: int, columns: int, level: float | None) -> Image.Image:
    """So many samples of every program of each family (or part of one) that is named."""
    samples = []
    for name in names:
        draw = find_draw(name)
        if draw is None:
            raise SystemExit(f"no family {name!r}")
        programs = [draw.program] if draw.program else list(draw.family.programs)
        for program in programs:
            for index in range(each):
                levels = Levels(base=index / max(1, each - 1) if level is None else level, named=draw.levels)
                rng = generator_for(7, "sheet", draw.family.name, program.name, index)
                samples.append(
                    draw.family.sample(
                        rng, levels, program=program, renderer=draw.renderer, unanswerable=draw.unanswerable
                    )
                )
    rows = -(-len(samples) // columns)
    page = Image.new("RGB", (columns * CELL_PX, rows * (CELL_PX + 20)), "white")
    for place, sample in enumerate(samples):
        page.paste(_cell(sample), (place % columns * CELL_PX, place // columns * (CELL_PX + 20)))
    return page


def _cell(sample: GymSample) -> Image.Image:
    cell = Image.new("RGB", (CELL_PX - 4, CELL_PX + 16), "#eeeeee")
    pen, left = ImageDraw.Draw(cell), 2
    shown = PICTURE_PX if len(sample.scene.images) == 1 else (CELL_PX - 8) // min(len(sample.scene.images), 4)
    for index, image in enumerate(sample.scene.images[:4]):
        scale = shown / max(image.size)
        size = (round(image.width * scale), round(image.height * scale))
        cell.paste(image.resize(size, Image.Resampling.LANCZOS), (left, 2))
        for target in sample.scene.asked.targets:
            if target.image_index == index:
                x1, y1, x2, y2 = (side * scale for side in target.box.as_tuple())
                pen.rectangle((left + x1 - 1, y1 + 1, left + x2 + 1, y2 + 3), outline="magenta")
        left += shown + 2
    asked = sample.scene.asked
    choices = f" [{' | '.join(asked.choices)}]" if asked.choices else ""
    text = f"{sample.family}/{sample.program.name}: {asked.question}{choices} = {asked.answer}"
    for line, words in enumerate(textwrap.wrap(text, 54)[:7]):
        pen.text((3, PICTURE_PX + 6 + 12 * line), words, fill="black", font=font(11))
    return cell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--level", type=float)
    options = parser.parse_args()
    sheet(options.names, options.each, options.columns, options.level).save(options.out)


if __name__ == "__main__":
    main()
