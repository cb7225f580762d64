"""Exports as packages that pip installs: an environment of ``verifiers``, one of Gymnasium, and what all have.

None of them needs Saccade where it is used: the first brings the verifier along, the others Saccade's own environment,
with tools and several turns.
"""

import itertools
import json
import re
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.distribution import __version__
from saccade.interop.exports.bundle import ENVIRONMENT, ENVIRONMENT_NEEDS, NEEDS, write_bundle
from saccade.interop.exports.questions import ExportedQuestions, write_manifest
from saccade.interop.exports.verifier import ground_truth_of
from saccade.protocols.instructions import question_text
from saccade.types import Json, Task

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

_VERIFIERS = '''"""{family} as an environment of verifiers (v1): one turn, pictures as data URLs."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarnessConfig

from {verifier} import score_bare, verdict

DATA = Path(__file__).parent / "data"

__all__ = ["Questions", "QuestionsEnv"]


class Question(vf.TaskData):
    answer: str
    bare: bool


class QuestionTask(vf.Task[Question]):
    @vf.reward(weight=1.0)
    async def answer_reward(self, trace: vf.Trace) -> float:
        """1.0 for a right <answer>, or, where the bare question was asked, a reply that is the right answer."""
        if self.data.bare:
            return score_bare(trace.last_reply, self.data.answer)
        return verdict(trace.messages, self.data.answer).score

    @vf.metric
    async def well_formed(self, trace: vf.Trace) -> float:
        """1.0 for exactly one think block and one answer."""
        return float(verdict(trace.messages, self.data.answer).is_well_formed)


class QuestionsConfig(vf.TasksetConfig):
    split: Literal["train", "test"] = "train"
    bare: bool = False
    """No instructions, and the whole reply is the answer, as agents behind a server give it."""


class Questions(vf.Taskset[QuestionTask, QuestionsConfig]):
    def load(self) -> Iterator[QuestionTask]:
        with (DATA / f"{{self.config.split}}.jsonl").open(encoding="utf-8") as rows:
            for line in rows:
                yield QuestionTask(_question(json.loads(line), self.config.bare), self.config.task)


class QuestionsEnvConfig(vf.EnvConfig):
    # A plain chat: with tools of a shell here, the model could read the answers beside the questions.
    agent: vf.AgentConfig = vf.AgentConfig(harness=NullHarnessConfig(id="null"), runtime=vf.SubprocessConfig())


class QuestionsEnv(vf.Env[QuestionsEnvConfig]):
    async def run(self, task: vf.Task, agents: vf.Agents) -> None:
        await agents.agent.run(task)


def _question(row: dict, bare: bool) -> Question:
    urls = ["data:image/png;base64," + base64.b64encode((DATA / name).read_bytes()).decode() for name in row["images"]]
    asked = [*range(len(urls)), row["asked"]] if bare else row["user"]
    parts = [
        {{"type": "text", "text": part}}
        if isinstance(part, str)
        else {{"type": "image_url", "image_url": {{"url": urls[part]}}}}
        for part in asked
    ]
    return Question(
        id=row["id"],
        prompt=[{{"role": "user", "content": parts}}],
        system_prompt=None if bare else row["system"],
        answer=row["answer"],
        bare=bare,
    )
'''

_GYMNASIUM = '''"""{family} with Gymnasium: ``gymnasium.make("{package}:saccade/{name}-v0")``."""

from pathlib import Path

import gymnasium

from {bundle}.interop.exports.packed import packed_env

DATA = Path(__file__).parent / "data"


def make(split="train", **options):
    """The questions of a split, in turns with tools: crop and zoom, ``max_turns``, ``render_mode``."""
    return packed_env(DATA, split, **options)


gymnasium.register(id="saccade/{name}-v0", entry_point=make)
'''


def package_name(family: str) -> str:
    """The name of a family's package."""
    return "saccade_" + re.sub(r"\W+", "_", family).strip("_")


def write_verifiers(questions: ExportedQuestions, folder: Path) -> None:
    """``pip install FOLDER``, then ``vf-eval NAME``; questions, verifier and rubric are in it."""
    package = package_name(questions.family)
    write_data(questions, folder / package / "data")
    verifier = write_bundle(folder / package, within=package)
    source = _VERIFIERS.format(family=questions.family, verifier=verifier)
    write_bytes_atomic(folder / package / "__init__.py", source.encode())
    needs = ("verifiers>=0.4,<0.5", *NEEDS)
    use = f"pip install {folder} && vf-eval {package} -m MODEL --client.base-url URL --env.taskset.split test --no-push"
    finish_package(questions, folder, "verifiers", needs, use)


def write_gymnasium(questions: ExportedQuestions, folder: Path) -> None:
    """``pip install FOLDER``, then ``gymnasium.make("NAME:saccade/FAMILY-v0")``."""
    package = package_name(questions.family)
    name = package.removeprefix("saccade_")
    write_data(questions, folder / package / "data")
    bundle = write_bundle(folder / package, within=package, entries=ENVIRONMENT)
    source = _GYMNASIUM.format(family=questions.family, package=package, bundle=bundle, name=name)
    write_bytes_atomic(folder / package / "__init__.py", source.encode())
    use = f'pip install {folder}, then gymnasium.make("{package}:saccade/{name}-v0")'
    finish_package(questions, folder, "gymnasium", ENVIRONMENT_NEEDS, use)


def write_data(questions: ExportedQuestions, data: Path) -> None:
    """``SPLIT.jsonl`` and the pictures, as packages read them."""
    with disk_errors(data):
        data.mkdir(parents=True, exist_ok=True)
    for split, tasks in questions.splits.items():
        lines = [json.dumps(_row(questions, task, data)) for task in tasks]
        write_bytes_atomic(data / f"{split}.jsonl", "".join(f"{line}\n" for line in lines).encode())


def _row(questions: ExportedQuestions, task: Task, data: Path) -> dict[str, Json]:
    """A question as the package reads it; a number in ``user`` is the place of a picture. Its pictures are written."""
    names: list[Json] = []
    for image, png in zip(task.images, questions.picture_bytes(task), strict=True):
        names.append(f"{image.hash}.png")
        write_bytes_atomic(data / f"{image.hash}.png", png)
    system, user = questions.messages(task)
    places = itertools.count()
    return {
        "id": task.id,
        "system": "".join(map(str, system.parts)),
        "user": [part if isinstance(part, str) else next(places) for part in user.parts],
        "asked": question_text(task, "brief"),
        "answer": ground_truth_of(task),
        "images": names,
    }


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
