"""A data set as Hugging Face's hub has them: a card, parquet with ``Image`` features, the verifier beside them."""

import json
from pathlib import Path

import pyarrow as pa

from saccade.atomic import write_bytes_atomic
from saccade.interop.exports.bundle import NEEDS, write_bundle
from saccade.interop.exports.columns import write_table
from saccade.interop.exports.questions import ExportedQuestions, regions, write_manifest
from saccade.interop.exports.verifier import ground_truth_of

_REGION = pa.list_(pa.struct([("label", pa.string()), ("image", pa.int64()), ("box", pa.list_(pa.float64()))]))
_TEXTS = pa.list_(pa.string())

_CARD = """---
license: {licence}
task_categories:
- visual-question-answering
language:
- en
pretty_name: {family} (Saccade)
size_categories:
- {size}
tags:
- procedural
- grounded
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train.parquet
  - split: test
    path: data/test.parquet
---

# {family}

Questions about drawn pictures with exact answers and the regions that they are read from, drawn by Saccade {version}.

    from datasets import load_dataset
    rows = load_dataset("{folder}")["test"]

| column | what it is |
|---|---|
| `id` | stable name of the question |
| `question`, `choices` | as it is asked; options in the order of A, B, C… |
| `answer`, `answer_kind`, `tolerance` | the answer, how it is compared, relative tolerance of a number |
| `accepted` | all answers that count, where there are several |
| `regions` | what matters for the answer: label, number of the picture from 0, box `[x1, y1, x2, y2]` in its pixels |
| `difficulty` | from 0 to 1 |
| `ground_truth` | what the verifier takes, as JSON |
| `images` | the pictures |

## How an answer is scored

    from {verifier} import score, score_bare     # in this folder; needs {needs} alone

    score("<think>…</think><answer>3</answer>", row["ground_truth"])     # 1.0 or 0.0
    score_bare("3", row["ground_truth"])                                 # a bare answer

No picture of `test` is in `train`, whatever the seed: the split is a hash of the pixels.

## Version

{manifest}
"""


def write_dataset(questions: ExportedQuestions, folder: Path) -> None:
    """``README.md`` (the card), ``data/*.parquet``, the verifier, ``manifest.json``."""
    for split, tasks in questions.splits.items():
        columns = {
            "id": pa.array([task.id for task in tasks]),
            "question": pa.array([task.question for task in tasks]),
            "choices": pa.array([list(task.choices) for task in tasks], _TEXTS),
            "answer": pa.array([task.answer for task in tasks]),
            "answer_kind": pa.array([task.answer_kind for task in tasks]),
            "tolerance": pa.array([task.tolerance for task in tasks]),
            "accepted": pa.array([list(task.accepted) for task in tasks], _TEXTS),
            "regions": pa.array([regions(task) for task in tasks], _REGION),
            "difficulty": pa.array([task.difficulty for task in tasks]),
            "ground_truth": pa.array([ground_truth_of(task) for task in tasks]),
        }
        write_table(columns, [questions.picture_bytes(task) for task in tasks], folder / "data" / f"{split}.parquet")
    manifest = questions.manifest("dataset")
    card = _CARD.format(
        family=questions.family,
        licence=questions.licence,
        size=_size(sum(map(len, questions.splits.values()))),
        version=manifest["saccade"],
        folder=folder,
        verifier=write_bundle(folder),
        needs=", ".join(NEEDS),
        manifest="    " + json.dumps(manifest, indent=2).replace("\n", "\n    "),
    )
    write_bytes_atomic(folder / "README.md", card.encode())
    write_manifest(questions, folder, "dataset")


def _size(rows: int) -> str:
    """The hub's category of a size."""
    bounds = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for bound, name in bounds if rows < bound), "1M<n<10M")
