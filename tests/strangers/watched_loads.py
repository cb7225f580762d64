"""Reads every input with every reader that takes its kind, watched; writes what was reached. ``python THIS PLAN.json``.

Each reader works in a fork of its own, so that one which ends the process is only its own failure. What it imports of
Saccade and transformers is imported here then, once for all that follow.
"""

import contextlib
import importlib
import io
import json
import logging
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from loaders import LOADERS
from watching import Watch

from strangers import SECRET

_LIMIT_S = 20


class OutOfTimeError(BaseException):
    """The reader took too long."""


def _ring(*_: object) -> None:
    raise OutOfTimeError


def main(plan: Path) -> None:
    sys.dont_write_bytecode = True  # the interpreter's own writing beside its packages is no reader's
    said = json.loads(plan.read_text())
    (root := Path(said["root"])).joinpath("results").mkdir()
    _live_in(root / "own" / "all", said["environment"])
    for number, name in enumerate(said["loaders"]):
        result, imported = root / "results" / f"{number}.json", root / "imported"
        if (child := os.fork()) == 0:
            try:
                before = set(sys.modules)
                result.write_text(json.dumps(read_all(name, said, root)))
                imported.write_text("\n".join(one for one in sys.modules if one not in before))
            except BaseException:
                result.write_text(json.dumps({"failed": traceback.format_exc()}))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        for module in imported.read_text().split() if imported.exists() else ():
            if module.startswith(("saccade.", "transformers.models.", "sentence_transformers.")):
                importlib.import_module(module)


def _live_in(own: Path, environment: dict[str, str]) -> None:
    for folder in ("tmp", "cache", "out"):
        (own / folder).mkdir(parents=True)
    state = {"TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state"}
    os.environ.update(environment, **{name: str(own / folder) for name, folder in state.items()})


def read_all(name: str, said: dict[str, Any], root: Path) -> dict[str, object]:
    """For each input its outcome and what was reached; the modules that opened something of an input."""
    from saccade.errors import SaccadeError

    loader, own = LOADERS[name], root / "own" / name.replace(" ", "_")
    _live_in(own, said["environment"])
    import tempfile

    tempfile.tempdir = None
    os.chdir(own)
    watch = Watch(decoys=Path(said["decoys"]), own=(own, root / "own" / "hf", root / "own" / "all"))
    watch.start()
    signal.signal(signal.SIGALRM, _ring)
    logging.disable(logging.CRITICAL)
    # Whoever answers yes to all that is asked must run nothing either.
    sys.stdin = io.StringIO("y\n" * 1000)
    found: dict[str, dict[str, object]] = {}
    for number, (label, place) in enumerate(said["inputs"][name]):
        path, out = Path(place), own / "out" / str(number)
        out.mkdir()
        started = time.process_time()
        if loader.may_write:
            copy = root / "copies" / own.name / f"{number}" / path.name
            (shutil.copytree if path.is_dir() else shutil.copyfile)(
                path, copy, **({"symlinks": True} if path.is_dir() else {})
            )
            path = copy
        printed, outcome = io.StringIO(), "read"
        with watch.over(path if path.is_dir() else path.parent, may_write=loader.may_write):
            signal.alarm(_LIMIT_S)
            try:
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                    loader.load(path, out)
            except SaccadeError as error:
                outcome = f"refused: {error}"
            except BaseException as error:
                outcome = f"broke: {type(error).__name__}: {error} {traceback.format_exc()[-600:]}"
            signal.alarm(0)
        found[label] = {
            "outcome": outcome,
            "reached": sorted(set(watch.reached)),
            "printed": printed.getvalue()[:20_000],
        }
        found[label]["seconds"] = round(time.process_time() - started, 2)
        found[label]["holds_secret"] = any(
            SECRET.encode() in one.read_bytes() for one in out.rglob("*") if one.is_file()
        )
    return {"inputs": found, "readers": sorted(watch.readers)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
