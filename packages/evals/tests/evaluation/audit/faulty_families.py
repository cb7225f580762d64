"""Families with one fault each, as a careless author makes them, and a clean one; drawn by ``saccade audit-family``.

The clean family shows one to four marked squares among specks and asks for the mark on a square of a colour.
"""

import hashlib
import os
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from PIL import Image, ImageDraw

from saccade.geometry import Box, Mask
from saccade.tasks.claims import claims
from saccade.tasks.families import Scene, SceneQuestion, crop_turn, look_box, pick, rectangle_target
from saccade.types import Target, Task

COLOURS = {"red": (205, 48, 48), "green": (48, 165, 60), "blue": (56, 80, 210), "gold": (210, 180, 48)}
MARKS = ("rows", "columns", "checks", "plain")
SIDE = 256
QUESTION = "Which mark has the {} square?"


def marked(picture: Image.Image, box: Box, colour: str, mark: str) -> None:
    """A square with stripes of one pixel, which no thumbnail tells apart."""
    x, y, size = int(box.x1), int(box.y1), int(box.width)
    rows, columns = np.indices((size, size))
    on = {"rows": rows % 2, "columns": columns % 2, "checks": (rows + columns) % 2, "plain": np.ones((size, size))}[
        mark
    ]
    bright = np.array(COLOURS[colour])
    pixels = (
        np.where(on[..., None] == 1, bright, bright - 44) if mark != "plain" else np.full((size, size, 3), bright - 22)
    )
    picture.paste(Image.fromarray(pixels.astype(np.uint8)), (x, y))


def squares(
    rng: Generator, difficulty: float, marks: dict[str, str] | None = None
) -> tuple[Image.Image, dict[str, Box], dict[str, str]]:
    """A picture, its squares by colour and their marks; smaller where it is harder, among as many specks."""
    picture = Image.new("RGB", (SIDE, SIDE), (128, 128, 128))
    pen, size = ImageDraw.Draw(picture), 2 * round(24 - 14 * difficulty)
    for x, y in rng.integers(0, SIDE, size=(round(8 + 40 * difficulty), 2)).tolist():
        pen.rectangle((x, y, x + 2, y + 2), fill=(90, 90, 90))
    boxes, written = {}, {}
    cells = rng.permutation(16)[:4].tolist()
    for colour, cell in zip(rng.permutation(list(COLOURS)).tolist()[: 2 + round(2 * difficulty)], cells):
        left, top = cell % 4 * 64 + int(rng.integers(64 - size)), cell // 4 * 64 + int(rng.integers(64 - size))
        boxes[colour] = Box(left, top, left + size, top + size)
        written[colour] = (marks or {}).get(colour) or pick(rng, MARKS)
        marked(picture, boxes[colour], colour, written[colour])
    return picture, boxes, written


def asked(picture: Image.Image, box: Box, colour: str, answer: str, *, question: str = QUESTION) -> Scene:
    target = rectangle_target(colour, box)
    return Scene(
        images=(picture,),
        asked=SceneQuestion(
            question=question.format(colour),
            answer=answer,
            targets=(target,),
            looks=(crop_turn(look_box(box), colour),),
        ),
    )


def read_mark(picture: Image.Image, colour: str) -> str | None:
    """The mark on the square of a colour, from pixels alone; None where no such square is there."""
    pixels = np.asarray(picture).astype(int)
    bright = np.array(COLOURS[colour])
    on, off, plain = (np.all(pixels == bright - by, axis=2) for by in (0, 44, 22))
    if plain.sum() > 50:
        return "plain"
    rows, columns = np.nonzero(on | off)
    if len(rows) < 50:
        return None
    here = on[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    if (here == here[:, :1]).all():
        return "rows"
    return "columns" if (here == here[:1]).all() else "checks"


def solve(task: Task, pictures: tuple[Image.Image, ...]) -> str | None:
    colour = next((name for name in COLOURS if f" {name} " in task.question), None)
    return read_mark(pictures[0], colour) if colour else None


@claims(needs_closer=True, solver=solve)
def draw_clean(rng: Generator, difficulty: float) -> Scene:
    picture, boxes, marks = squares(rng, difficulty)
    colour = pick(rng, tuple(boxes))
    return asked(picture, boxes[colour], colour, marks[colour])


def draw_skewed(rng: Generator, difficulty: float) -> Scene:
    """Four marks, and seven answers of ten are the same one."""
    usual = dict.fromkeys(COLOURS, "rows") if rng.random() < 0.6 else None
    picture, boxes, marks = squares(rng, difficulty, usual)
    colour = pick(rng, tuple(boxes))
    return asked(picture, boxes[colour], colour, marks[colour])


def draw_usual_at_one_level(rng: Generator, difficulty: float) -> Scene:
    """The easiest squares have rows, all others any mark."""
    picture, boxes, marks = squares(rng, difficulty, dict.fromkeys(COLOURS, "rows") if difficulty < 0.2 else None)
    colour = pick(rng, tuple(boxes))
    return asked(picture, boxes[colour], colour, marks[colour])


def draw_usual_of_one_question(rng: Generator, difficulty: float) -> Scene:
    """One question in four has the answer yes, always."""
    scene, colour = draw_clean(rng, difficulty), pick(rng, tuple(COLOURS))
    if rng.random() < 0.75:
        return scene
    said = replace(scene.asked, question=f"Is a {colour} square there?", answer="yes", answer_kind="choice")
    return replace(scene, asked=replace(said, choices=("yes", "no")))


def draw_corner_pixel(rng: Generator, difficulty: float) -> Scene:
    """The grey of one pixel in the corner names the mark."""
    scene = draw_clean(rng, difficulty)
    scene.images[0].putpixel((SIDE - 1, SIDE - 1), (100 + 12 * MARKS.index(scene.asked.answer),) * 3)
    return scene


def draw_telling_ground(rng: Generator, difficulty: float) -> Scene:
    """The ground is darker or lighter by the mark that is asked for."""
    scene = draw_clean(rng, difficulty)
    pixels = np.array(scene.images[0])
    pixels[(pixels == 128).all(axis=2)] = 110 + 12 * MARKS.index(scene.asked.answer)
    return replace(scene, images=(Image.fromarray(pixels),))


def draw_rare_wrong(rng: Generator, difficulty: float) -> Scene:
    """One answer in ten is wrong."""
    scene = draw_clean(rng, difficulty)
    wrong = pick(rng, tuple(mark for mark in MARKS if mark != scene.asked.answer))
    return scene if rng.random() > 0.1 else replace(scene, asked=replace(scene.asked, answer=wrong))


def draw_hidden_sometimes(rng: Generator, difficulty: float) -> Scene:
    """In one picture in six the square shows no mark."""
    scene = draw_clean(rng, difficulty)
    box = scene.asked.targets[0].box
    if rng.random() < 1 / 6:
        ImageDraw.Draw(scene.images[0]).rectangle((box.x1, box.y1, box.x2 - 1, box.y2 - 1), fill=(60, 60, 60))
    return scene


def draw_whole_picture(rng: Generator, difficulty: float) -> Scene:
    """Evidence that is the whole picture."""
    scene = draw_clean(rng, difficulty)
    target = rectangle_target("square", Box(0, 0, SIDE, SIDE))
    return replace(scene, asked=replace(scene.asked, targets=(target,)))


def draw_stray_pixels(rng: Generator, difficulty: float) -> Scene:
    """Evidence whose mask has single pixels far from the square, which its box holds."""
    scene = draw_clean(rng, difficulty)
    box = scene.asked.targets[0].box
    held = Mask.from_box(box, SIDE, SIDE).to_array()
    held[3, 3] = held[SIDE - 4, SIDE - 4] = True
    mask = Mask.from_array(held)
    wrong = Target(label="square", box=Box(3, 3, SIDE - 3, SIDE - 3), point=box.center, mask=mask)
    return replace(scene, asked=replace(scene.asked, targets=(wrong,)))


def draw_told_by_words(rng: Generator, difficulty: float) -> Scene:
    """The answer goes with the colour in the question."""
    usual = dict(zip(COLOURS, MARKS)) if rng.random() < 0.7 else None
    picture, boxes, marks = squares(rng, difficulty, usual)
    colour = pick(rng, tuple(boxes))
    return asked(picture, boxes[colour], colour, marks[colour])


def draw_longest_option(rng: Generator, difficulty: float) -> Scene:
    """The right option is written with more care than the others."""
    picture, boxes, marks = squares(rng, difficulty)
    colour = pick(rng, tuple(boxes))
    careful = {
        "rows": "horizontal rows",
        "columns": "upright columns",
        "checks": "a checker board",
        "plain": "plain colour",
    }
    options = tuple(careful[one] if one == marks[colour] else one for one in rng.permutation(MARKS).tolist())
    scene = asked(picture, boxes[colour], colour, careful[marks[colour]])
    return replace(scene, asked=replace(scene.asked, choices=options, answer_kind="choice"))


@claims(needs_closer=True)
def draw_glance(rng: Generator, difficulty: float) -> Scene:
    """Claims to need a closer look and asks for the colour of the whole picture."""
    picture, boxes, _ = squares(rng, difficulty)
    colour = pick(rng, tuple(COLOURS))
    tint = Image.new("RGB", picture.size, COLOURS[colour])
    box = next(iter(boxes.values()))
    return asked(Image.blend(picture, tint, 0.5), box, "this", colour, question="Which tint has {} picture?")


def sum_of(task: Task, pictures: tuple[Image.Image, ...]) -> str:
    first, second = (int(word.strip("?")) for word in task.question.split() if word.strip("?").isdigit())
    return str(first + second)


@claims(solver=sum_of)
def draw_picture_ignored(rng: Generator, difficulty: float) -> Scene:
    """A sum that stands in the question, beside a picture of something."""
    picture, boxes, _ = squares(rng, difficulty)
    colour, (first, second) = pick(rng, tuple(boxes)), rng.integers(10, 1000, size=2).tolist()
    return asked(picture, boxes[colour], colour, str(first + second), question=f"What is {first} plus {second}?")


def draw_two_right_options(rng: Generator, difficulty: float) -> Scene:
    """One distractor in ten was drawn with the right answer's text."""
    picture, boxes, marks = squares(rng, difficulty)
    colour = pick(rng, tuple(boxes))
    options = rng.permutation(MARKS).tolist()
    if rng.random() < 0.1:
        options[(options.index(marks[colour]) + 1) % 4] = marks[colour].upper()
    scene = asked(picture, boxes[colour], colour, marks[colour])
    return replace(scene, asked=replace(scene.asked, choices=tuple(options), answer_kind="choice"))


@claims(needs_closer=True, solver=solve)
def draw_ambiguous(rng: Generator, difficulty: float) -> Scene:
    """Now and then the answer is that of another square."""
    picture, boxes, marks = squares(rng, difficulty)
    colour = pick(rng, tuple(boxes))
    meant = pick(rng, tuple(boxes)) if rng.random() < 0.1 else colour
    return asked(picture, boxes[colour], colour, marks[meant])


def draw_shared_splits(rng: Generator, difficulty: float) -> Scene:
    """Few pictures, and a split key that has nothing to do with them."""
    scene = draw_clean(np.random.default_rng(int(rng.integers(60))), difficulty)
    return replace(scene, split_key=rng.bytes(8))


def draw_few(rng: Generator, difficulty: float) -> Scene:
    """Twenty tasks at each difficulty, in which one pixel differs."""
    scene = draw_clean(np.random.default_rng(int(rng.integers(20))), difficulty)
    scene.images[0].putpixel((int(rng.integers(SIDE)), int(rng.integers(SIDE))), (127, 128, 128))
    return scene


DRAWN = []


def draw_remembers(rng: Generator, difficulty: float) -> Scene:
    """What was drawn before changes what is drawn now."""
    DRAWN.append(difficulty)
    scene = draw_clean(rng, difficulty)
    scene.images[0].putpixel((0, 0), (len(DRAWN) % 256, 0, 0))
    return scene


def draw_of_this_process(rng: Generator, difficulty: float) -> Scene:
    """A seed of the process gets in by the hash of a word."""
    scene = draw_clean(rng, difficulty)
    scene.images[0].putpixel((0, 0), (hash("salt") % 256, 0, 0))
    return scene


def draw_of_the_threads(rng: Generator, difficulty: float) -> Scene:
    """What is drawn depends on the number of threads."""
    scene = draw_clean(rng, difficulty)
    digest = hashlib.sha256(os.environ.get("OMP_NUM_THREADS", "").encode()).digest()
    scene.images[0].putpixel((0, 0), (digest[0], digest[1], digest[2]))
    return scene


def draw_wrong_expert(rng: Generator, difficulty: float) -> Scene:
    """The expert crops a box whose corners are the wrong way round where the square is on the right."""
    scene = draw_clean(rng, difficulty)
    box = scene.asked.targets[0].box
    if box.x1 < SIDE / 2:
        return scene
    turned = Box(box.x2, box.y2, box.x1, box.y1)
    return replace(scene, asked=replace(scene.asked, looks=(crop_turn(turned, "square"),)))


def draw_easier(rng: Generator, difficulty: float) -> Scene:
    """Difficulty the wrong way round."""
    return draw_clean(rng, 1 - difficulty)


def draw_same_difficulty(rng: Generator, difficulty: float) -> Scene:
    """Difficulty that nothing reads."""
    return draw_clean(rng, 0.5)


def draw_evidence_elsewhere(rng: Generator, difficulty: float) -> Scene:
    """Boxes as x, y, width, height where left, top, right, bottom are meant."""
    scene = draw_clean(rng, difficulty)
    box = scene.asked.targets[0].box
    wrong = Target(
        label="square",
        box=Box(box.x1, box.y1, box.x1 + box.width, box.y1 + SIDE),
        point=box.center,
        mask=Mask.from_box(box, SIDE, SIDE),
    )
    return replace(scene, asked=replace(scene.asked, targets=(wrong,)))


@claims(solver=solve)
def draw_decoy_evidence(rng: Generator, difficulty: float) -> Scene:
    """Evidence that names another square than the one that is asked for."""
    picture, boxes, marks = squares(rng, difficulty)
    colour, decoy = rng.permutation(list(boxes)).tolist()[:2]
    scene = asked(picture, boxes[colour], colour, marks[colour])
    return replace(scene, asked=replace(scene.asked, targets=(rectangle_target(decoy, boxes[decoy]),)))


def draw_of_another(rng: Generator, difficulty: float) -> Scene:
    """The pictures of another family, with the same question in other words."""
    scene = draw_clean(np.random.default_rng(int(rng.integers(60))), difficulty)
    return replace(scene, split_key=rng.bytes(8), asked=replace(scene.asked, question=scene.asked.question.upper()))
