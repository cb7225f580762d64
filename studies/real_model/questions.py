"""Questions about pictures with right answers that are computed, and solutions of some of them in Python.

``python -m studies.real_model.questions --out pixels`` writes ``train.jsonl`` and ``held_out.jsonl``, files of
questions, and ``examples.jsonl``, solutions as ``saccade curate codedance`` writes them, with their pictures. Solutions
are written for the kinds ``SHOWN`` alone: the code for the others is for the policy to find. Kinds of ``NEVER`` are
held out as a whole.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from studies.real_model.scenes import COLOURS, PHOTOS, Box, Scene, photo_part, scene

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A question, its answer, and a solution: the thought, the code, and what its output makes one say."""

    question: str
    answer: str
    thought: str
    code: str
    boxes: tuple[Box, ...] = ()
    """What the answer depends on, where that is less than all."""


def _colours(pixels: Pixels) -> dict[str, int]:
    """Pixels of each colour of the palette."""
    return {name: int((pixels == rgb).all(axis=-1).sum()) for name, rgb in COLOURS.items()}


def _boxes(made: Scene, *colours: str) -> tuple[Box, ...]:
    """Of the things of these colours."""
    return tuple(thing.box for thing in made.things if thing.colour in colours)


def _present(made: Scene) -> list[str]:
    """Colours of the things, each once."""
    return sorted({thing.colour for thing in made.things})


def _count(made: Scene, pixels: Pixels, rng: random.Random) -> Asked:
    colour = rng.choice(_present(made))
    rgb, array = COLOURS[colour], _array(rng)
    return Asked(
        question=f"How many pixels of the picture are exactly {colour}, that is {rgb}?",
        answer=str(_colours(pixels)[colour]),
        thought=f"I count the pixels that are {rgb}.",
        code=f"{array}\nprint((a == {rgb}).all(axis=-1).sum())",
        boxes=_boxes(made, colour),
    )


def _more(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    found = _colours(pixels)
    if len(_present(made)) < 2:
        return None
    first, second = rng.sample(_present(made), 2)
    if found[first] == found[second]:
        return None
    counts = "\n".join(f"print('{name}', (a == {COLOURS[name]}).all(axis=-1).sum())" for name in (first, second))
    return Asked(
        question=f"Which colour covers more pixels, {first} {COLOURS[first]} or {second} {COLOURS[second]}?",
        answer=max(first, second, key=found.__getitem__),
        thought="I count the pixels of both colours and compare.",
        code=f"{_array(rng)}\n{counts}",
        boxes=_boxes(made, first, second),
    )


def _leftmost(made: Scene, pixels: Pixels, rng: random.Random) -> Asked:
    colour = rng.choice(_present(made))
    columns = np.nonzero((pixels == COLOURS[colour]).all(axis=-1))[1]
    return Asked(
        question=f"What is the smallest x at which the picture has a pixel that is exactly {colour} {COLOURS[colour]}?",
        answer=str(columns.min()),
        thought=f"I look for the columns that have {colour} pixels; the smallest is the answer.",
        code=f"{_array(rng)}\ny, x = np.nonzero((a == {COLOURS[colour]}).all(axis=-1))\nprint(x.min())",
        boxes=_boxes(made, colour),
    )


def _pixel(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    thing = rng.choice(made.things)
    x, y = (round(value) + rng.randint(-3, 3) for value in thing.centre)
    names = {rgb: name for name, rgb in COLOURS.items()}
    found = names.get(made.picture.getpixel((x, y)))
    if found is None:
        return None
    return Asked(
        question=f"Which colour has the pixel at x={x}, y={y}? Name it, such as red, green, blue, yellow or black.",
        answer=found,
        thought="I look at this pixel.",
        code=f"print(input_image.getpixel(({x}, {y})))",
        boxes=((x, y, x + 1, y + 1),),
    )


def _width(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    colour = rng.choice(_present(made))
    columns = np.nonzero((pixels == COLOURS[colour]).all(axis=-1))[1]
    return Asked(
        question=f"The pixels that are exactly {colour} {COLOURS[colour]}: what is the difference between their "
        "largest and smallest x?",
        answer=str(columns.max() - columns.min()),
        thought=f"I take the columns that have {colour} pixels, the largest less the smallest.",
        code=f"{_array(rng)}\ny, x = np.nonzero((a == {COLOURS[colour]}).all(axis=-1))\nprint(x.max() - x.min())",
        boxes=_boxes(made, colour),
    )


def _kinds(made: Scene, pixels: Pixels, rng: random.Random) -> Asked:
    return Asked(
        question="How many different colours do the pixels of the picture have?",
        answer=str(len(np.unique(pixels.reshape(-1, 3), axis=0))),
        thought="I count the different values of the pixels.",
        code=f"{_array(rng)}\nprint(len(np.unique(a.reshape(-1, 3), axis=0)))",
    )


def _column(made: Scene, pixels: Pixels, rng: random.Random) -> Asked:
    thing = rng.choice(made.things)
    x, rgb = round(thing.centre[0]), COLOURS[thing.colour]
    return Asked(
        question=f"In the column x={x} of the picture, how many pixels are exactly {thing.colour} {rgb}?",
        answer=str(int((pixels[:, x] == rgb).all(axis=-1).sum())),
        thought=f"I take the column {x} and count.",
        code=f"{_array(rng)}\nprint((a[:, {x}] == {rgb}).all(axis=-1).sum())",
    )


def _side(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    middle, grey = pixels.shape[1] // 2, pixels.mean(axis=-1)
    left, right = grey[:, :middle].mean(), grey[:, middle:].mean()
    if abs(left - right) < 2:
        return None
    return Asked(
        question="Which half of the picture is brighter on average, the left or the right?",
        answer="left" if left > right else "right",
        thought="I compare the mean brightness of the halves.",
        code="import numpy as np\na = np.array(input_image.convert('L'))\nw = a.shape[1] // 2\n"
        "print(a[:, :w].mean(), a[:, w:].mean())",
    )


def _channel(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    means = pixels.reshape(-1, 3).mean(axis=0)
    if np.diff(np.sort(means))[-1] < 2:
        return None
    return Asked(
        question="Which channel of the picture has the largest mean: red, green or blue?",
        answer=("red", "green", "blue")[int(means.argmax())],
        thought="I take the mean of each channel.",
        code=f"{_array(rng)}\nprint(a.reshape(-1, 3).mean(axis=0))",
    )


def _darkest(made: Scene, pixels: Pixels, rng: random.Random) -> Asked:
    grey = pixels.astype(int).sum(axis=-1)
    return Asked(
        question="Add red, green and blue of each pixel: what is the smallest sum in the picture?",
        answer=str(grey.min()),
        thought="I add the channels and take the minimum.",
        code=f"{_array(rng)}\nprint(a.astype(int).sum(axis=-1).min())",
    )


def _reaches(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    if len(_present(made)) < 2:
        return None
    first, second = rng.sample(_present(made), 2)
    last = {one: np.nonzero((pixels == COLOURS[one]).all(axis=-1))[1].max() for one in (first, second)}
    if last[first] == last[second]:
        return None
    return Asked(
        question="Which colour has the pixel with the larger x, the one farthest to the right: "
        f"{first} {COLOURS[first]} or {second} {COLOURS[second]}?",
        answer=max(first, second, key=last.__getitem__),
        thought="",
        code="",
        boxes=_boxes(made, first, second),
    )


def _upper(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    middle, grey = pixels.shape[0] // 2, pixels.mean(axis=-1)
    upper, lower = grey[:middle].mean(), grey[middle:].mean()
    if abs(upper - lower) < 2:
        return None
    return Asked(
        question="Which half of the picture is darker on average, the upper or the lower?",
        answer="upper" if upper < lower else "lower",
        thought="",
        code="",
    )


def _third(made: Scene, pixels: Pixels, rng: random.Random) -> Asked | None:
    cuts = [round(pixels.shape[1] * part / 3) for part in range(4)]
    means = [pixels[:, start:end].mean() for start, end in pairwise(cuts)]
    if np.diff(np.sort(means))[-1] < 2:
        return None
    return Asked(
        question="Which third of the picture is the brightest on average: the left, the middle or the right?",
        answer=("left", "middle", "right")[int(np.argmax(means))],
        thought="",
        code="",
    )


def _array(rng: random.Random) -> str:
    return rng.choice(
        ("import numpy as np\na = np.array(input_image)", "import numpy as np\na = np.asarray(input_image)")
    )


Kind = Callable[[Scene, Pixels, random.Random], Asked | None]
ON_SCENES: Mapping[str, Kind] = {
    "count": _count,
    "more": _more,
    "leftmost": _leftmost,
    "pixel": _pixel,
    "width": _width,
    "kinds": _kinds,
    "column": _column,
}
ON_PHOTOS: Mapping[str, Kind] = {"side": _side, "channel": _channel, "darkest": _darkest}
FOR_CARRYING: Mapping[str, Kind] = {"reaches": _reaches, "upper": _upper, "third": _third}
"""Comparisons like ``more``, ``side`` and ``channel``, asked where they are named: no model is trained on them."""
SHOWN = ("count", "more", "pixel", "side")
"""Kinds that solutions are written for."""
NEVER = ("leftmost", "width", "column")
"""Kinds that are asked of no one in training: after imitation no sample in fifty of them was right."""


def plain_scene(seed: int) -> Scene:
    """A scene of few exact colours without a word: the first from this seed on whose background is plain."""
    while True:
        made = scene(seed, side=128, photos=False)
        if made.word is None and len(made.picture.getcolors(1 << 16) or ()) <= 1 + len(made.things):
            return made
        seed += 10**7


def photo(rng: random.Random) -> Scene:
    """A random part of a photograph, 128 pixels a side, with nothing drawn on it."""
    name = rng.choice(list(PHOTOS))
    return Scene(picture=photo_part(rng, name, 128), things=(), photo=name, side=128)


def asked_about(seed: int, kinds: Sequence[str]) -> tuple[str, Scene, Asked]:
    """A kind of ``kinds``, a picture and a question of this kind, all by the seed."""
    rng = random.Random(f"question {seed}")
    kind = rng.choice(kinds)
    for attempt in range(100):
        made = plain_scene(seed * 100 + attempt) if kind in (*ON_SCENES, "reaches") else photo(rng)
        found = {**ON_SCENES, **ON_PHOTOS, **FOR_CARRYING}[kind](made, np.asarray(made.picture), rng)
        if found is not None:
            return kind, made, found
    raise ValueError(f"no picture of 100 allows the question {kind!r}")


def write_rows(out: Path, name: str, seeds: range, kinds: Sequence[str], *, solved: bool = False) -> None:
    """Write ``NAME.jsonl`` with a question for each seed, all different, and their pictures."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    with (out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for seed in seeds:
            kind, made, asked = asked_about(seed, kinds)
            picture = f"images/{name}-{seed}.png"
            made.picture.save(out / picture)
            row: dict[str, object] = {"id": f"{kind}-{seed}", "category": kind, "question": asked.question}
            row |= {"answer": asked.answer, "images": [picture]}
            if asked.boxes:
                row["boxes"] = asked.boxes
            if solved:
                row["turns"] = [
                    {"thought": asked.thought, "code": asked.code},
                    {"thought": f"The answer is {asked.answer}.", "answer": asked.answer},
                ]
            file.write(json.dumps(row) + "\n")
            counts[kind] += 1
    print(f"{out / name}.jsonl:", dict(sorted(counts.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--held-out", type=int, default=128)
    parser.add_argument("--examples", type=int, default=96)
    every = (*ON_SCENES, *ON_PHOTOS)
    parser.add_argument(
        "--kinds", nargs="+", choices=(*every, *FOR_CARRYING), help="Kinds to ask, in training and held out alike."
    )
    options = parser.parse_args()
    practised = options.kinds or tuple(kind for kind in every if kind not in NEVER)
    write_rows(options.out, "train", range(10**6, 10**6 + options.train), practised)
    write_rows(options.out, "held_out", range(2 * 10**6, 2 * 10**6 + options.held_out), options.kinds or every)
    write_rows(options.out, "examples", range(3 * 10**6, 3 * 10**6 + options.examples), SHOWN, solved=True)


if __name__ == "__main__":
    main()
