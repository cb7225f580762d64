"""Questions of a family, drawn to be exported: two splits, their prompts, and a manifest that says what they are."""

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.distribution import __version__
from saccade.errors import UserError
from saccade.interop.exports.bundle import bundle_hash, bundle_name
from saccade.interop.exports.verifier import ground_truth_of
from saccade.media.encode import png_bytes
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.own_code import own_file
from saccade.plain_files import ANY_BYTES, plain_bytes
from saccade.protocols.instructions import Style
from saccade.protocols.tagged import direct_protocol
from saccade.tasks.procedural import Family, family_named, generate
from saccade.types import Json, Message, Task

Split = str
SPLITS: Mapping[Split, str] = {"train": "train", "test": "held_out"}
"""The names of the splits in exported files, and those of Saccade's that they are drawn from."""

MANIFEST = "manifest.json"
FORMAT = 1
"""Version of the exported files' layout."""

_VIEW = ResizeRule(factor=28, min_pixels=1, max_pixels=1 << 30, convention="absolute")
"""Read by no prompt without tools."""


@dataclass(frozen=True, kw_only=True)
class ExportedQuestions:
    """The questions of an export with the store that holds their pictures."""

    family: str
    source_sha256: str | None
    """Of the file of a family of the user's own; None for one that ships, which the version of Saccade says."""
    seed: int
    difficulty: float
    splits: Mapping[Split, Sequence[Task]]
    media: MediaStore
    licence: str = "apache-2.0"
    style: Style = "full"

    def picture_bytes(self, task: Task) -> list[bytes]:
        """The task's pictures as PNG, in their order."""
        return [png_bytes(self.media.get(image)) for image in task.images]

    def messages(self, task: Task) -> tuple[Message, ...]:
        """System and user message of the protocol ``direct``, which the verifier reads the reply by."""
        return direct_protocol(style=self.style).prompt(task, (), _VIEW)

    def content_hash(self) -> str:
        """SHA-256 of all questions with their pixels and ground truths."""
        digest = hashlib.sha256()
        for split, tasks in self.splits.items():
            for task in tasks:
                shown = [(image.hash, image.width, image.height) for image in task.images]
                digest.update(json.dumps([split, task.id, ground_truth_of(task), shown]).encode())
        return digest.hexdigest()

    def manifest(self, form: str) -> dict[str, Json]:
        """What was exported, by which version, with hashes."""
        return {
            "form": form,
            "format": FORMAT,
            "saccade": __version__,
            "family": self.family,
            "family_source_sha256": self.source_sha256,
            "seed": self.seed,
            "difficulty": self.difficulty,
            "questions": {split: len(tasks) for split, tasks in self.splits.items()},
            "questions_sha256": self.content_hash(),
            "verifier": bundle_name(),
            "verifier_sha256": bundle_hash(),
            "licence": self.licence,
        }


def draw_questions(
    family: Family,
    *,
    train: int,
    test: int,
    seed: int = 0,
    difficulty: float = 0.5,
    licence: str = "apache-2.0",
    style: Style = "full",
) -> ExportedQuestions:
    """So many training and held-out questions of a family; no picture is in both."""
    if train < 1 or test < 1:
        raise UserError(f"{train} training and {test} held-out questions were asked for; each must be 1 or more")
    name, _ = family_named(family)
    media = MediaStore()
    splits = {
        split: [
            generate(family, split=ours, index=index, seed=seed, media=media, difficulty=difficulty).task
            for index in range(count)
        ]
        for (split, ours), count in zip(SPLITS.items(), (train, test), strict=True)
    }
    source = own_source(family)
    return ExportedQuestions(
        family=name,
        source_sha256=hashlib.sha256(plain_bytes(source, ANY_BYTES)).hexdigest() if source else None,
        seed=seed,
        difficulty=difficulty,
        splits=splits,
        media=media,
        licence=licence,
        style=style,
    )


def own_source(family: Family) -> Path | None:
    """The file of a family of the user's own; None for one that ships, and where there is no file."""
    if isinstance(family, str):
        return own_file(family)
    found = inspect.getsourcefile(family) if inspect.isroutine(family) else None
    return None if found is None else Path(found)


def placeholder_text(message: Message) -> str:
    """A message's text with ``<image>`` where its pictures stand, as verl and EasyR1 have it."""
    said = []
    for part in message.parts:
        if not isinstance(part, str):
            said.append("<image>")
        elif "<image>" in part or "<video>" in part:
            raise UserError(
                "a question says <image> or <video>, which verl and EasyR1 read as the place of a picture: "
                f"{part.strip()[:80]!r}"
            )
        else:
            said.append(part)
    return "".join(said)


def write_manifest(questions: ExportedQuestions, folder: Path, form: str) -> None:
    """``manifest.json``."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(folder / MANIFEST, (json.dumps(questions.manifest(form), indent=2) + "\n").encode())


def regions(task: Task) -> list[dict[str, Json]]:
    """The evidence: what matters for the answer, as boxes in pixels of the original pictures."""
    return [
        {"label": target.label, "image": target.image_index, "box": list(asdict(target.box).values())}
        for target in task.targets
    ]
