"""Faults planted one at a time in a copy of the source, to see that the tests which guard a mechanism fail.

``python tests/planted.py`` plants all, ``python tests/planted.py journal KL`` those of mechanisms with these words.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from places import ROOT, source_file

COPIED = (
    "packages",
    "tests",
    "docs",
    "examples",
    "benchmarks",
    "conftest.py",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong line: ``new`` in place of ``old``, which stands once in ``file``, a path below ``saccade``."""

    mechanism: str
    file: str
    old: str
    new: str
    tests: str
    """That must fail."""


def read_faults() -> tuple[Fault, ...]:
    """Those of ``planted.txt``: a line ``mechanism | file | tests``, then lines of old text after -, of new after +."""
    heads: list[list[str]] = []
    texts: list[dict[str, list[str]]] = []
    for line in (ROOT / "tests/planted.txt").read_text(encoding="utf-8").splitlines():
        if line[0] in "-+":
            texts[-1][line[0]].append(line[1:])
        else:
            heads.append(line.split(" | "))
            texts.append({"-": [], "+": []})
    return tuple(
        Fault(mechanism, file, "\n".join(text["-"]), "\n".join(text["+"]), tests)
        for (mechanism, file, tests), text in zip(heads, texts, strict=True)
    )


FAULTS = read_faults()


def plant(fault: Fault, root: Path) -> bytes:
    """Writes the fault into the source below ``root``; what stood there. ValueError where it does not fit once."""
    path = source_file(fault.file, root)
    before = path.read_bytes()
    if (count := before.count(fault.old.encode())) != 1:
        raise ValueError(f"{fault.mechanism}: {fault.file} has {fault.old!r} {count} times; mend tests/planted.txt")
    path.write_bytes(before.replace(fault.old.encode(), fault.new.encode()))
    return before


def outcome(fault: Fault, root: Path) -> str:
    """``caught``, ``NOT CAUGHT``, or how else the tests ended, with the fault in the copy at ``root``."""
    before = plant(fault, root)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, root.glob("packages/*/src"))),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", fault.tests]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    source_file(fault.file, root).write_bytes(before)
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    # An error of the collection says nothing about the tests.
    ends = {0: "NOT CAUGHT", 1: "caught"}
    return f"{ends.get(run.returncode, f'pytest ended with {run.returncode}')}  {' '.join(failed)[:160]}".strip()


def main(words: Sequence[str]) -> int:
    chosen = [one for one in FAULTS if not words or any(word in one.mechanism for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, Path(folder) / name)
        for fault in chosen:
            ended = outcome(fault, Path(folder))
            missed += not ended.startswith("caught")
            print(f"{fault.mechanism:55} {fault.tests:45} {ended}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
