"""Every reader of foreign material, by name: what it takes, and a function that reads it as a user's command does.

Imports are inside of the functions: the process that watches has most of them, and the list itself is cheap to read.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PIL import Image

Kind = Literal["checkpoint", "run", "rows", "release", "benchmark", "index", "folder", "file"]
Load = Callable[[Path, Path], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Loader:
    """One reader; ``load`` takes the material and an empty folder to write to."""

    load: Load
    takes: tuple[Kind, ...]
    may_write: bool = False
    """Whether it writes into the folder that it is given, by its purpose: it gets a copy."""
    endings: tuple[str, ...] = ()
    """Of a reader of files: those that are tried, beside whatever else there is of no ending; () for all."""


def _model(path: Path, _: Path) -> None:
    from saccade.media.store import MediaStore
    from saccade.models.loading import load_model

    load_model(path, MediaStore())


def _plans(path: Path, _: Path) -> None:
    from saccade.errors import UserError
    from saccade.models.checkpoint import LoadSettings, instruction_style, is_tiny
    from saccade.models.shape import read_shape
    from saccade.recipes.evaluation_pixels import QWEN_IN_VLMEVALKIT, limited_settings

    instruction_style(path)
    is_tiny(path)
    with contextlib.suppress(UserError):
        limited_settings(LoadSettings(), QWEN_IN_VLMEVALKIT, (), path)
    read_shape(path)


def _asking(path: Path, _: Path) -> None:
    from saccade.runs.asking import read_asking
    from saccade.runs.recorded_tools import Toolmaker
    from saccade.runs.trained_on import read_trained_on
    from saccade.tools.making import UnknownOriginError

    read_trained_on(path)
    record = read_asking(path)
    maker = Toolmaker()
    for way in record.ways if record is not None else ():
        for tool in way.tools:
            try:
                maker.made([tool])
            except UnknownOriginError:
                continue


def _merge(path: Path, out: Path) -> None:
    from saccade.models.loading import write_merged

    write_merged(path, out / "merged")


def _specialist(path: Path, _: Path) -> None:
    from saccade.models.checkpoint import LoadSettings
    from saccade.vision_models.kinds import checkpoint_digest, kind_of
    from saccade.vision_models.page_encoders import open_page_encoder

    kind_of(path)
    checkpoint_digest(path)
    open_page_encoder(str(path), LoadSettings(device="cpu"))


def _vision_parts(path: Path, _: Path) -> None:
    from transformers import AutoModelForImageTextToText, CLIPImageProcessor

    from saccade.errors import UserError
    from saccade.models.checkpoint import LoadSettings
    from saccade.vision_models.checkpoints import load_pixels, load_tokenizer, load_weights
    from saccade.vision_models.kinds import kind_of

    kind_of(path)
    for part in (lambda: load_tokenizer(path), lambda: load_pixels(path, CLIPImageProcessor)):
        try:
            part()
        except UserError:
            continue
    load_weights(path, AutoModelForImageTextToText, LoadSettings(device="cpu", dtype="float32"))


def _trainer(path: Path, _: Path) -> None:
    """What a resumed run takes up again beside the weights."""
    from saccade.learner.learner import Learner
    from saccade.learner.optimizer import OptimizerSettings
    from saccade.media.store import MediaStore
    from saccade.miniature.tiny_model import TinySize, tiny_model
    from saccade.runs.checkpoints import checkpoints, load_extras, restore_learner

    for checkpoint in checkpoints(path / "checkpoints"):
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        model = tiny_model(["Which colour?"] * 9, MediaStore(), size=size, vocab_size=320, seed=4)
        load_extras(checkpoint)
        restore_learner(checkpoint, Learner(model, OptimizerSettings(learning_rate=1e-3)))


def _command(*arguments: str) -> Load:
    """A command of the command line; RUN stands for the material, OUT for the folder to write to."""

    def load(path: Path, out: Path) -> int:
        from saccade.cli.entry import run_command

        places = {"RUN": str(path), "OUT": str(out / "out"), "FILE": str(out / "out.txt")}
        return run_command([places.get(one, one) for one in arguments])

    return load


def _resumed(path: Path, _: Path) -> None:
    """A run is taken up again, with its own settings, as far as before the model."""
    from saccade.config.held_out import read_held_out
    from saccade.runs.asking import open_asked
    from saccade.runs.directory import RunDirectory
    from saccade.runs.metrics import MetricsWriter
    from saccade.runs.runinfo import RunPaths, read_json_object

    settings = read_json_object(RunPaths(root=path).settings)
    read_held_out(RunPaths(root=path).held_out)
    with RunDirectory.create(path, resume=True, settings=settings) as run:
        run.rewind(None, ("sft", "rl"))
        with MetricsWriter.open(run.paths.metrics, stages=("sft", "rl"), tensorboard=run.paths.tensorboard):
            open_asked(run.paths.asked, remarks=(), streams={})


def _journal(path: Path, _: Path) -> None:
    from saccade.evaluation.journal import SampleJournal
    from saccade.media.store import MediaStore

    for file in sorted((path / "journal").glob("*.jsonl")) or [path / "journal" / "none.jsonl"]:
        SampleJournal(file, media=MediaStore(), media_directory=path / "media").close()


def _reread(path: Path, _: Path) -> None:
    import asyncio

    from saccade.chat.chat_model import ChatModel
    from saccade.evaluation.benchmarks.judged_run import reread_run

    async def judge(*_: object, **__: object) -> ChatModel:
        raise AssertionError("nothing of these runs is for a judge")

    asyncio.run(reread_run(path, path, judge, "none"))  # type: ignore[arg-type]


def _curation(path: Path, _: Path) -> None:
    from saccade.curation.argos.outcomes import traced_from
    from saccade.curation.journal import Journal

    with Journal(path / "curation", {"a": 1}, traced_from, resume=True):
        pass


def _recipe_difference(path: Path, _: Path) -> None:
    from saccade.config.sources import RecipeSource
    from saccade.runs.runinfo import RunPaths, read_json_object

    paths = RunPaths(root=path)
    inputs = read_json_object(paths.settings).get("inputs")
    sha256 = inputs.get("recipe_sha256") if isinstance(inputs, dict) else None
    RecipeSource(name="recipe.py:r", files={}).difference(paths.recipe, str(sha256))


def _viewer(path: Path, out: Path) -> None:
    """Every page's data of every run below the folder, and the first trajectories of each."""
    from starlette.testclient import TestClient

    from saccade.viewer.app.application import RunsViewer, create_app
    from saccade.viewer.app.events import Events
    from saccade.viewer.store.collection import Collection

    events = Events()
    collection = Collection(paths=(path,), cache=out / "cache", tell=events.tell)
    collection.load()
    app = create_app(RunsViewer(collection=collection, events=events), host="127.0.0.1", token=None)
    client = TestClient(app, base_url="http://127.0.0.1:7860", raise_server_exceptions=False)
    for run in list(collection.runs):
        for page in ("", "/curves", "/trajectories?limit=20", "/facets", "/report", "/settings"):
            client.get(f"/api/runs/{run}{page}")
        for row in client.get(f"/api/runs/{run}/trajectories?limit=3").json().get("rows", []):
            client.get(f"/api/runs/{run}/trajectories/{row['id']}")
            client.get(f"/media/{run}/{row['image']}.png")


def _second_tables(path: Path, _: Path) -> None:
    """Files beside records: clocks, signals, verdicts, stars, reasons; and records as a curation takes them."""
    from saccade.curation.rows import recorded_pass_rates
    from saccade.errors import UserError
    from saccade.runs.clocks import read_clock
    from saccade.runs.runinfo import RunPaths
    from saccade.runs.signals import read_signals
    from saccade.viewer.star_record import read_star_record
    from saccade.viewer.verdicts import read_verdicts
    from saccade.viewer.why_record import read_why

    paths = RunPaths(root=path)
    for folder, read in (("clocks", read_clock), ("signals", read_signals)):
        for file in sorted((path / folder).rglob("*.arrow")):
            read(file, 0)
    for read_record in (read_verdicts, read_star_record, read_why, lambda _: recorded_pass_rates(path)):
        with contextlib.suppress(UserError):
            read_record(paths)


def _tasks(path: Path, out: Path) -> None:
    from saccade.media.store import MediaStore
    from saccade.tasks.files import read_tasks

    media = MediaStore()
    found = read_tasks(path, media=media, skip_bad_rows=True)
    for task in found.tasks[:20]:
        for image in task.images:
            media.get(image)
            media.export(image, out)


def _few_shot(path: Path, _: Path) -> None:
    """Conversations, or a run's recorded trajectories, as they are shown before questions."""
    from saccade.errors import UserError
    from saccade.media.store import MediaStore
    from saccade.rollout.shown_episodes import shown_episodes

    for file in sorted((path / "trajectories").rglob("*.jsonl")) or [path]:
        with contextlib.suppress(UserError):
            shown_episodes(str(file), 1, MediaStore())


def _hub_rows(path: Path, _: Path) -> None:
    from saccade.errors import UserError
    from saccade.tasks.rows.tables import dataset_rows
    from saccade.tasks.splits import saved_splits, splits_of_folder

    for read in (splits_of_folder, saved_splits):
        with contextlib.suppress(UserError):
            read(path)
    for _row in dataset_rows(str(path), "train"):
        pass


def _release(path: Path, _: Path) -> None:
    from saccade.errors import UserError
    from saccade.media.store import MediaStore
    from saccade.tasks.datasets.reading import read_data_set
    from saccade.tasks.datasets.table import DATA_SETS

    name = path.name.partition("@")[0]
    for split in ("train", "validation", "test"):
        try:
            read_data_set(DATA_SETS[name].name, path, split=split, media=MediaStore(), skip_bad_rows=True)
        except UserError:
            continue


def _benchmark(path: Path, _: Path) -> None:
    from saccade.errors import UserError
    from saccade.evaluation.benchmarks.opening import open_benchmark
    from saccade.evaluation.benchmarks.table import BENCHMARKS
    from saccade.media.store import MediaStore

    media = MediaStore()
    for name in BENCHMARKS:
        try:
            for row in open_benchmark(name, path, media=media).rows:
                for image in row.task.images:
                    media.get(image)
        except UserError:
            continue


def _recorded_web(path: Path, out: Path) -> None:
    """The file as a response and as a page of a recording."""
    from saccade.errors import UserError
    from saccade.plain_files import plain_bytes
    from saccade.retrieval.recorded_web import recording_in

    folder = out / "searches/0009"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("serper_search_1.json", "webpage_1.json"):
        (folder / name).write_bytes(plain_bytes(path))
    with contextlib.suppress(UserError):
        web = recording_in(folder.parent)()
        web.search(None, "query")
        web.page(None, "address")


def _index(path: Path, out: Path) -> None:
    from saccade.media.encode import png_bytes
    from saccade.retrieval.store import open_index

    store = open_index(path)
    for page in store.pages()[:3]:
        (out / "page.png").write_bytes(png_bytes(store.picture(page)))
        store.page_vectors(page)


def _index_search(path: Path, out: Path) -> int:
    from saccade.cli.entry import run_command

    return run_command(["search", str(path), "red", "--out", str(out / "pages")])


def _index_growing(path: Path, out: Path) -> None:
    """An index that is there is added to."""
    from saccade.retrieval.building import build_index
    from saccade.retrieval.first_stage import FirstStage, build_first_stage
    from saccade.retrieval.store import open_index
    from saccade.testing.color_encoder import ColorEncoder

    pages = out / "pages"
    pages.mkdir()
    Image.new("RGB", (64, 64), "blue").save(pages / "b.png")
    build_index(pages, ColorEncoder(), path)
    build_first_stage(open_index(path), FirstStage.read("4-int8"))


def _pages(path: Path, out: Path) -> None:
    from saccade.retrieval.building import build_index
    from saccade.testing.color_encoder import ColorEncoder

    build_index(path, ColorEncoder(), out / "index")


def _picture(path: Path, _: Path) -> None:
    from saccade.media.store import MediaStore

    media = MediaStore()
    media.get(media.add_file(path))


def _video(path: Path, _: Path) -> None:
    from saccade.media.video import FrameSampling, video_frames

    for _frame in video_frames(path, str(path), FrameSampling(max_frames=4)):
        pass


def _config(path: Path, _: Path) -> None:
    from saccade.config.config_file import read_config

    read_config(path)


def _tools_file(path: Path, _: Path) -> None:
    from saccade.services.settings import serving_of
    from saccade.tools.catalogue.catalogue import build_tool
    from saccade.tools.catalogue.settings import read_tools_file

    file = read_tools_file(path)
    serving_of(file)
    for tool in file.tools:
        build_tool(tool, file.folder)


def _prices(path: Path, _: Path) -> None:
    from saccade.evaluation.prices import read_price

    read_price(path, "m")


def _json_files(path: Path, _: Path) -> None:
    """Small files that options name: a toolbox, labels, chains, pass rates, the golden hashes of an audit."""
    from saccade.curation.rows import read_chains, read_pass_rates
    from saccade.errors import UserError
    from saccade.evaluation.audit.golden import GoldenHashes
    from saccade.evaluation.judging import read_labels
    from saccade.protocols.linguistic_tools import read_toolbox

    readers: tuple[Callable[[Path], object], ...] = (
        read_toolbox, read_labels, read_chains, read_pass_rates, GoldenHashes.read
    )  # fmt: skip
    for read in readers:
        try:
            read(path)
        except UserError:
            continue


def _imported(path: Path, _: Path) -> None:
    from saccade.errors import UserError
    from saccade.evaluation.exports.lmms_eval import read_sample_log
    from saccade.evaluation.exports.vlmevalkit import read_predictions

    for read in (read_sample_log, read_predictions):
        try:
            read(path)
        except UserError:
            continue


def _pickled(path: Path, _: Path) -> None:
    from saccade.tasks.datasets.pickles import pickled_rows
    from saccade.tasks.datasets.retrieved import retrieved_rows

    list(pickled_rows(path))
    list(retrieved_rows(path))


def _template(path: Path, out: Path) -> None:
    """A chat template of the user's choice over a sound checkpoint."""
    from saccade.media.store import MediaStore
    from saccade.models.checkpoint import LoadSettings, base_checkpoint
    from saccade.models.loading import load_model

    load_model(base_checkpoint(), MediaStore(), LoadSettings(chat_template=path))


def _reply(path: Path, _: Path) -> None:
    """A text as what a server, a judge or a tool sends: read by each of their readers."""
    from saccade.chat.wire import BrokenReplyError, read_prompt_logprobs, read_reply
    from saccade.errors import SaccadeError
    from saccade.rewards.argos.selection import read_selection
    from saccade.rewards.judges.addressing import addresses_judge, runs_of
    from saccade.rewards.judges.llm_judge import read_rubric, read_yes_or_no
    from saccade.services.client.remote_tools import tools_of

    raw = path.read_bytes()[: 1 << 20]
    text = raw.decode("utf-8", "replace")
    readers: tuple[Callable[[], object], ...] = (
        lambda: read_reply(text),
        lambda: read_prompt_logprobs(text),
        lambda: tools_of(raw),
        lambda: read_selection(text),
        lambda: (read_rubric(text), read_yes_or_no(text), addresses_judge(text, runs_of(["Be fair."]))),
    )
    for read in readers:
        try:
            read()
        except (SaccadeError, BrokenReplyError):
            continue


LOADERS: dict[str, Loader] = {
    "model": Loader(load=_model, takes=("checkpoint",)),
    "model's plans": Loader(load=_plans, takes=("checkpoint",)),
    "record of asking": Loader(load=_asking, takes=("checkpoint",)),
    "merge": Loader(load=_merge, takes=("checkpoint",)),
    "page encoder": Loader(load=_specialist, takes=("checkpoint",)),
    "parts of a vision model": Loader(load=_vision_parts, takes=("checkpoint",)),
    "trainer's state": Loader(load=_trainer, takes=("run",)),
    "report": Loader(load=_command("report", "RUN"), takes=("run",), may_write=True),
    "check": Loader(load=_command("check", "RUN"), takes=("run",)),
    "show": Loader(load=_command("show", "RUN"), takes=("run",)),
    "figures": Loader(load=_command("figures", "RUN"), takes=("run",)),
    "compare": Loader(load=_command("compare", "RUN", "RUN"), takes=("run",)),
    "push": Loader(load=_command("push", "RUN", "me/x", "--only-write", "OUT"), takes=("run",)),
    "report with an encoder": Loader(load=_command("report", "RUN", "--why", "run"), takes=("run",), may_write=True),
    "reread": Loader(load=_reread, takes=("run",), may_write=True),
    "export": Loader(load=_command("export", "RUN", "--to", "csv", "--out", "FILE"), takes=("run",)),
    "export of records": Loader(load=_command("export", "RUN", "--to", "inspect", "--out", "FILE"), takes=("run",)),
    "resume": Loader(load=_resumed, takes=("run",), may_write=True),
    "journal": Loader(load=_journal, takes=("run",), may_write=True),
    "curation": Loader(load=_curation, takes=("run",), may_write=True),
    "recipe of a run": Loader(load=_recipe_difference, takes=("run",)),
    "files beside records": Loader(load=_second_tables, takes=("run",)),
    "viewer": Loader(load=_viewer, takes=("run", "folder"), may_write=True),
    "tasks": Loader(load=_tasks, takes=("rows", "release", "file"), endings=(".jsonl", ".json", ".csv", ".parquet")),
    "few-shot file": Loader(load=_few_shot, takes=("run", "rows", "file"), endings=(".jsonl", ".json")),
    "data set of the hub": Loader(load=_hub_rows, takes=("rows",)),
    "published data set": Loader(load=_release, takes=("release",)),
    "benchmark": Loader(load=_benchmark, takes=("benchmark",)),
    "index": Loader(load=_index, takes=("index",)),
    "recorded searches": Loader(load=_recorded_web, takes=("file",), endings=(".json",)),
    "search": Loader(load=_index_search, takes=("index",)),
    "index that grows": Loader(load=_index_growing, takes=("index",), may_write=True),
    "pages of a folder": Loader(load=_pages, takes=("folder",)),
    "picture": Loader(load=_picture, takes=("file",)),
    "video": Loader(load=_video, takes=("file",)),
    "config": Loader(load=_config, takes=("file",)),
    "tools file": Loader(load=_tools_file, takes=("file",)),
    "prices": Loader(load=_prices, takes=("file",)),
    "toolbox, labels, rates": Loader(load=_json_files, takes=("file",)),
    "imported evaluation": Loader(load=_imported, takes=("file",)),
    "pickled data set": Loader(load=_pickled, takes=("file",)),
    "chat template": Loader(load=_template, takes=("file",), endings=(".jinja",)),
    "reply of a server": Loader(load=_reply, takes=("file",)),
}
