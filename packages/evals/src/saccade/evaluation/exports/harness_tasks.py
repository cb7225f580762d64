"""Questions as data sets of other harnesses: a TSV for VLMEvalKit, a task with its parquet file for lmms-eval."""

import base64
import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.interop.exports.bundle import write_bundle
from saccade.interop.exports.verifier import ground_truth_of
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore
from saccade.types import Task

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_YAML = """# Questions of Saccade: lmms-eval --include_path {shell_words} --tasks {name}
task: {name}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {parquet}
test_split: test
output_type: generate_until
doc_to_visual: !function {name}_functions.pictures
doc_to_text: !function {name}_functions.question
doc_to_target: answer
process_results: !function {name}_functions.score
generation_kwargs:
  max_new_tokens: {max_tokens}
  temperature: 0
  do_sample: false
metric_list:
  - metric: accuracy
    aggregation: mean
    higher_is_better: true
metadata:
  - version: 1.0
"""

_FUNCTIONS = '''"""Functions of a task of lmms-eval, written by Saccade beside its questions."""

import io
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent))

from {verifier} import score_bare  # noqa: E402


def pictures(doc):
    return [Image.open(io.BytesIO(picture)).convert("RGB") for picture in doc["pictures"]]


def question(doc, lmms_eval_specific_kwargs=None):
    options = [f"{{chr(65 + place)}}. {{text}}" for place, text in enumerate(doc["options"])]
    return "\\n".join([doc["question"], *options])


def score(doc, results):
    """The whole reply is the answer; it is compared as Saccade compares answers of its kind."""
    return {{"accuracy": score_bare(results[0], doc["ground_truth"])}}
'''


def write_vlmevalkit_tsv(tasks: Sequence[Task], path: Path, media: MediaStore) -> Path:
    """VLMEvalKit's layout: ``LMUData=FOLDER ... --data NAME`` reads ``FOLDER/NAME.tsv`` as a set of its own.

    Options stand in the columns A, B, ... and make it a multiple-choice set; without them VLMEvalKit collects replies
    and has no rule to score them by. UserError where some questions have options and others none, or no picture.
    """
    most = max((len(task.choices) for task in tasks), default=0)
    _check(tasks, most)
    letters = LETTERS[:most]
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerow(["index", "image", "question", *letters, "answer", "category", "id"])
            for index, task in enumerate(tasks):
                options = [*task.choices, *[""] * (most - len(task.choices))]
                answer = LETTERS[task.choices.index(task.answer)] if task.choices else task.answer
                images = [base64.b64encode(png_bytes(media.get(image))).decode("ascii") for image in task.images]
                cell = images[0] if len(images) == 1 else json.dumps(images)
                writer.writerow([index, cell, task.question, *options, answer, task.family, task.id])
    return path


def write_lmms_eval_task(tasks: Sequence[Task], folder: Path, name: str, media: MediaStore) -> Path:
    """A task that ``lmms-eval --include_path FOLDER --tasks NAME`` finds: YAML, functions, parquet, verifier."""
    if not name.isidentifier():
        raise UserError(f"the name {name!r} of a task must be a word of letters, digits and underscores; see --name")
    _check(tasks, 0)
    columns = {
        "id": [task.id for task in tasks],
        "question": [task.question for task in tasks],
        "options": pa.array([_options(task) for task in tasks], pa.list_(pa.string())),
        "answer": [_gold(task) for task in tasks],
        "accepted": pa.array([[_gold(task), task.answer, *task.accepted] for task in tasks], pa.list_(pa.string())),
        "category": [task.family for task in tasks],
        "ground_truth": [ground_truth_of(_as_scored(task)) for task in tasks],
        "pictures": pa.array(
            [[png_bytes(media.get(image)) for image in task.images] for task in tasks], pa.list_(pa.binary())
        ),
    }
    parquet = folder.absolute() / f"{name}.parquet"
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), parquet)
    yaml = _YAML.format(shell_words=shell_words(folder), name=name, parquet=json.dumps(str(parquet)), max_tokens=64)
    write_bytes_atomic(folder / f"{name}.yaml", yaml.encode())
    write_bytes_atomic(folder / f"{name}_functions.py", _FUNCTIONS.format(verifier=write_bundle(folder)).encode())
    return folder / f"{name}.yaml"


def _options(task: Task) -> list[str]:
    """Options that the question does not name itself."""
    return [] if all(choice in task.question for choice in task.choices) else list(task.choices)


def _as_scored(task: Task) -> Task:
    """The task as it is scored: where options are shown with letters, a letter counts too."""
    return replace(task, answer_kind="choice") if _options(task) else task


def _gold(task: Task) -> str:
    return LETTERS[task.choices.index(task.answer)] if _options(task) and task.answer in task.choices else task.answer


def _check(tasks: Sequence[Task], options: int) -> None:
    for task in tasks:
        if not task.images:
            raise UserError(f"{task.id} has no picture, but these harnesses need one; leave it out")
        if options and task.answer not in task.choices:
            raise UserError(
                f"{task.id} has {'no options' if not task.choices else 'an answer that is none of its options'}, and "
                "others have; VLMEvalKit reads a set as multiple choice or not at all"
            )
    if options > len(LETTERS):
        raise UserError(f"a question has {options} options, more than there are letters")
