"""Questions about drawn scenes with the boxes of what they are about, and reasoning in both of iVGR's streams.

``python -m studies.real_model.boxed --out boxed`` writes ``train.jsonl`` and ``held_out.jsonl``, questions with
``target_instances``, and ``examples.jsonl``, a grounded and a textual answer of each of some questions.
"""

import argparse
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from studies.real_model.scenes import Scene, Thing, scene


@dataclass(frozen=True, kw_only=True, slots=True)
class Boxed:
    """A question, its answer, the things that it is about, and the reasoning with ``{}`` where each thing is said."""

    question: str
    answer: str
    things: tuple[Thing, ...]
    reasoning: str

    def grounded(self) -> str:
        """The reasoning with boxes in pixels."""
        return self.reasoning.format(*(f"at <box>{list(thing.box)}</box>" for thing in self.things))

    def textual(self, made: Scene) -> str:
        """The same with places in words."""
        return self.reasoning.format(*(f"in the {made.place(thing)}" for thing in self.things))


def _colour(made: Scene, rng: random.Random) -> Boxed | None:
    thing = rng.choice(made.things)
    if sum(one.shape == thing.shape for one in made.things) > 1:
        return None
    return Boxed(
        question=f"What colour is the {thing.shape}?",
        answer=thing.colour,
        things=(thing,),
        reasoning=f"The {thing.shape} is {{}}. It is {thing.colour}.",
    )


def _shape(made: Scene, rng: random.Random) -> Boxed | None:
    thing = rng.choice(made.things)
    if sum(one.colour == thing.colour for one in made.things) > 1:
        return None
    return Boxed(
        question=f"What shape is the {thing.colour} thing?",
        answer=thing.shape,
        things=(thing,),
        reasoning=f"The {thing.colour} thing is {{}}. It is a {thing.shape}.",
    )


def _which_side(made: Scene, rng: random.Random) -> Boxed | None:
    if len(made.things) < 2:
        return None
    first, second = rng.sample(made.things, 2)
    if abs(first.centre[0] - second.centre[0]) < made.side / 10:
        return None
    left = min(first, second, key=lambda one: one.centre[0])
    return Boxed(
        question=f"Which is further left, the {first.name} or the {second.name}?",
        answer=left.name,
        things=(first, second),
        reasoning=f"The {first.name} is {{}} and the {second.name} is {{}}. Further left is the {left.name}.",
    )


def _count(made: Scene, rng: random.Random) -> Boxed:
    listed = ", ".join(f"a {thing.name} {{}}" for thing in made.things)
    return Boxed(
        question="How many things are there?",
        answer=str(len(made.things)),
        things=made.things,
        reasoning=f"I see {listed}. Together {len(made.things)}.",
    )


QUESTIONS: Mapping[str, Callable[[Scene, random.Random], Boxed | None]] = {
    "colour": _colour,
    "shape": _shape,
    "which_side": _which_side,
    "count": _count,
}


def asked_about(seed: int) -> tuple[str, Scene, Boxed]:
    """A kind of ``QUESTIONS``, a scene and a question of this kind, all by the seed."""
    rng = random.Random(f"boxed {seed}")
    kind = rng.choice(list(QUESTIONS))
    for attempt in range(100):
        made = scene(seed * 100 + attempt, photos=False)
        found = QUESTIONS[kind](made, rng)
        if found is not None:
            return kind, made, found
    raise ValueError(f"no scene of 100 allows the question {kind!r}")


def write_rows(out: Path, name: str, seeds: range, *, reasoned: bool = False) -> None:
    """Write ``NAME.jsonl`` and its pictures; with ``reasoned`` a row for each stream, which reasons in it."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    with (out / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for seed in seeds:
            kind, made, asked = asked_about(seed)
            picture = f"images/{name}-{seed}.png"
            made.picture.save(out / picture)
            row: dict[str, object] = {"id": f"{kind}-{seed}", "category": kind, "question": asked.question}
            row |= {"answer": asked.answer, "images": [picture]}
            row["target_instances"] = [{"bbox": list(thing.box), "label": thing.name} for thing in asked.things]
            thoughts = {"grounded": asked.grounded(), "textual": asked.textual(made)} if reasoned else {"": ""}
            for stream, thought in thoughts.items():
                more = {"stream": stream, "turns": [{"thought": thought, "answer": asked.answer}]} if stream else {}
                file.write(json.dumps({**row, **more}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--held-out", type=int, default=128)
    parser.add_argument("--examples", type=int, default=800)
    options = parser.parse_args()
    write_rows(options.out, "train", range(10**6, 10**6 + options.train))
    write_rows(options.out, "held_out", range(2 * 10**6, 2 * 10**6 + options.held_out))
    write_rows(options.out, "examples", range(3 * 10**6, 3 * 10**6 + options.examples), reasoned=True)


if __name__ == "__main__":
    main()
