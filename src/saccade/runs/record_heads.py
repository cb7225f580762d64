"""Head of a trajectory's line, read in one go: all of the trajectory but its tokens.

Making an index of a large run is reading a million heads. A head that is no standard JSON, or wrong, is left to the
slower way, which says what is wrong.
"""

from saccade.runs.record_places import SEGMENTS
from saccade.runs.trajectory_json import CODEC
from saccade.types import Trajectory

_BEGIN = b'{"kind": "trajectory", '


def trajectory_head(line: bytes) -> tuple[int, Trajectory] | None:
    """Bytes of a line before its segments, and its trajectory without them; None where the slower way is to look."""
    at = line.find(SEGMENTS)
    if at < 0 or not line.startswith(_BEGIN):
        return None
    try:
        return at, CODEC.reader(Trajectory).strict(line[:at] + SEGMENTS + b"]}")
    except (ValueError, RecursionError):
        return None
