"""All inputs of the conformance test, made once: sound ones of every kind, and those of strangers."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hostile_checkpoints import CHECKPOINTS
from hostile_files import FILES, FOLDERS, INDEXES, RELEASES, ROWS
from hostile_runs import RUNS
from loaders import LOADERS, Kind

from places import ROOT
from strangers import Places, Stranger, make_decoys

STRANGERS: dict[str, Stranger] = {
    f"{kind}: {name}": one
    for kind, of in (
        ("checkpoint", CHECKPOINTS), ("run", RUNS), ("rows", ROWS), ("release", RELEASES), ("folder", FOLDERS),
        ("file", FILES), ("index", INDEXES),
    )
    for name, one in of.items()
}  # fmt: skip


def make_material(root: Path, url: str) -> dict[str, object]:
    """Everything below ``root``; the plan that ``watched_loads.py`` takes."""
    places = Places(decoys=root / "decoys", url=url, sound=root / "sound")
    inputs: dict[Kind, list[tuple[str, Path]]] = {kind: [] for one in LOADERS.values() for kind in one.takes}
    _sound_checkpoint(places.sound / "checkpoint")
    _sound_run(places.sound / "run", places.sound / "checkpoint")
    make_decoys(places.decoys)
    inputs["checkpoint"].append(("checkpoint: sound", places.sound / "checkpoint"))
    inputs["run"].append(("run: sound", places.sound / "run"))
    _published(root / "published", inputs)
    for label, one in STRANGERS.items():
        kind, _, name = label.partition(": ")
        folder = root / "hostile" / name if one.kind == "release" else root / "hostile" / f"{kind} {name}"
        folder.mkdir(parents=True)
        made = one.make(folder, places)
        inputs[one.kind].append((label, made if one.kind == "file" and isinstance(made, Path) else folder))
    # The decoys' dates and places are looked at from here on.
    return {
        "root": str(root),
        "decoys": str(places.decoys),
        "loaders": list(LOADERS),
        "inputs": {
            name: [
                (label, str(path))
                for kind in one.takes
                for label, path in inputs[kind]
                if not one.endings or path.is_dir() or path.suffix in one.endings
            ]
            for name, one in LOADERS.items()
        },
        "environment": {
            "HOME": str(places.decoys / "home"),
            "SACCADE_TOKEN": "a-token-of-the-user",
            "OPENAI_API_KEY": "a-key",
            "HF_HUB_OFFLINE": "0",
            "HF_DATASETS_OFFLINE": "0",
            "HF_HOME": str(root / "own" / "hf"),
            "OMP_NUM_THREADS": "1",
        },
    }


def _sound_checkpoint(folder: Path) -> None:
    from saccade.media.store import MediaStore
    from saccade.miniature.tiny_model import TinySize, tiny_model
    from saccade.rollout.episodes import RolloutSettings
    from saccade.runs.asking import AskingRecord, ToolRecord, Way
    from saccade.types import ToolSpec

    spec = ToolSpec(name="crop", description="Cuts out.", parameters={})
    way = Way(
        protocol="tagged",
        is_known=True,
        style="brief",
        box_form="lenient",
        tools=(ToolRecord(spec=spec, origin={}),),
        max_turns=2,
        states_turns=False,
        rollout=RolloutSettings(),
        system=None,
    )
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    folder.mkdir(parents=True)
    tiny_model(["Which colour has the square?"] * 9, MediaStore(), size=size, vocab_size=320, seed=4).save(folder)
    (folder / "generation_config.json").write_text("{}")
    (folder / "saccade_asking.json").write_text(json.dumps(AskingRecord(evaluated=(way,)).as_json()))


def _sound_run(folder: Path, checkpoint: Path) -> None:
    from viewer_fake_run import make_run

    from saccade.evaluation.exports.imported import imported_samples, write_imported
    from saccade.evaluation.exports.predictions import Prediction

    make_run(folder, n=3)
    said = [Prediction(index=str(one), id=str(one), question="Which?", gold="red", reply="blue") for one in range(2)]
    write_imported(imported_samples(said, name="after_rl", source=Path("a.tsv"), model="m"), folder)
    (folder / "annotations.jsonl").write_text(json.dumps({"kind": "retraction", "of": "x"}) + "\n")
    place = folder / "checkpoints" / "rl-000030"
    shutil.copytree(checkpoint, place)
    (place / "trainer").mkdir()
    (place / "trainer" / "extras.json").write_text("{}")
    (place / "trainer" / "position.json").write_text(json.dumps({"stage": "rl", "step": 30}))


def _logs(root: Path, inputs: dict[Kind, list[tuple[str, Path]]]) -> None:
    """As other trainers and harnesses leave them."""
    true = ROOT / "packages" / "view" / "tests" / "viewer" / "foreign"
    copied = [folder.name for folder in sorted(true.iterdir()) if folder.is_dir()]
    for name in copied:
        shutil.copytree(true / name, root / f"true_{name}")
    with closing(sqlite3.connect(root / "true_trackio" / "plates.db")) as base:
        base.executescript((true / "trackio" / "plates.sql").read_text())
    for name in ("trl/completions", "verl", "inspect"):
        (root / name).mkdir(parents=True)
    table = {"step": [1], "prompt": ["Which?"], "completion": ["red"], "reward": [1.0], "advantage": [0.0]}
    pq.write_table(pa.table(table), root / "trl" / "completions" / "completions_00001.parquet")
    line = {"input": "user\nWhich?\nassistant\n", "output": "red", "gts": "red", "score": 1.0, "step": 1}
    (root / "verl" / "1.jsonl").write_text(json.dumps(line) + "\n")
    shutil.copy(true / "colours.eval", root / "inspect")
    names = ("trl", "verl", "inspect", *(f"true_{name}" for name in copied))
    inputs["folder"] += [(f"folder: {name}", root / name) for name in names]


def _published(root: Path, inputs: dict[Kind, list[tuple[str, Path]]]) -> None:
    """Small releases of all published data sets and benchmarks, and logs of other trainers."""
    import small_releases
    from foreign_videos import video_bytes
    from releases import RELEASES as DATA_SETS

    for name, (_, write) in DATA_SETS.items():
        folder = root / name
        folder.mkdir(parents=True)
        write(folder)
        inputs["release"].append((f"release: {name}", folder))
    folder = root / "benchmarks"
    folder.mkdir()
    small_releases.write_releases(sorted({*small_releases.TSV_ROWS, *small_releases.HUB_ROWS}), folder)
    inputs["benchmark"].append(("benchmark: all", folder))
    pairs = root / "pairs"
    pairs.mkdir()
    small_releases.write_sugar_crepe(pairs)
    small_releases.write_counter_curate(pairs)
    inputs["benchmark"].append(("benchmark: pairs", pairs))
    _logs(root / "logs", inputs)
    pages = root / "pages"
    pages.mkdir()
    shutil.copy(ROOT / "packages" / "tools" / "tests" / "retrieval" / "password.pdf", pages)
    inputs["folder"].append(("folder: locked PDF", pages))
    video = root / "video.mp4"
    video.write_bytes(video_bytes())
    inputs["file"].append(("file: sound video", video))
