"""Bytes of drawn tasks: the same in another process, with other threads, and with the libraries of another day.

Golden hashes are kept in a file with the versions that made them, so that a picture that came out differently is told
together with what has changed since.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from saccade.atomic import write_text_atomic
from saccade.errors import UserError
from saccade.evaluation.audit.findings import Checked, none_of
from saccade.media.store import MediaStore
from saccade.runs.task_json import task_to_json
from saccade.tasks.procedural import Family, generate
from saccade.types import Json

LIBRARIES = ("numpy", "pillow")
PLACES: tuple[tuple[str, int, float], ...] = tuple(
    (split, index, difficulty) for index, difficulty in enumerate((0.0, 0.5, 1.0)) for split in ("train", "held_out")
)
SHIPPED = Path(__file__).with_name("golden_hashes.json")
"""Hashes of the families that ship."""
TIMEOUT_S = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenHashes:
    """Hashes by family and task, and the versions of the libraries that drew them."""

    versions: Mapping[str, str]
    hashes: Mapping[str, Mapping[str, str]]

    @staticmethod
    def read(path: Path) -> "GoldenHashes":
        """UserError where the file is not one of them."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return GoldenHashes(versions=dict(found["versions"]), hashes=dict(found["hashes"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"--golden {path} holds no golden hashes ({error}); --write-golden makes a file") from error

    def write(self, path: Path) -> None:
        content: Json = {"versions": self.versions, "hashes": self.hashes}
        write_text_atomic(path, json.dumps(content, indent=1, sort_keys=True) + "\n")


def versions_here() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def task_hashes(family: Family, *, seed: int, is_backwards: bool = False) -> dict[str, str]:
    """SHA-256, cut to 16 digits, of task, pixels and expert at ``PLACES``, which may be drawn in the other order."""
    media = MediaStore(cache_bytes=32 << 20)
    found: dict[str, str] = {}
    for split, index, difficulty in reversed(PLACES) if is_backwards else PLACES:
        drawn = generate(family, split=split, index=index, seed=seed, media=media, difficulty=difficulty)
        text = json.dumps(task_to_json(drawn.task), sort_keys=True) + repr(drawn.turns)
        found[f"{split}/{index}/{difficulty}"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def bytes_finding(family: Family, name: str, *, seed: int, golden: GoldenHashes | None) -> Checked:
    """Tasks that differ in another process with other threads, drawn in the other order, or from the golden hashes."""
    check = "bytes"
    if not isinstance(family, str):
        note = "a function cannot be handed to another process; name it FILE.py:NAME"
        return Checked(check=check, verdict="not applicable", note=note)
    here, there = task_hashes(family, seed=seed), _elsewhere(family, seed)
    differing = [place for place in here if here[place] != there.get(place)]
    if differing:
        note = "in another process, with 3 threads and another hash seed, drawn in the other order"
        return none_of(check, [place in differing for place in here], note=note, example=f"{name} {differing[0]}")
    wanted = golden.hashes.get(name) if golden else None
    if golden is None or wanted is None or seed != 0:
        return none_of(check, [False] * len(here), note="the same in another process; there are no golden hashes of it")
    changed = [place for place, digest in wanted.items() if here.get(place) != digest]
    return none_of(
        check,
        [place in changed for place in wanted],
        note=_what_changed(golden.versions) if changed else "the same in another process, and the golden ones",
        example=f"{name} {changed[0]}" if changed else "",
    )


def _what_changed(made_with: Mapping[str, str]) -> str:
    here = versions_here()
    changed = [f"{key} {made_with.get(key)} there, {here[key]} here" for key in here if made_with.get(key) != here[key]]
    if changed:
        return f"other pixels or texts than the golden ones, drawn with other libraries: {', '.join(changed)}"
    used = ", ".join(f"{key} {value}" for key, value in here.items())
    return f"other pixels or texts than the golden ones with the same {used}: the family's code has changed"


def _elsewhere(family: str, seed: int) -> dict[str, str]:
    code = "import sys; from saccade.evaluation.audit.golden import tell; tell(sys.argv[1], int(sys.argv[2]))"
    threads = {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}
    other = {**os.environ, "PYTHONHASHSEED": "4242", **threads, "TZ": "Asia/Kathmandu"}
    command = [sys.executable, "-c", code, family, str(seed)]
    done = subprocess.run(command, env=other, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise UserError(f"the family {family!r} cannot be drawn in another process: {done.stderr.strip()[-400:]}")
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def tell(family: str, seed: int) -> None:
    """Writes the hashes to the standard output, as the other process does."""
    sys.stdout.write(json.dumps(task_hashes(family, seed=seed, is_backwards=True)) + "\n")


def golden_of(families: Sequence[tuple[str, Family]]) -> GoldenHashes:
    """The hashes of these families, by name, at seed 0."""
    return GoldenHashes(versions=versions_here(), hashes={name: task_hashes(one, seed=0) for name, one in families})
