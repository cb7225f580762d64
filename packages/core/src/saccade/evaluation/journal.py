"""Journal of an evaluation: each finished sample is on disk at once, by a key of all that shapes it.

``journal/NAME.jsonl`` is only ever appended to, in the order in which samples end. A run that was killed plays what is
not in it; another run that asks the same of the same model takes samples from it by their keys.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Self

from saccade.atomic import check_in_place, disk_errors, write_bytes_atomic
from saccade.codec.codecs import Codec
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.plain_files import ANY_BYTES, check_plain_below, open_plain, plain_bytes, plain_lines
from saccade.rollout.batch import PlayedAs
from saccade.rollout.episodes import RolloutRequest
from saccade.rollout.players import PlayedSample, SampleCost, SamplePlayer
from saccade.runs import line_sums
from saccade.runs.records import images_of
from saccade.runs.trajectory_json import FORMS
from saccade.types import Attempt, ImageRef, Json, Message, Task, Trajectory

FOLDER = "journal"
_VERSION = 1

logger = logging.getLogger(__name__)


def sample_key(
    request: RolloutRequest, *, prompt: Sequence[Message], asked: Mapping[str, Json], model: Mapping[str, Json]
) -> str:
    """SHA-256 of all that shapes the sample of a request.

    These are the messages with their pictures, what tools may look at, how it is asked and sampled (``asked``:
    protocol, tools, limits, temperature), the identity of the model, and the seed.
    """
    task = request.task
    shaped: Json = {
        "version": _VERSION,
        "model": dict(model),
        "asked": dict(asked),
        "prompt": [[message.role, [_part(part) for part in message.parts]] for message in prompt],
        "images": [image.hash for image in task.images],
        "choices": list(task.choices),
        "corpus": [task.corpus, task.document],
        "times": list(task.frame_times_s),
        "seed": request.seed,
        "sample": request.sample,
    }
    return hashlib.sha256(json.dumps(shaped, sort_keys=True).encode("ascii")).hexdigest()


def _part(part: str | ImageRef) -> Json:
    return part if isinstance(part, str) else {"image": part.hash}


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalLine:
    """A sample as its journal keeps it."""

    key: str
    cost: SampleCost
    trajectory: Trajectory


SAMPLES = Codec({**FORMS, JournalLine: Form(flat=("cost",))})


class SampleJournal:
    """A journal that this process appends to; ``played`` holds what was in it, by key, the newest of each."""

    def __init__(self, path: Path, *, media: MediaStore, media_directory: Path, retry_failed: bool = False) -> None:
        """Reads what is there. A line that is damaged, or that a killed process was in the middle of, is taken out.

        ``retry_failed`` leaves samples that the machine failed out. UserError for a line that cannot be read.
        """
        self._path, self._media, self._directory = path, media, media_directory
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            media_directory.mkdir(parents=True, exist_ok=True)
        check_plain_below(path.parent)
        _take_out_broken(path)
        self.played = dict(_readable(path, media_directory, retry_failed=retry_failed))
        with disk_errors(path):
            self._file: IO[bytes] = path.open("ab")
            self._sums: IO[bytes] = line_sums.line_sums_of(path).open("ab", buffering=0)

    def add(self, key: str, task: Task, played: PlayedSample) -> PlayedSample:
        """Keeps a sample, its pictures first; it is on the disk when this returns."""
        kept = replace(played, trajectory=without_logprobs(played.trajectory))
        text = SAMPLES.text(JournalLine(key=key, cost=kept.cost, trajectory=kept.trajectory))
        line = f"{text}\n".encode("ascii")
        check_in_place(self._file.fileno(), self._path)
        with disk_errors(self._directory):
            for image in {one.hash: one for one in images_of(Attempt(task=task, trajectory=kept.trajectory))}.values():
                self._media.export(image, self._directory)
        try:
            # First, so that a kill leaves no line without it.
            self._sums.write(line_sums.line_sum(line))
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise MachineError(f"{self._path}: {error.strerror}; free some space and go on with --resume") from error
        self.played[key] = kept
        return kept

    def restore(self, played: PlayedSample) -> None:
        """The pictures of a kept sample, into the store; UserError for one that is not what its name says."""
        self._take_pictures(played, self._directory)

    def take(self, other: Path, key: str, task: Task, played: PlayedSample) -> None:
        """A sample from another run's directory: its pictures, then itself."""
        self._take_pictures(played, other / "media")
        self.add(key, task, played)

    def _take_pictures(self, played: PlayedSample, directory: Path) -> None:
        for image in _tool_pictures(played.trajectory):
            path = directory / f"{image.hash}.png"
            if image.hash not in self._media and self._media.add_file(path).hash != image.hash:
                raise UserError(f"{path}: the picture does not match its name; delete it, its sample is played again")

    def forget_foreign(self, wanted: Mapping[str, RolloutRequest]) -> None:
        """Forgets samples under the key of a request that they were not played for: their seeds are other ones."""
        for key in [key for key in wanted if key in self.played and not _is_of(self.played[key], wanted[key])]:
            del self.played[key]
            logger.warning("%s: the sample of key %s belongs to another request; it is played again", self._path, key)

    def close(self) -> None:
        self._file.close()
        self._sums.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def without_logprobs(trajectory: Trajectory) -> Trajectory:
    """The trajectory without its log-probabilities, which differ by rounding with the company in a batch."""
    return replace(trajectory, segments=tuple(replace(segment, logprobs=()) for segment in trajectory.segments))


def play_missing(
    requests: Sequence[RolloutRequest],
    keys: Sequence[str],
    *,
    player: SamplePlayer,
    how: PlayedAs,
    journal: SampleJournal,
    reuse: Iterable[Path] = (),
    on_finished: Callable[[Trajectory], None],
) -> list[PlayedSample]:
    """A sample for each request: those of the journal, equal ones of other runs, and the rest played now.

    ``reuse`` are directories of other runs; what the machine failed there is played. Equal requests are played once.
    """
    wanted = dict(zip(keys, requests))
    journal.forget_foreign(wanted)
    for run in reuse:
        lacking = {key for key in wanted if key not in journal.played}
        for key, played in _of_other_run(run, lacking):
            if not _is_of(played, wanted[key]):
                raise UserError(
                    f"--reuse {run}: the sample of key {key} belongs to another request; its journal was changed"
                )
            journal.take(run, key, wanted[key].task, played)
    missing = [key for key in wanted if key not in journal.played]
    for key in wanted:
        if key in journal.played:
            journal.restore(journal.played[key])
            on_finished(journal.played[key].trajectory)
    if len(missing) < len(wanted):
        logger.info(
            "%d of %d samples are reused; %d are played",
            len(wanted) - len(missing),
            len(wanted),
            len(missing),
        )

    def keep(index: int, played: PlayedSample) -> None:
        kept = journal.add(missing[index], wanted[missing[index]].task, played)
        on_finished(kept.trajectory)

    if missing:
        player.play([wanted[key] for key in missing], how, keep)
    return [_as_requested(journal.played[key], request) for key, request in zip(keys, requests)]


def _is_of(played: PlayedSample, request: RolloutRequest) -> bool:
    """Whether a sample has the seed and number of a request, which are part of its key."""
    return (played.trajectory.seed, played.trajectory.sample) == (request.seed, request.sample)


def _as_requested(played: PlayedSample, request: RolloutRequest) -> PlayedSample:
    """Two questions that are asked alike may have other ids, and are played once."""
    trajectory = replace(
        played.trajectory,
        task_id=request.task.id,
        family=request.task.family,
        stream=request.stream,
        sample=request.sample,
        seed=request.seed,
    )
    return replace(played, trajectory=trajectory)


def _of_other_run(run: Path, keys: set[str]) -> Iterable[tuple[str, PlayedSample]]:
    files = sorted((run / FOLDER).glob("*.jsonl"))
    if not files:
        raise UserError(f"--reuse {run}: there is no journal of an evaluation (journal/NAME.jsonl)")
    for file in files:
        for key, played in _readable(file, run / "media", retry_failed=True):
            if key in keys:
                yield key, played


def _readable(path: Path, media: Path, *, retry_failed: bool) -> Iterable[tuple[str, PlayedSample]]:
    """The samples of a journal whose pictures are all there, in its order."""
    if not path.exists():
        return
    known = line_sums.known_sums(path)
    with open_plain(path) as file:
        for number, line in enumerate(plain_lines(file), start=1):
            if not line.endswith(b"\n"):
                # Another run that is still being written.
                return
            if known is not None and line_sums.line_sum(line) not in known:
                logger.warning("%s:%d is damaged; its sample is played again", path, number)
                continue
            try:
                key, played = _from_line(line)
            except (ValueError, RecursionError, BrokenRecordError) as error:
                raise UserError(f"{path}:{number}: {error}; delete this line, and its sample is played again") from None
            if retry_failed and played.trajectory.status == "failed":
                continue
            if all((media / f"{image.hash}.png").exists() for image in _tool_pictures(played.trajectory)):
                yield key, played


def _from_line(line: bytes) -> tuple[str, PlayedSample]:
    read = SAMPLES.reader(JournalLine).from_text(line, "the sample")
    return read.key, PlayedSample(trajectory=read.trajectory, cost=read.cost)


def _tool_pictures(trajectory: Trajectory) -> list[ImageRef]:
    """Pictures that tools made; those of the question come with the question."""
    shown: dict[str, ImageRef] = {}
    for turn in trajectory.turns:
        for images in (turn.result and turn.result.images, turn.observation and turn.observation.images):
            shown |= {image.hash: image for image in images or ()}
    return list(shown.values())


def _take_out_broken(path: Path) -> None:
    place = line_sums.line_sums_of(path)
    with disk_errors(path):
        content = plain_bytes(path, ANY_BYTES) if path.exists() else b""
        known = line_sums.known_sums(path)
        lines = [line + b"\n" for line in content.split(b"\n")[:-1]]
        whole = [line for line in lines if known is None or line_sums.line_sum(line) in known]
        if len(whole) < len(lines):
            logger.warning("%s: %d damaged samples are played again", path, len(lines) - len(whole))
        if b"".join(whole) != content:
            write_bytes_atomic(path, b"".join(whole))
        place.parent.mkdir(exist_ok=True)
        write_bytes_atomic(place, line_sums.sums_of_lines(whole))
