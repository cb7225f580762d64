"""``saccade view --export``: a selection of a run's trajectories as one file that needs no server."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

from saccade.atomic import disk_errors, write_text_atomic
from saccade.errors import UserError
from saccade.types import Json
from saccade.viewer.app.lists import page
from saccade.viewer.app.media import png_of, seen_png
from saccade.viewer.app.routes import samples_by_step
from saccade.viewer.app.scenes import trajectory_json
from saccade.viewer.app.summaries import run_json
from saccade.viewer.exported import Carried, data_address, exported_page
from saccade.viewer.pictures import MAX_EMBEDDED_PX
from saccade.viewer.store.collection import Collection, cache_folder
from saccade.viewer.store.curves import curves_json
from saccade.viewer.store.filters import Filter, filter_from
from saccade.viewer.store.run import GoneError, Run
from saccade.viewer.store.searching import Search, Searches

MAX_EXPORTED = 500
_MAX_IMAGE_BYTES = 48 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """What an export wrote."""

    trajectories: int
    matched: int
    size_bytes: int
    notes: tuple[str, ...]

    def describe(self) -> str:
        left = "" if self.matched == self.trajectories else f" of {self.matched:,}"
        return f"{self.trajectories:,}{left} trajectories, {self.size_bytes / 1e6:.1f} MB"


@dataclass(kw_only=True)
class _ExportedPictures:
    """Pictures as ``data:`` addresses, as many as a file may hold."""

    run: Run
    found: dict[str, str] = field(default_factory=dict)
    missing: int = 0
    _bytes: int = 0

    def add(self, image_hash: str) -> None:
        if image_hash in self.found or self._bytes > _MAX_IMAGE_BYTES:
            return
        try:
            png = png_of(self.run, image_hash, None)
            if len(png) > MAX_EMBEDDED_PX**2:
                png = png_of(self.run, image_hash, MAX_EMBEDDED_PX)
        except GoneError:
            self.missing += 1
            return
        self._keep(image_hash, png)

    def add_seen(self, image_hash: str) -> None:
        """The picture as the policy saw it, under its hash with a mark."""
        if (name := f"{image_hash}:seen") not in self.found and self._bytes <= _MAX_IMAGE_BYTES:
            with suppress(GoneError):
                self._keep(name, seen_png(self.run, image_hash))

    def _keep(self, name: str, png: bytes) -> None:
        self._bytes += len(png)
        self.found[name] = data_address(png)


def write_export(
    path: Path,
    paths: tuple[Path, ...],
    query: str,
    limit: int,
    cache: Path | None = None,
    checkpoint: Path | None = None,
) -> Exported:
    """Writes the trajectories of the filter ``query`` (as in a list's address) of the one run below ``paths``.

    UserError for several runs, for none, and for a filter that leaves nothing.
    """
    collection = Collection(paths=paths, cache=cache or cache_folder(), checkpoint=checkpoint)
    collection.load()
    run = _one_run(list(collection.runs.values()), paths)
    rows, matched = _rows(run, filter_from(parse_qsl(query.lstrip("?"), keep_blank_values=True)), limit)
    if not rows:
        raise UserError(
            f"no trajectory of {run.source.name} passes the filter {query!r}; see the list's address for one"
        )
    scenes = {str(row["id"]): trajectory_json(run, str(row["id"])) for row in rows}
    pictures = _ExportedPictures(run=run)
    for scene in scenes.values():
        for name, is_seen in _hashes(scene.get("pictures")):
            pictures.add(name)
            if is_seen:
                pictures.add_seen(name)
    about = run_json(run)
    text = exported_page(
        str(about["title"]),
        Carried(
            answers={
                "/api/runs": {"root": "", "notes": [], "runs": [about]},
                f"/api/runs/{run.id}": about,
                f"/api/runs/{run.id}/curves": _curves(run),
                **{f"/api/runs/{run.id}/trajectories/{name}": scene for name, scene in scenes.items()},
            },
            rows={run.id: rows},
            images=pictures.found,
            home=f"/run/{run.id}/list",
            note=_note(len(rows), matched, pictures.missing),
        ),
        links=[("Run", f"/run/{run.id}"), (f"Trajectories ({len(rows)})", f"/run/{run.id}/list")],
    )
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, text)
    notes = tuple(str(note) for note in run.notes.values())
    return Exported(trajectories=len(rows), matched=matched, size_bytes=len(text.encode()), notes=notes)


def _one_run(runs: Sequence[Run], paths: Iterable[Path]) -> Run:
    if len(runs) == 1:
        return runs[0]
    names = ", ".join(run.source.name for run in runs[:8]) or "none"
    raise UserError(
        f"an export holds one run, and below {', '.join(map(str, paths))} are {len(runs)} ({names}); name its folder"
    )


def _rows(run: Run, filter_: Filter, limit: int) -> tuple[list[Mapping[str, Json]], int]:
    """Rows of the filter, and how many there are in all; a search is waited for."""
    searches = Searches(run=run, on_progress=_untold)
    while True:
        answer = page(run, filter_, searches, offset=0, limit=min(limit, MAX_EXPORTED), with_facets=False)
        search = answer["search"]
        if not isinstance(search, Mapping) or search["is_complete"]:
            break
    found, matched = answer["rows"], answer["matched"]
    rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, Sequence) else []
    return rows, matched if isinstance(matched, int) else len(rows)


def _untold(_run: Run, _search: Search) -> None:
    return None


def _curves(run: Run) -> dict[str, Json]:
    run.curves.refresh()
    return {**curves_json(run.curves, samples_by_step(run), run.evaluations)}


def _hashes(pictures: Json) -> list[tuple[str, bool]]:
    """Of each picture the hash, and whether it is known how the policy saw it."""
    if not isinstance(pictures, Sequence) or isinstance(pictures, str):
        return []
    return [(str(one["hash"]), one["seen"] is not None) for one in pictures if isinstance(one, Mapping)]


def _note(count: int, matched: int, missing: int) -> str:
    left = (
        f"This file contains {count:,} of the {matched:,} trajectories that pass its filter. "
        if count < matched
        else ""
    )
    return left + (f"{missing:,} of their pictures are not on disk." if missing else "")
