"""Regions that are remembered: in memory for a run, and on disk for the next run and for others."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from saccade.atomic import write_whole
from saccade.errors import MachineError, UserError
from saccade.geometry import Mask
from saccade.plain_files import plain_bytes
from saccade.rewards.argos.regions import Masks, RegionRequest, Regions
from saccade.types import Json

FORMAT = 1
"""Changes when the meaning of a file on disk does."""


@dataclass
class RegionCounts:
    """What ``CachedRegions`` was asked, since it was made and since it was last read."""

    asked: int = 0
    """Requests, repeated ones of a call too."""
    found: int = 0
    """Different ones that the back end was asked."""
    failed: int = 0
    """Different ones that it failed on; they are asked again the next time."""
    _read: dict[str, int] = field(default_factory=dict, repr=False)

    def as_counts(self) -> dict[str, int]:
        return {"region_requests": self.asked, "regions_sought": self.found, "regions_failed": self.failed}

    def take(self) -> dict[str, float]:
        """The counts since this was last called, and the share of requests that were known already."""
        before, self._read = self._read, self.as_counts()
        new = {name: float(count - before.get(name, 0)) for name, count in self._read.items()}
        known = {"regions_known": 1 - new["regions_sought"] / new["region_requests"]} if new["region_requests"] else {}
        return {**new, **known}


@dataclass(kw_only=True)
class CachedRegions:
    """``Regions`` whose answers are kept by picture, label, finder and the back end's ``identity``.

    For back ends whose answers depend on the picture alone, as models' do: exact regions depend on the task. Failures
    are not kept. Safe to use from many threads; a directory may be shared by many processes. A file that cannot be read
    is as good as none.
    """

    inner: Regions
    directory: Path | None = None
    """Keeps regions beyond the run; without it they are kept in memory alone."""
    max_entries: int = 100_000
    """Entries in memory; the least recently used go first."""
    counts: RegionCounts = field(default_factory=RegionCounts)
    _kept: "OrderedDict[str, Masks]" = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def identity(self) -> str:
        return self.inner.identity

    def find(self, requests: Sequence[RegionRequest], /) -> list[Masks | MachineError]:
        """As the back end finds; what is known is not asked, and nothing is asked twice."""
        keys = [self._key(request) for request in requests]
        # One call at a time: a second one with the same pictures would ask them again.
        with self._lock:
            found: dict[str, Masks | MachineError] = {}
            missing: dict[str, RegionRequest] = {}
            for key, request in zip(keys, requests):
                if key in found or key in missing:
                    continue
                if (known := self._cached_masks(key, request)) is None:
                    missing[key] = request
                else:
                    found[key] = known
            answers = self.inner.find([*missing.values()]) if missing else []
            for (key, request), answer in zip(missing.items(), answers, strict=True):
                found[key] = answer
                if not isinstance(answer, MachineError):
                    self._keep(key, request, answer)
            self.counts.asked += len(requests)
            self.counts.found += len(missing)
            self.counts.failed += sum(isinstance(one, MachineError) for one in answers)
        return [found[key] for key in keys]

    def _key(self, request: RegionRequest) -> str:
        said = json.dumps([FORMAT, self.identity, *request.key])
        return hashlib.sha256(said.encode("ascii")).hexdigest()

    def _cached_masks(self, key: str, request: RegionRequest) -> Masks | None:
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if self.directory is None:
            return None
        try:
            value: Json = json.loads(plain_bytes(self._path(self.directory, key)))
            masks = read_masks(value, request.image.width, request.image.height)
        except (OSError, ValueError, RecursionError):
            return None
        self._remember(key, masks)
        return masks

    def _keep(self, key: str, request: RegionRequest, masks: Masks) -> None:
        self._remember(key, masks)
        size = (request.image.width, request.image.height)
        if self.directory is None or any((mask.width, mask.height) != size for mask in masks):
            # Masks of another size are no answer: whoever reads them says so, and the next run asks again.
            return
        path = self._path(self.directory, key)
        written = {"label": request.label, "masks": [mask.to_coco() for mask in masks]}
        try:
            write_whole(json.dumps(written).encode("ascii"), path)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written ({error.strerror}); free some space, or keep regions in another folder"
            ) from error

    def _remember(self, key: str, masks: Masks) -> None:
        self._kept[key] = masks
        self._kept.move_to_end(key)
        while len(self._kept) > self.max_entries:
            self._kept.popitem(last=False)

    @staticmethod
    def _path(directory: Path, key: str) -> Path:
        return directory / key[:2] / f"{key}.json"


def read_masks(value: Json, width: int, height: int) -> Masks:
    """Masks of a file of the cache; ValueError for anything else."""
    masks = value.get("masks") if isinstance(value, Mapping) else None
    if not isinstance(masks, list):
        raise ValueError("no list of masks")
    return tuple(Mask.from_coco(str(one), width, height) for one in masks)
