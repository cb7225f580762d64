"""Baselines of the benchmark of looking that need no model: blind, from a thumbnail, and the experts.

python benchmarks/look_baselines.py --json docs/results/look_baselines.json

The blind guesser and the thumbnail probe learn from as many questions of the training split, family by family.
"""

import argparse
import json
import platform
import time
from pathlib import Path

from saccade.evaluation.audit.blind import BlindGuesser, Patterns, chance_of, constant_answer
from saccade.evaluation.audit.drawn import DrawnFamily, seen_picture
from saccade.evaluation.audit.experts import tools_for, what_went_wrong
from saccade.evaluation.audit.thumbnail import ThumbnailProbe
from saccade.evaluation.look import LOOK, look_examples
from saccade.evaluation.statistics import wilson_interval
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.procedural import family_named
from saccade.types import Example


def of_family(examples: list[Example], family: str) -> tuple[Example, ...]:
    return tuple(one for one in examples if one.task.family == family)


def drawn(family: str, train: tuple[Example, ...], test: tuple[Example, ...], media: MediaStore) -> DrawnFamily:
    images = {image.hash: image for one in (*train, *test) for image in one.task.images}
    return DrawnFamily(
        name=family,
        draw=family_named(family)[1],
        seed=LOOK.seed,
        train=train,
        held_out=test,
        media=media,
        seen={key: seen_picture(image, media) for key, image in images.items()},
        cpu_s=0.0,
        memory_mib=0.0,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    out = parser.parse_args().json
    media = MediaStore(cache_bytes=64 << 20)
    began = time.process_time()
    train_all, test_all = look_examples(media, split="train"), look_examples(media)
    hits: dict[str, list[bool]] = {"constant answer": [], "blind": [], "thumbnail": [], "experts": []}
    chances, by_family = [], {}
    for family in LOOK.families:
        of = drawn(family, of_family(train_all, family), of_family(test_all, family), media)
        train, test = [one.task for one in of.train], [one.task for one in of.held_out]
        constant, guesser, probe = constant_answer(train), BlindGuesser(train), ThumbnailProbe(of, train)
        with tools_for(of.held_out) as tools:
            expert = [not what_went_wrong(one, of, tools) for one in of.held_out]
        rows = {
            "constant answer": [answer_is_right(task, constant) for task in test],
            "blind": [answer_is_right(task, guesser.guess(task)) for task in test],
            "thumbnail": [answer_is_right(task, probe.guess(task, task)) for task in test],
            "experts": expert,
        }
        by_family[family] = {name: sum(row) / len(row) for name, row in rows.items()}
        chances += [chance_of(test, Patterns([*train, *test]))] * len(test)
        for name, row in rows.items():
            hits[name] += row
        print(family, {name: round(value, 3) for name, value in by_family[family].items()}, flush=True)
    figures = {
        name: {"accuracy": sum(row) / len(row), "ci95": wilson_interval(sum(row), len(row)), "questions": len(row)}
        for name, row in hits.items()
    }
    content = {
        "version": LOOK.version,
        "sha256": LOOK.sha256,
        "chance": sum(chances) / len(chances),
        "baselines": figures,
        "by_family": by_family,
        "cpu_s": time.process_time() - began,
        "machine": platform.processor() or platform.machine(),
        "date": time.strftime("%Y-%m-%d"),
    }
    print(json.dumps({key: content[key] for key in ("chance", "baselines", "cpu_s")}, indent=1))
    if out is not None:
        out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
