"""Benchmarks that ask which of two captions fits: SugarCrepe and CounterCurate, from their own files.

Their code puts the right caption first or second at random; ours draws the order by the question's name.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.benchmarks.aggregates import accuracy, mean_of_groups
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.prompts import letter_prompt
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.plain_files import plain_text
from saccade.seeding import seed_for
from saccade.tasks.rows.fields import RowError
from saccade.tasks.rows.text_files import comma_separated

_QUESTION = "Which of the following captions best describes the image?"
_PAIR = ("captions", "neg_captions", "images", "neg_images")


def _pair_row(index: str, category: str, image: str, right: str, wrong: str) -> Mapping[str, str]:
    is_first = seed_for(0, "caption order", index) % 2 == 0
    return {
        "index": index,
        "question": _QUESTION,
        "A": right if is_first else wrong,
        "B": wrong if is_first else right,
        "answer": "A" if is_first else "B",
        "category": category,
        "image_path": image,
    }


def _json_object(path: Path) -> Mapping[str, object]:
    try:
        found = json.loads(plain_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(found, dict):
        raise UserError(f"{path}: must hold an object of questions by name")
    return found


def sugar_crepe_rows(folder: Path) -> Iterator[Mapping[str, str]]:
    """``data/{add,replace,swap}_*.json`` of its repository; pictures of COCO in ``val2017/``."""
    for path in sorted(folder.glob("data/*.json")):
        for name, item in _json_object(path).items():
            keys = ("filename", "caption", "negative_caption")
            if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in keys):
                raise UserError(f"{path}, question {name!r}: must have {', '.join(keys)}, each text")
            image, right, wrong = (item[key] for key in keys)
            yield _pair_row(f"{path.stem}/{name}", path.stem, f"val2017/{image}", right, wrong)


def counter_curate_rows(folder: Path) -> Iterator[Mapping[str, str]]:
    """``clip_sample_data/test_*.csv`` for positions, ``vg_dict.json`` with ``visual_genome/`` for counts."""
    for path in sorted(folder.glob("clip_sample_data/test_*.csv")):
        kind = path.stem.removeprefix("test_").strip("_") or "position"
        for number, one in enumerate(comma_separated(path, "\t")):
            cells = [] if isinstance(one.row, RowError) else [one.row.get(name) for name in _PAIR]
            if not cells or None in cells:
                raise UserError(
                    f"{path}, line {one.number}: must have the columns {', '.join(_PAIR)}, none of them empty"
                )
            right, wrong, image, other = map(str, cells)
            yield _pair_row(f"{kind}/{number}", kind, image, right, wrong)
            yield _pair_row(f"{kind}/{number}/negative", kind, other, wrong, right)
    counts = folder / "vg_dict.json"
    for name, items in _json_object(counts).items() if counts.is_file() else ():
        for place, item in enumerate(items if isinstance(items, list) else []):
            if not isinstance(item, dict) or not str(item.get("ans")).isdecimal() or "name" not in item:
                raise UserError(f"{counts}, picture {name!r}: each item must have a name and a whole number ans")
            count, thing = int(item["ans"]), item["name"]
            right, wrong = f"There are {count} {thing}.", f"There are {count + 1} {thing}."
            yield _pair_row(f"counting/{name}_{place}", "counting", f"visual_genome/{name}.jpg", right, wrong)


SUGARCREPE = Benchmark(
    name="sugarcrepe",
    title="SugarCrepe",
    layout=FileLayout(folder="sugar-crepe", release_rows=sugar_crepe_rows),
    size=7512,
    prompt=letter_prompt,
    cluster=same_pictures,
    readings=(STRICT,),
    aggregate=accuracy("category"),
    headline="strict",
    published_as=("SugarCrepe",),
    trap="a rule that looks for the letter anywhere, as CounterCurate's script does, pays A scarf of blue colour",
)

COUNTERCURATE = Benchmark(
    name="countercurate",
    title="CounterCurate",
    layout=FileLayout(folder="CounterCurate", release_rows=counter_curate_rows),
    size=0,
    prompt=letter_prompt,
    cluster=same_pictures,
    readings=(STRICT,),
    aggregate=mean_of_groups("category"),
    headline="strict",
    published_as=("CounterCurate",),
    trap="which of its parts a table means is seldom stated; here every part counts alike",
)
