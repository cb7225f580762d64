"""Drawn scenes whose content is known: things of a shape, a colour and a place, some with a word or a number.

``python -m studies.real_model.scenes --out scenes`` writes pictures, ``talks.jsonl``, conversations about them for
``saccade train sft``, and ``asked.jsonl``, questions for ``saccade eval``.
"""

import argparse
import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image, ImageDraw, ImageFont

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 150, 50),
    "blue": (30, 60, 220),
    "yellow": (245, 215, 30),
    "orange": (245, 140, 20),
    "purple": (130, 40, 170),
    "black": (15, 15, 15),
    "white": (250, 250, 250),
    "grey": (140, 140, 140),
    "pink": (250, 150, 190),
}
SHAPES = ("circle", "square", "triangle", "star", "cross", "ring", "diamond")
_WORDS = "cat dog sun map key box car bus tree book fish bird milk rain gold king lamp moon nest door"
WORDS = tuple(_WORDS.split())
PHOTOS: Mapping[str, str] = {
    "astronaut": "an astronaut",
    "brick": "bricks",
    "camera": "a man with a camera",
    "cat": "a cat",
    "coffee": "a cup of coffee",
    "coins": "coins",
    "grass": "grass",
    "gravel": "gravel",
    "hubble_deep_field": "galaxies",
    "moon": "the moon",
    "page": "a page of text",
    "retina": "a retina",
    "rocket": "a rocket",
}
"""Pictures that scikit-image ships, and what they show."""
Box = tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """One thing: what it is and its box in pixels, left, top, right, bottom."""

    shape: str
    colour: str
    box: Box

    @property
    def name(self) -> str:
        return f"{self.colour} {self.shape}"

    @property
    def centre(self) -> tuple[float, float]:
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A picture of ``side`` pixels a side and what is on it.

    ``word`` is written in black on a white label; ``photo`` is the picture of ``PHOTOS`` behind it all.
    """

    picture: Image.Image
    things: tuple[Thing, ...]
    word: str | None = None
    photo: str | None = None
    side: int

    def place(self, thing: Thing) -> str:
        """Where the thing is, in words."""
        third = [min(2, int(3 * value / self.side)) for value in thing.centre]
        row, column = ("top", "middle", "bottom")[third[1]], ("left", "middle", "right")[third[0]]
        return "middle" if row == column == "middle" else f"{row} {column}"

    def relative_box(self, thing: Thing) -> list[int]:
        """The box in 0 to 1000 of the picture's sides."""
        return [round(1000 * value / self.side) for value in thing.box]


def scene(seed: int, *, side: int = 224, most: int = 5, photos: bool = True) -> Scene:
    """The scene of a seed: one to ``most`` things that do not touch, all of different names, some on photographs."""
    rng = random.Random(f"scene {seed}")
    background = rng.choice([name for name in COLOURS if name not in ("orange", "pink", "purple")])
    photo = rng.choice(list(PHOTOS)) if photos and rng.random() < 0.25 else None
    picture = _background(rng, side, COLOURS[background]) if photo is None else photo_part(rng, photo, side)
    drawing = ImageDraw.Draw(picture)
    taken: list[Box] = []
    word = rng.choice(WORDS) if rng.random() < 0.4 else None
    if word:
        taken.append(_label(drawing, rng, side, word))
    things: list[Thing] = []
    for _ in range(rng.randint(1, most)):
        shape, colour = rng.choice(SHAPES), rng.choice([name for name in COLOURS if name != background])
        box = _free_box(rng, side, taken)
        if box is None or any(one.name == f"{colour} {shape}" for one in things):
            continue
        taken.append(box)
        draw_shape(drawing, shape, COLOURS[colour], box)
        things.append(Thing(shape=shape, colour=colour, box=box))
    if not things:
        return scene(seed + 10**9, side=side, most=most, photos=photos)
    ordered = tuple(sorted(things, key=lambda one: one.centre))
    return Scene(picture=picture, things=ordered, word=word, photo=photo, side=side)


def photo_part(rng: random.Random, name: str, side: int) -> Image.Image:
    """A random square of a picture of ``PHOTOS``, at least half as wide as the picture, ``side`` pixels a side."""
    picture = _photograph(name)
    part = rng.randint(min(picture.size) // 2, min(picture.size))
    left, top = (rng.randint(0, whole - part) for whole in picture.size)
    return picture.crop((left, top, left + part, top + part)).resize((side, side))


@cache
def _photograph(name: str) -> Image.Image:
    return Image.fromarray(np.asarray(getattr(skimage.data, name)())).convert("RGB")


def draw_shape(drawing: ImageDraw.ImageDraw, shape: str, colour: tuple[int, int, int], box: Box) -> None:
    """Draw the shape so that it touches all sides of the box."""
    left, top, right, bottom = box
    x, y = (left + right) / 2, (top + bottom) / 2
    width, height = right - left, bottom - top
    match shape:
        case "circle":
            drawing.ellipse(box, fill=colour)
        case "square":
            drawing.rectangle(box, fill=colour)
        case "triangle":
            drawing.polygon([(x, top), (right, bottom), (left, bottom)], fill=colour)
        case "diamond":
            drawing.polygon([(x, top), (right, y), (x, bottom), (left, y)], fill=colour)
        case "ring":
            drawing.ellipse(box, outline=colour, width=max(3, width // 5))
        case "cross":
            drawing.rectangle((left, y - height / 7, right, y + height / 7), fill=colour)
            drawing.rectangle((x - width / 7, top, x + width / 7, bottom), fill=colour)
        case "star":
            points = []
            for corner in range(10):
                reach, angle = (0.5, 0.2)[corner % 2], math.pi * (corner / 5 - 0.5)
                points.append((x + reach * width * math.cos(angle), y + reach * height * math.sin(angle)))
            drawing.polygon(points, fill=colour)


def conversation(seed: int, *, turns: int = 5) -> tuple[Scene, list[tuple[str, str]]]:
    """A scene and at most ``turns`` questions about it with their answers; one asks for a description."""
    made = scene(seed)
    rng = random.Random(f"talk {seed}")
    asked = rng.sample(list(_QUESTIONS.values()), len(_QUESTIONS))
    pairs = [pair for question in asked if (pair := question(made, rng)) is not None][: turns - 1]
    pairs.insert(rng.choice((0, 0, len(pairs))), _description(made, rng))
    return made, pairs


def _background(rng: random.Random, side: int, colour: tuple[int, int, int]) -> Image.Image:
    plain = Image.new("RGB", (side, side), colour)
    kind = rng.random()
    if kind < 0.5:
        return plain
    if kind < 0.75:
        noise = Image.frombytes("L", (side, side), rng.randbytes(side * side)).convert("RGB")
        return Image.blend(plain, noise, 0.2)
    shade = Image.linear_gradient("L").resize((side, side)).rotate(rng.choice((0, 90, 180, 270))).convert("RGB")
    return Image.blend(plain, shade, 0.25)


def _label(drawing: ImageDraw.ImageDraw, rng: random.Random, side: int, word: str) -> Box:
    font = ImageFont.load_default(size=rng.randint(side // 9, side // 6))
    width, height = (math.ceil(value) for value in drawing.textbbox((0, 0), word, font=font)[2:])
    left, top = rng.randint(0, side - width - 12), rng.randint(0, side - height - 12)
    box = (left, top, left + width + 11, top + height + 11)
    drawing.rectangle(box, fill=(255, 255, 255), outline=(0, 0, 0))
    drawing.text((left + 6, top + 4), word, fill=(0, 0, 0), font=font)
    return box


def _free_box(rng: random.Random, side: int, taken: list[Box]) -> Box | None:
    for _ in range(30):
        width = rng.randint(side // 9, side // 3)
        left, top = rng.randint(0, side - width - 1), rng.randint(0, side - width - 1)
        box = (left, top, left + width, top + width)
        if all(box[0] > b[2] + 3 or box[2] < b[0] - 3 or box[1] > b[3] + 3 or box[3] < b[1] - 3 for b in taken):
            return box
    return None


def _description(made: Scene, rng: random.Random) -> tuple[str, str]:
    said = [f"a {one.name} at {[round(1000 * value / made.side) for value in one.centre]}" for one in made.things]
    label = f' and the word "{made.word}"' if made.word else ""
    return "Describe the picture.", ", ".join(said) + label + "."


def _colour(made: Scene, rng: random.Random) -> tuple[str, str] | None:
    thing = rng.choice(made.things)
    alone = sum(one.shape == thing.shape for one in made.things) == 1
    return (f"What colour is the {thing.shape}?", thing.colour) if alone else None


def _shape(made: Scene, rng: random.Random) -> tuple[str, str] | None:
    thing = rng.choice(made.things)
    alone = sum(one.colour == thing.colour for one in made.things) == 1
    return (f"What shape is the {thing.colour} thing?", thing.shape) if alone else None


def _count(made: Scene, rng: random.Random) -> tuple[str, str]:
    return "How many things are there?", str(len(made.things))


def _place(made: Scene, rng: random.Random) -> tuple[str, str]:
    thing = rng.choice(made.things)
    return f"Where is the {thing.name}?", made.place(thing)


def _box(made: Scene, rng: random.Random) -> tuple[str, str]:
    thing = rng.choice(made.things)
    return f"Give the box of the {thing.name}.", str(made.relative_box(thing))


def _which_side(made: Scene, rng: random.Random) -> tuple[str, str] | None:
    if len(made.things) < 2:
        return None
    first, second = rng.sample(made.things, 2)
    if abs(first.centre[0] - second.centre[0]) < made.side / 10:
        return None
    left = min(first, second, key=lambda one: one.centre[0])
    return f"Which is further left, the {first.name} or the {second.name}?", left.name


def _exists(made: Scene, rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.5:
        return f"Is there a {rng.choice(made.things).name}?", "yes"
    while True:
        name = f"{rng.choice(list(COLOURS))} {rng.choice(SHAPES)}"
        if all(one.name != name for one in made.things):
            return f"Is there a {name}?", "no"


def _word(made: Scene, rng: random.Random) -> tuple[str, str] | None:
    return ("Which word is written?", made.word) if made.word else None


def _photo(made: Scene, rng: random.Random) -> tuple[str, str] | None:
    return ("What does the photograph behind it show?", PHOTOS[made.photo]) if made.photo else None


_QUESTIONS: Mapping[str, Callable[[Scene, random.Random], tuple[str, str] | None]] = {
    "colour": _colour,
    "shape": _shape,
    "count": _count,
    "place": _place,
    "which_side": _which_side,
    "exists": _exists,
    "word": _word,
    "photo": _photo,
    "box": _box,
}


def write_talks(out: Path, *, count: int, seed: int, turns: int) -> None:
    """Write ``count`` pictures and the conversations about them as rows of messages."""
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    with (out / "talks.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            made, pairs = conversation(seed * 10**6 + number, turns=turns)
            name = f"pictures/{seed}-{number:05d}.png"
            made.picture.save(out / name)
            messages: list[dict[str, str]] = []
            for question, answer in pairs:
                marked = question if messages else f"<image>\n{question}"
                messages += [{"role": "user", "content": marked}, {"role": "assistant", "content": answer}]
            row = {"id": f"{seed}-{number}", "images": [name], "messages": messages}
            file.write(json.dumps(row) + "\n")


def write_asked(out: Path, *, count: int, seed: int) -> None:
    """Write ``asked.jsonl``: ``count`` questions, each about a scene of its own that no conversation shows."""
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    kinds = [name for name in _QUESTIONS if name != "box"]
    with (out / "asked.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            kind, attempt = kinds[number % len(kinds)], 0
            while True:
                made = scene(-(seed * 10**6 + number * 1000 + attempt) - 1)
                pair = _QUESTIONS[kind](made, random.Random(number))
                if pair is not None:
                    break
                attempt += 1
            name = f"pictures/asked-{number:05d}.png"
            made.picture.save(out / name)
            row = {"id": f"{kind}-{number}", "category": kind, "question": pair[0], "answer": pair[1], "images": [name]}
            file.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--asked", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write_talks(options.out, count=options.count, seed=options.seed, turns=options.turns)
    write_asked(options.out, count=options.asked, seed=options.seed)


if __name__ == "__main__":
    main()
