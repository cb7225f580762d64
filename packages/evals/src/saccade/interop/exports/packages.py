"""Exports as packages that pip installs: an environment of ``verifiers``, one of Gymnasium, and what all have.

The first needs nothing of Saccade's but the verifier in it. The other two are Saccade's own environment, with tools and
several turns, and need Saccade installed; a family of the user's own goes along as ``family.py``.
"""

import re
import shutil
from pathlib import Path

import pyarrow as pa

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.distribution import __version__
from saccade.errors import UserError
from saccade.interop.exports.bundle import NEEDS, write_bundle
from saccade.interop.exports.columns import write_table
from saccade.interop.exports.questions import ExportedQuestions, own_source, write_manifest
from saccade.interop.exports.verifier import ground_truth_of
from saccade.protocols.instructions import question_text
from saccade.tasks.procedural import Family

_PYPROJECT = """[project]
name = "{dist}"
version = "{version}"
description = "{family}: questions about drawn pictures, as an environment of {form}"
requires-python = ">=3.11"
dependencies = [{needs}]
{scripts}
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""

_VERIFIERS = '''"""{family} as an environment of verifiers: one turn, pictures as data URLs."""

import base64
from pathlib import Path

import verifiers as vf
from datasets import Dataset, Image, load_dataset

from {verifier} import score_bare, verdict

DATA = Path(__file__).parent / "data"


def answer_reward(completion, answer):
    """1.0 for a right <answer>, else 0.0."""
    return verdict(completion, answer).score


def bare_reward(completion, answer):
    """1.0 where the whole reply is the right answer."""
    said = completion[-1].content if completion else ""
    return score_bare(said if isinstance(said, str) else "", answer)


def well_formed(completion, answer):
    """1.0 for exactly one think block and one answer; it weighs nothing."""
    return float(verdict(completion, answer).is_well_formed)


class PictureEnv(vf.SingleTurnEnv):
    """Puts the pictures of a question into its message when a rollout begins.

    A column of Arrow would give every part of a message all keys of all parts, and servers refuse empty ones.
    """

    async def setup_state(self, state):
        urls = iter(state["info"]["pictures"])
        for message in state["prompt"]:
            message["content"] = [
                {{"type": "image_url", "image_url": {{"url": next(urls)}}}}
                if (part["type"] if isinstance(part, dict) else part.type) == "image"
                else {{"type": "text", "text": part["text"] if isinstance(part, dict) else part.text}}
                for part in message["content"]
            ]
        return await super().setup_state(state) or state


def load_environment(
    num_train_examples: int = -1, num_eval_examples: int = -1, bare: bool = False, **options
) -> vf.Environment:
    """The environment with so many questions of each split; -1 for all.

    With ``bare`` there are no instructions, and the whole reply is the answer, as agents behind a server give it.
    """
    funcs = [bare_reward] if bare else [answer_reward, well_formed]
    rubric = vf.Rubric(funcs=funcs, weights=[1.0] if bare else [1.0, 0.0])
    return PictureEnv(
        dataset=lambda: _rows("train", num_train_examples, bare),
        eval_dataset=lambda: _rows("test", num_eval_examples, bare),
        rubric=rubric,
        **options,
    )


def _rows(split: str, count: int, bare: bool) -> Dataset:
    found = load_dataset("parquet", data_files=str(DATA / f"{{split}}.parquet"), split="train")
    found = found.cast_column("images", [Image(decode=False)])
    rows = found if count < 0 else found.select(range(min(count, len(found))))
    return rows.map(_with_urls, remove_columns=["images", "task", "asked"], fn_kwargs={{"bare": bare}})


def _with_urls(row, bare):
    urls = ["data:image/png;base64," + base64.b64encode(one["bytes"]).decode("ascii") for one in row["images"]]
    parts = [*({{"type": "image", "text": ""}} for _ in urls), {{"type": "text", "text": row["asked"]}}]
    prompt = [{{"role": "user", "content": parts}}] if bare else row["prompt"]
    return {{"prompt": prompt, "info": {{"question_id": row["task"], "pictures": urls}}}}
'''

_GYMNASIUM = '''"""{family} with Gymnasium: ``gymnasium.make("{package}:saccade/{name}-v0")``."""

import gymnasium
from saccade.envs import VisualReasoningEnv

{where}


def make(**options):
    """Saccade's environment; ``options`` are those of ``saccade.envs.VisualReasoningEnv``."""
    return VisualReasoningEnv(**{{"family": FAMILY, "seed": {seed}, "difficulty": {difficulty}, **options}})


gymnasium.register(id="saccade/{name}-v0", entry_point=make)
'''


def package_name(family: str) -> str:
    """The name of a family's package."""
    return "saccade_" + re.sub(r"\W+", "_", family).strip("_")


def write_verifiers(questions: ExportedQuestions, folder: Path) -> None:
    """``pip install FOLDER``, then ``vf-eval NAME``; questions, verifier and rubric are in it."""
    package = package_name(questions.family)
    inner = folder / package
    for split, tasks in questions.splits.items():
        columns = {
            "prompt": pa.array(
                [
                    [{"role": one.role, "content": _parts(one.parts)} for one in questions.messages(task)]
                    for task in tasks
                ]
            ),
            "answer": pa.array([ground_truth_of(task) for task in tasks]),
            "task": pa.array([task.id for task in tasks]),
            "asked": pa.array([question_text(task, "brief") for task in tasks]),
        }
        write_table(columns, [questions.picture_bytes(task) for task in tasks], inner / "data" / f"{split}.parquet")
    verifier = write_bundle(inner, within=package)
    source = _VERIFIERS.format(family=questions.family, verifier=verifier)
    write_bytes_atomic(inner / "__init__.py", source.encode())
    needs = ("verifiers>=0.1.14,<0.2", "datasets", "pillow", *NEEDS)
    finish_package(questions, folder, "verifiers", needs, f"pip install {folder} && vf-eval {package} -m MODEL -b URL")


def write_gymnasium(questions: ExportedQuestions, folder: Path, family: Family) -> None:
    """``pip install FOLDER``, then ``gymnasium.make("NAME:saccade/FAMILY-v0")``."""
    package = package_name(questions.family)
    where = copied_family(family, folder / package)
    source = _GYMNASIUM.format(
        family=questions.family,
        package=package,
        where=where,
        name=package.removeprefix("saccade_"),
        seed=questions.seed,
        difficulty=questions.difficulty,
    )
    write_bytes_atomic(folder / package / "__init__.py", source.encode())
    use = f'pip install {folder}, then gymnasium.make("{package}:saccade/{package.removeprefix("saccade_")}-v0")'
    needs = (f"saccade-core>={__version__}", f"saccade-gym>={__version__}")
    finish_package(questions, folder, "gymnasium", needs, use)


def copied_family(family: Family, folder: Path) -> str:
    """The line that names the family in a module of this folder; a file of the user's own is copied there.

    UserError where there is no file to copy. What the file imports of its neighbours does not go along.
    """
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    source = own_source(family)
    if source is None and isinstance(family, str):
        return f"FAMILY = {family!r}"
    if source is None:
        raise UserError(f"the family {family!r} has no source file to export; write its function to one")
    shutil.copyfile(source, folder / "family.py")
    part = family.partition(".py:")[2] if isinstance(family, str) else family.__name__
    return f"from pathlib import Path\n\nFAMILY = str(Path(__file__).with_name('family.py')) + {':' + part!r}"


def _parts(parts: tuple[object, ...]) -> list[dict[str, str]]:
    return [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "text": ""} for part in parts
    ]


def finish_package(
    questions: ExportedQuestions,
    folder: Path,
    form: str,
    needs: tuple[str, ...],
    use: str,
    scripts: str = "",
    front: str = "",
) -> None:
    """Write the project file, the README (``front`` first) and the manifest; ``use`` is a command."""
    package = package_name(questions.family)
    project = _PYPROJECT.format(
        dist=package.replace("_", "-"),
        version=__version__,
        family=questions.family,
        form=form,
        needs=", ".join(f'"{need}"' for need in needs),
        scripts=scripts,
        package=package,
    )
    write_bytes_atomic(folder / "pyproject.toml", project.encode())
    write_bytes_atomic(folder / "README.md", f"{front}# {questions.family} for {form}\n\n    {use}\n".encode())
    write_manifest(questions, folder, form)
    write_bytes_atomic(folder / package / "manifest.json", (folder / "manifest.json").read_bytes())
