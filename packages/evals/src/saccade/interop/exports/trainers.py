"""Exports for trainers: parquet files in the columns of verl, EasyR1 and TRL, with a reward function beside them.

Each folder holds ``train.parquet``, ``test.parquet``, ``reward.py``, the verifier that it imports, and the manifest.
None of them needs Saccade where it is used: TRL's ``environment.py`` brings Saccade's own environment along.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from saccade.atomic import write_bytes_atomic
from saccade.interop.exports.bundle import ENVIRONMENT, write_bundle
from saccade.interop.exports.columns import write_table
from saccade.interop.exports.questions import ExportedQuestions, placeholder_text, write_manifest
from saccade.interop.exports.verifier import ground_truth_of
from saccade.types import Message, Task

_REWARD = '''"""{title}: the reward of {family}, written by Saccade beside its questions."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from {verifier} import score  # noqa: E402

{body}'''

_VERL = '''
def compute_score(data_source, solution_str, ground_truth, extra_info=None, **others):
    """verl's shape: 1.0 for a right <answer>, else 0.0."""
    found = score([{"role": "assistant", "content": solution_str}], ground_truth)
    return {"score": found, "acc": found}
'''

_EASYR1 = '''REWARD_NAME = "saccade"
REWARD_TYPE = "batch"


def compute_score(reward_inputs, **others):
    """EasyR1's shape: ``overall`` and ``accuracy`` for each response."""
    found = [score(one["response"], one["ground_truth"]) for one in reward_inputs]
    return [{"overall": value, "accuracy": value} for value in found]
'''

_TRL = '''
def answer_reward(completions, ground_truth, **columns):
    """TRL's shape: 1.0 for each completion whose <answer> is right, else 0.0."""
    return [score(completion, truth) for completion, truth in zip(completions, ground_truth, strict=True)]
'''

_TRL_ENVIRONMENT = '''"""Several turns with tools, for ``GRPOTrainer(environment_factory=...)``.

    environment, rows = environment_and_rows(view)     # how the model's processor resizes pictures
    GRPOTrainer(environment_factory=environment, reward_funcs=answer_score, train_dataset=Dataset.from_list(rows), ...)
"""

import sys
from pathlib import Path

from datasets import load_dataset

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from {bundle}.interop.exports.packed import packed_task  # noqa: E402
from {bundle}.interop.trl.environment import answer_score, environment_class, rows  # noqa: E402
from {bundle}.media.resize import ResizeRule  # noqa: E402
from {bundle}.media.store import MediaStore  # noqa: E402

__all__ = ["ResizeRule", "answer_score", "environment_and_rows"]


def environment_and_rows(view, *, split="train", **options):
    """The class and the rows of a split; ``options`` are those of ``environment_class``."""
    media = MediaStore()
    tasks = [
        packed_task(row["task"], row["ground_truth"], [media.add(picture) for picture in row["images"]])
        for row in load_dataset("parquet", data_files=str(HERE / f"{{split}}.parquet"), split="train")
    ]
    return environment_class(tasks, media=media, view=view, **options), rows(tasks, view=view)
'''

_README = {
    "verl": """# {family} for verl

    python3 -m verl.trainer.main_ppo data.train_files={out}/train.parquet data.val_files={out}/test.parquet \\
        data.image_key=images custom_reward_function.path={out}/reward.py custom_reward_function.name=compute_score ...
""",
    "easyr1": """# {family} for EasyR1

    python3 -m verl.trainer.main data.train_files={out}/train.parquet data.val_files={out}/test.parquet \\
        data.prompt_key=problem data.answer_key=answer data.image_key=images data.format_prompt=null \\
        worker.reward.reward_function={out}/reward.py:compute_score ...

The instructions stand in `problem`, so no format prompt is added.
""",
    "trl": """# {family} for TRL

    from datasets import load_dataset
    from reward import answer_reward                      # in this folder

    rows = load_dataset("parquet", data_files="{out}/train.parquet", split="train")
    GRPOTrainer(model=..., reward_funcs=answer_reward, train_dataset=rows, ...)

`environment.py` plays the same questions in several turns with tools, for `environment_factory`.
""",
}


def write_verl(questions: ExportedQuestions, folder: Path) -> None:
    """verl's columns: data_source, prompt, images, ability, reward_model, extra_info."""
    source = f"saccade/{questions.family}"
    for split, tasks in questions.splits.items():
        columns: dict[str, Sequence[object]] = {
            "data_source": [source] * len(tasks),
            "prompt": [[_placeholder_message(message) for message in questions.messages(task)] for task in tasks],
            "ability": ["visual_reasoning"] * len(tasks),
            "reward_model": [{"style": "rule", "ground_truth": ground_truth_of(task)} for task in tasks],
            "extra_info": [
                {"split": split, "index": index, "task": task.id, "difficulty": task.difficulty}
                for index, task in enumerate(tasks)
            ],
        }
        _write_split(questions, tasks, columns, folder / f"{split}.parquet")
    _finish(questions, folder, "verl", _VERL)


def write_easyr1(questions: ExportedQuestions, folder: Path) -> None:
    """EasyR1's columns: images, problem, answer. Its one message begins with the instructions."""
    for split, tasks in questions.splits.items():
        columns: dict[str, Sequence[object]] = {
            "id": [task.id for task in tasks],
            "problem": ["\n\n".join(map(placeholder_text, questions.messages(task))) for task in tasks],
            "answer": [ground_truth_of(task) for task in tasks],
        }
        _write_split(questions, tasks, columns, folder / f"{split}.parquet")
    _finish(questions, folder, "easyr1", _EASYR1)


def write_trl(questions: ExportedQuestions, folder: Path) -> None:
    """TRL's columns: prompt (messages with typed parts), images; and the ground truth that the reward reads."""
    for split, tasks in questions.splits.items():
        columns: dict[str, Sequence[object]] = {
            "prompt": [[_typed_message(message) for message in questions.messages(task)] for task in tasks],
            "ground_truth": [ground_truth_of(task) for task in tasks],
            "task": [task.id for task in tasks],
        }
        _write_split(questions, tasks, columns, folder / f"{split}.parquet")
    bundle = write_bundle(folder, entries=(*ENVIRONMENT, "saccade.interop.trl.environment"))
    write_bytes_atomic(folder / "environment.py", _TRL_ENVIRONMENT.format(bundle=bundle).encode())
    _finish(questions, folder, "trl", _TRL)


def _write_split(
    questions: ExportedQuestions, tasks: Sequence[Task], columns: Mapping[str, Sequence[object]], path: Path
) -> None:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    write_table(arrays, [questions.picture_bytes(task) for task in tasks], path)


def _placeholder_message(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": placeholder_text(message)}


def _typed_message(message: Message) -> dict[str, object]:
    parts = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "text": None}
        for part in message.parts
    ]
    return {"role": message.role, "content": parts}


def _finish(questions: ExportedQuestions, folder: Path, form: str, body: str) -> None:
    verifier = write_bundle(folder)
    reward = _REWARD.format(title=form, family=questions.family, verifier=verifier, body=body)
    write_bytes_atomic(folder / "reward.py", reward.encode())
    readme = _README[form].format(family=questions.family, out=folder)
    write_bytes_atomic(folder / "README.md", readme.encode())
    write_manifest(questions, folder, form)
