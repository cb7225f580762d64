"""Runs of strangers: a folder that was copied, and is shown, reported, compared, pushed or resumed."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile_checkpoints import Touching

from saccade.evaluation.exports.imported import imported_samples, write_imported
from saccade.evaluation.exports.predictions import Prediction
from strangers import Places, Stranger, copied, edit_json, json_changed, linked

TERMINAL = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\r\n\u202eesrever\u2028"
"""A title, a cleared screen, colours by C0 and C1, a second line, a direction, a line separator."""


def _settings(changes: Callable[[Places], dict[str, Any]]) -> Callable[[Path, Places], None]:
    return json_changed("run", "settings.json", changes)


def _evaluation_named(folder: Path, places: Places) -> None:
    copied("run")(folder, places)
    (folder / "benchmarks").mkdir()
    said = {"benchmark": "vstar", "evaluation": "../../../decoys/secret"}
    (folder / "benchmarks" / "a.json").write_text(json.dumps(said))


def _terminal(folder: Path, places: Places) -> None:
    copied("run")(folder, places)
    edit_json(folder / "run.json", title=TERMINAL, error=TERMINAL, command=["saccade", TERMINAL])
    records = ("trajectories/*/*.jsonl", "evaluations/*.jsonl")
    for file in [path for pattern in records for path in folder.glob(pattern)]:
        text = file.read_text()
        for word in ("visual_search", "counting", "rows", "cropped", "accuracy"):
            text = text.replace(f'{word}"', json.dumps(word + TERMINAL)[1:])
        file.write_text(text)
    shutil.rmtree(folder / "index", ignore_errors=True)
    shutil.rmtree(folder / "samples")
    said = [Prediction(index="1", id=TERMINAL, question="?", gold="x", reply=TERMINAL, category=TERMINAL)]
    name = f"after{TERMINAL}"
    write_imported(imported_samples(said, name=name, source=Path("a.tsv"), model=TERMINAL), folder)


def _media_names(folder: Path, places: Places) -> None:
    copied("run")(folder, places)
    for file in (folder / "evaluations").glob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            for image in line.get("images", []):
                image["hash"] = f"../../{places.picture}"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shutil.rmtree(folder / "index", ignore_errors=True)


def _trainer(name: str, raw: Callable[[Places], bytes]) -> Callable[[Path, Places], None]:
    def make(folder: Path, places: Places) -> None:
        copied("run")(folder, places)
        trainer = folder / "checkpoints" / "rl-000030" / "trainer"
        (trainer / "optimizer.pt").unlink(missing_ok=True)
        place = trainer / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(raw(places))

    return make


def _curated(name: str) -> Callable[[Path, Places], None]:
    def make(folder: Path, places: Places) -> None:
        linked("run", f"curation/{name}", "home/.bashrc")(folder, places)
        (folder / "curation" / "curation.json").write_text('{"a": 1}')

    return make


def _deep(folder: Path, places: Places) -> None:
    copied("run")(folder, places)
    for name in ("settings.json", "run.json", "asked.json", "held_out.json", "report.json"):
        (folder / name).write_text('{"a":' * 20_000 + "1" + "}" * 20_000)


def _held_out(folder: Path, places: Places) -> None:
    copied("run")(folder, places)
    rows = {str(places.decoys): [TERMINAL, f"{places.decoys}/secret.txt"], TERMINAL: []}
    (folder / "held_out.json").write_text(json.dumps({"version": 1, "rows": rows}))


def _recipe(folder: Path, places: Places) -> None:
    """A recipe that the run brings, and names as its own in each place that can name one."""
    copied("run")(folder, places)
    (folder / "recipe" / "0123456789ab").mkdir(parents=True)
    code = f"import os\nos.system({places.touch!r})\ndef recipe(context): ...\ndef encoder(): ...\n"
    (folder / "recipe" / "0123456789ab" / "recipe.py").write_text(code)
    (folder / "recipe.py").write_text(code)
    own = f"{folder}/recipe.py:recipe"
    edit_json(
        folder / "settings.json",
        recipe={"family": own, "reward": own, "recipe": own},
        inputs={"recipe": own, "recipe_sha256": "0123456789ab"},
        command=["saccade", "train", own],
    )
    (folder / "config.yaml").write_text(f"run:\n  recipe: {own}\nfamily: {own}\n")


RUNS: dict[str, Stranger] = {
    "recipe of its own": Stranger("run", "code of the run, named in settings, inputs and config.yaml", _recipe),
    "recipe's hash that climbs": Stranger(
        "run",
        "Python files elsewhere, shown as a difference",
        _settings(lambda places: {"inputs": {"recipe": "r", "recipe_sha256": "../../.."}}),
    ),
    "encoder at an address": Stranger(
        "run",
        "a server, asked with the run's pages",
        _settings(lambda places: {"recipe": {"encoder": places.other_url}}),
    ),
    "encoder elsewhere": Stranger(
        "run",
        "another folder as the encoder",
        _settings(lambda places: {"recipe": {"encoder": str(places.decoys)}}),
        follows=True,
    ),
    "evaluation that climbs": Stranger("run", "records of another run, sent to a judge", _evaluation_named),
    "control characters everywhere": Stranger("run", "the terminal of who looks at it", _terminal),
    "pictures by path": Stranger("run", "a private picture, by a hash with slashes", _media_names),
    "nested too deeply": Stranger("run", "the stack", _deep),
    "held-out rows by path": Stranger("run", "private files, held out by path", _held_out),
    "settings that are a link": Stranger(
        "run", "a private file in the report", linked("run", "settings.json", "secret.json"), follows=True
    ),
    "metrics that are a link": Stranger(
        "run", "a file to be cut off", linked("run", "metrics.jsonl", "home/.bashrc"), follows=True
    ),
    "lock that is a link": Stranger(
        "run", "a file to be emptied", linked("run", ".lock", "home/.bashrc"), follows=True
    ),
    "log that is a link": Stranger(
        "run", "a file to be written to", linked("run", "log.txt", "home/.bashrc"), follows=True
    ),
    "journal that is a link": Stranger(
        "run", "a file to be written to", linked("run", "journal/a.jsonl", "home/.bashrc"), follows=True
    ),
    "records that are a link": Stranger(
        "run", "records of another run", linked("run", "evaluations/z.jsonl", "secret.jsonl"), follows=True
    ),
    "trajectories that are a link": Stranger(
        "run", "records of another run to be deleted", linked("run", "trajectories", "run"), follows=True
    ),
    "media that are a link": Stranger("run", "a folder to be written to", linked("run", "media", "home"), follows=True),
    "curves that are a link": Stranger(
        "run", "a folder to be written to", linked("run", "tensorboard", "home"), follows=True
    ),
    "derived that are a link": Stranger(
        "run", "a folder to be deleted in", linked("run", "derived", "home"), follows=True
    ),
    "index that is a link": Stranger("run", "a folder to be written to", linked("run", "index", "home"), follows=True),
    "outcomes that are a link": Stranger("run", "a file to be written to", _curated("outcomes.jsonl"), follows=True),
    "curation's lock that is a link": Stranger("run", "a file to be made", _curated(".lock"), follows=True),
    "file of a checkpoint that is a link": Stranger(
        "run",
        "a private key, pushed to the hub",
        linked("run", "checkpoints/rl-000030/notes.txt", "home/.ssh/id_rsa"),
        follows=True,
    ),
    "config that is a link": Stranger(
        "run", "a private file, pushed to the hub", linked("run", "config.yaml", "secret.json"), follows=True
    ),
    "picture that is a link": Stranger(
        "run",
        "a private picture, pushed to the hub",
        lambda folder, places: (
            copied("run")(folder, places),
            [(one.unlink(), one.symlink_to(places.picture)) for one in (folder / "media").glob("*.png")],
        ),
        follows=True,
    ),
    "pickled optimiser": Stranger(
        "run",
        "a command in optimizer.pt",
        _trainer("optimizer.pt", lambda places: pickle.dumps(Touching(places.touch))),
    ),
    "pickled shards": Stranger(
        "run",
        "a command in optimizer/.metadata",
        _trainer("optimizer/.metadata", lambda places: pickle.dumps(Touching(places.touch))),
    ),
    "pickled critic": Stranger(
        "run",
        "a command in value_head.pt",
        _trainer("value_head.pt", lambda places: pickle.dumps(Touching(places.touch))),
    ),
    "verdicts of strangers": Stranger(
        "run",
        "pages, by what judges and encoders are said to have found",
        lambda folder, places: (
            copied("run")(folder, places),
            [
                (folder / name).write_text(json.dumps({TERMINAL: [{"judge": TERMINAL, "../x": str(places.text)}]}))
                for name in ("verdicts.json", "stars.json", "evidence.json", "why.json", "report.json", "trackers.json")
            ],
            [
                (folder / name / "evaluations").mkdir(parents=True, exist_ok=True)
                or (folder / name / "evaluations" / "after_rl.arrow").write_bytes(b"ARROW1\0\0" + b"\xff" * 400)
                for name in ("clocks", "signals", "index")
            ],
        ),
    ),
    "curation of strangers": Stranger(
        "run",
        "a private picture, by an outcome's line",
        lambda folder, places: (
            copied("run")(folder, places),
            (folder / "curation").mkdir(),
            (folder / "curation" / "curation.json").write_text('{"a": 1}'),
            (folder / "curation" / "outcomes.jsonl").write_text(json.dumps({"id": "../x", "images": ["../x"]}) + "\n"),
        ),
    ),
    "journal of strangers": Stranger(
        "run",
        "a private picture, by a journal's line",
        lambda folder, places: (
            copied("run")(folder, places),
            (folder / "journal").mkdir(),
            (folder / "journal" / "a.jsonl").write_text(
                json.dumps({"key": "../x", "trajectory": {"images": ["../x"]}}) + "\n"
            ),
        ),
    ),
    "tracker of its own": Stranger(
        "run",
        "a tracker's server, by trackers.json",
        lambda folder, places: (
            copied("run")(folder, places),
            (folder / "trackers.json").write_text(
                json.dumps({"mlflow": {"uri": places.url, "id": "x"}, "wandb": "../x"})
            ),
        ),
    ),
}
