"""Stages that work out an artefact: once, then read back from ``derived`` of the run's directory."""

from collections.abc import Iterator

from saccade.atomic import disk_errors, write_json_atomic
from saccade.errors import UserError
from saccade.runs.position import Position
from saccade.runs.records import images_of, read_records
from saccade.runs.runinfo import read_json_object
from saccade.train.artefacts import Derive, DeriveContext
from saccade.train.plan_record import asking_of
from saccade.train.state import RunState, is_done
from saccade.types import Attempt


def derive_stage(run: RunState, stage: Derive) -> None:
    """Works the artefact out, or reads what an earlier process of the run has made; later stages can go by it then."""
    path = run.directory.paths.derived / f"{stage.name}.json"
    if is_done(run, Position(stage=stage.name, step=1)):
        run.directory.refuse_damaged(path)
        stage.into.take(read_json_object(path))
    else:
        stage.into.forget()
        work = run.directory.paths.derived / f"{stage.name}.work"
        with disk_errors(work):
            work.mkdir(parents=True, exist_ok=True)
        with run.progress.stage(stage.name, total=1) as bar, run.media.temporary():
            context = DeriveContext(
                engine=run.engine,
                model=run.model,
                media=run.media,
                seed=run.seed,
                work=work,
                attempts=lambda name: _attempts(run, name),
            )
            made = stage.derive(context)
            # Read before it is written: what later stages cannot use must not stand there.
            stage.into.take(made)
            write_json_atomic(path, made)
            bar.advance()
        # A run that continues after a kill begins the next stage with an empty engine.
        run.engine.reset()
    run.asking = asking_of(run.plan, run.model.view)


def _attempts(run: RunState, name: str) -> Iterator[Attempt]:
    """The trajectories of an earlier stage, in the order of its steps; their pictures are in the store."""
    paths = run.directory.paths
    files = [*sorted((paths.root / "trajectories" / name).glob("*.jsonl"))]
    if (evaluation := paths.evaluation(name)).is_file():
        files.append(evaluation)
    if not files:
        raise UserError(f"the run has no trajectories of a stage {name!r} to derive anything from")
    for file in files:
        run.directory.refuse_damaged(file)
        for attempt in read_records(file):
            for image in images_of(attempt):
                if image.hash not in run.media:
                    run.media.add_file(paths.media / f"{image.hash}.png")
            yield attempt
