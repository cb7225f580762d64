"""Where else than on disk a run is followed: a matter of the user's, not of the recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from saccade.codec.bounds import Bounds, Positive, check_bounds
from saccade.config.settings import apply_overrides
from saccade.errors import UserError

_PREFIX = "tracking."


@dataclass(frozen=True, kw_only=True)
class TrackingSettings:
    """Experiment trackers of a run, and a copy of it; ``--set tracking.trackio=PROJECT`` adds one."""

    wandb: str = ""
    """Project of Weights & Biases; its environment variables (``WANDB_MODE=offline``, ``WANDB_ENTITY``) apply."""
    trackio: str = ""
    """Project of Trackio; ``TRACKIO_DIR`` and its other environment variables apply."""
    mlflow: str = ""
    """Experiment of MLflow at ``MLFLOW_TRACKING_URI``, or else in ``mlflow.db`` of the folder of the command."""
    prometheus: str = ""
    """Port, or ``HOST:PORT``, at which Prometheus reads the newest metrics; a port alone listens on 127.0.0.1."""
    notify: str = ""
    """Told once when the command ends, and why, killed or not: a web address that takes JSON, or a shell command. In
    ``$NAME`` an environment variable keeps an address out of the run's files."""
    save_folder: str = ""
    """Copies the run as its checkpoints are saved: ``s3://BUCKET/RUN``, ``gs://BUCKET/RUN`` or another URL of fsspec, a
    folder of this run's own. With ``--resume`` the run is brought from there where ``--out`` is not there yet."""
    save_records: bool = True
    """False copies checkpoints, metrics and settings alone, without trajectories, pictures and samples."""
    name: str = ""
    """Name of the run in the tracker; empty for the name of ``--out``."""
    pictures: Annotated[int, Bounds(least=0, most=64)] = 4
    """Trajectories logged as pictures per step or evaluation; 0 logs none."""
    traces: Annotated[int, Bounds(least=0, most=64)] = 0
    """Trajectories logged as conversations with their pictures and rewards, per step or evaluation: Trackio's traces, a
    table of Weights & Biases."""
    pictures_every: Positive = 10
    """Training steps between steps whose trajectories are logged."""

    @property
    def has_any(self) -> bool:
        return bool(self.wandb or self.trackio or self.mlflow or self.prometheus or self.save_folder)

    def check(self) -> None:
        check_bounds(self)
        if self.prometheus:
            metrics_place(self.prometheus)
        if self.traces and not (self.trackio or self.wandb):
            raise UserError(f"traces={self.traces} reach Trackio and Weights & Biases alone; name a project there")
        if not self.has_any and self != TrackingSettings(notify=self.notify):
            raise UserError("nothing is tracked; name a project with wandb=, trackio= or mlflow=, or a save_folder=")


def metrics_place(text: str) -> tuple[str, int]:
    """Host and port of ``PORT`` or ``HOST:PORT``; UserError for anything else. Port 0 is any that is free."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise UserError(f"prometheus={text} is no PORT or HOST:PORT, such as 9464 or 0.0.0.0:9464")
    return host.strip("[]") or "127.0.0.1", int(port)


@dataclass(frozen=True, kw_only=True)
class _TrackingAlone:
    tracking: TrackingSettings = TrackingSettings()


def split_tracking(overrides: Sequence[str]) -> tuple[TrackingSettings, tuple[str, ...]]:
    """The trackers, and the overrides that are not about them; raises UserError as ``apply_overrides``."""
    own = [one for one in overrides if one.strip().startswith(_PREFIX)]
    return apply_overrides(_TrackingAlone(), own).tracking, tuple(one for one in overrides if one not in own)
