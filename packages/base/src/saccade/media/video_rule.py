"""Videos as a model family's own processor shows them: how frames are joined, and what is written beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class VideoRule:
    """How a family shows a video by its own tokens: patches of some frames each, which take the tokens of one picture.

    ``before`` and ``after`` are written beside each patch: ``{first:.1f}`` in them is the time of its first frame in
    seconds, ``{whole}`` the same without its fraction, ``{mean:.1f}`` the time in its middle.
    """

    frames: int = 2
    """Frames that a patch joins."""
    bounds: tuple[int, int] | None = None
    """Least and most pixels of all frames together; None where each frame is resized as a picture is."""
    before: str = ""
    after: str = ""
    around: tuple[str, str] = ("", "")
    """What is written before and after the whole video."""
    is_whole: bool = False
    """Whether all patches stand in one row of image tokens and differ by their positions along time; else each stands
    as a picture does."""
    positions_per_second: float = 0.0
    """Along time, of a whole video; 0 where patches are one position apart."""

    def texts(self, times: Sequence[float]) -> tuple[str, str]:
        """What is written before and after a patch of frames at these times, in seconds."""
        first, mean = times[0], (times[0] + times[-1]) / 2
        before, after = (one.format(first=first, whole=int(first), mean=mean) for one in (self.before, self.after))
        return before, after

    def patch_seconds(self, times: Sequence[float]) -> float:
        """Seconds from patch to patch of a whole video whose frames have these times; 0 where nothing depends on it."""
        if not self.positions_per_second:
            return 0.0
        return self.frames * (times[-1] - times[0]) / (len(times) - 1)

    def patch_places(self, image: ImageRef) -> tuple[int, ...]:
        """Positions along time of the patches of a whole video, from 0; empty for any other picture."""
        if not self.is_whole or image.frames == 1:
            return ()
        # In float32, as transformers' processors hand the seconds over: a rounding may be a position.
        step = np.float32(image.patch_seconds) * np.float32(self.positions_per_second)
        patches = np.arange(image.frames // self.frames, dtype=np.float32)
        return tuple(int(place) for place in patches * (step if self.positions_per_second else 1))
