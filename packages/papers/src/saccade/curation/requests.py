"""What the commands of curations have in common: models by role, folder, seed and settings, questions."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade.config.context import RecipeContext, read_own_tasks
from saccade.config.sources import family_inputs
from saccade.media.store import MediaStore
from saccade.media.video import MAX_FRAMES
from saccade.tasks.procedural import generate
from saccade.types import Json, Task

logger = logging.getLogger(__name__)

FAMILY_QUESTIONS = 64
"""Drawn questions, unless the command says how many."""


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A chat model as options name it: a server or a checkpoint directory, and the model's name at the server."""

    where: str
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.where} {self.name or ''}".strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class CurationRequest:
    """Arguments of every curation's command line."""

    models: Mapping[str, NamedModel] = field(default_factory=dict)
    """By role, which is also the name of the option; roles without a model are left out."""
    api_key_env: str
    out: Path
    seed: int
    overrides: tuple[str, ...]
    resume: bool

    def models_used(self) -> dict[str, Json]:
        """The models by role, for a record of what decides a curation."""
        return {role: str(model) for role, model in self.models.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionsRequest(CurationRequest):
    """Arguments of a curation of questions: the user's own, or those of a procedural family."""

    data: Path | None
    family: str | None = None
    count: int | None
    skip_bad_rows: bool
    max_frames: int = MAX_FRAMES

    def questions(self, media: MediaStore, *, difficulty: float) -> Sequence[Task]:
        """The questions, their pictures in ``media``; ``difficulty`` is that of drawn ones."""
        if self.family is None:
            assert self.data is not None
            if any(one.partition("=")[0].strip() == "difficulty" for one in self.overrides):
                logger.warning("set without effect: difficulty (no --family draws the questions)")
            context = RecipeContext(
                data=self.data, skip_bad_rows=self.skip_bad_rows, media=media, max_frames=self.max_frames
            )
            return read_own_tasks(self.data, context)[: self.count]
        drawn = range(self.count or FAMILY_QUESTIONS)
        return [
            generate(self.family, split="train", index=index, seed=self.seed, media=media, difficulty=difficulty).task
            for index in drawn
        ]

    def family_used(self) -> dict[str, Json]:
        """The source of a family of the user's own, for a record of what decides a curation."""
        return {} if self.family is None else {**family_inputs(self.family)}
