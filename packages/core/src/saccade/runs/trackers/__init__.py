"""Experiment trackers beside a run's own files: Weights & Biases, Trackio, MLflow.

Start in ``following.py``, which gives every tracker each record of metrics once, also when a run was killed and
resumed. A tracker is whatever keeps the protocol of ``tracker.py``.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.runs.trackers.following import Trackers as Trackers
    from saccade.runs.trackers.following import open_trackers as open_trackers
    from saccade.runs.trackers.following import send_report as send_report
    from saccade.runs.trackers.tracker import TrackedPicture as TrackedPicture
    from saccade.runs.trackers.tracker import Tracker as Tracker
else:
    __getattr__, __dir__ = names_on_use(__name__)
