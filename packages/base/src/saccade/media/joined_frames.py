"""Frames of a video that a vision tower joins in one patch: resized together and kept as one picture."""

import math
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from weakref import WeakKeyDictionary

from PIL import Image

from saccade.media.resize import ResizeRule, smart_resize
from saccade.media.store import MediaStore
from saccade.media.video_rule import VideoRule
from saccade.types import ImageRef

MOST_PIXELS = 47_040_000
"""Of all frames of a video together, where the family's own rule has no such bound: GLM's, the largest of those."""

_Key = tuple[tuple[str, ...], int, int]
_JOINED: "WeakKeyDictionary[MediaStore, dict[_Key, ImageRef]]" = WeakKeyDictionary()
_LOCK = Lock()


def joined_frames(
    frames: Sequence[ImageRef], view: ResizeRule, rule: VideoRule, media: MediaStore
) -> tuple[ImageRef, ...]:
    """Pictures of the frames of a patch each, or one of a whole video; the last frame stands again where some miss.

    Each frame is stretched to one size of whole image tokens, at most ``view.max_pixels``.
    """
    width, height = video_size(frames[0].width, frames[0].height, len(frames), view, rule)
    padded = [*frames, *[frames[-1]] * (-len(frames) % rule.frames)]
    count = len(padded) if rule.is_whole else rule.frames
    return tuple(_joined(padded[start : start + count], width, height, media) for start in range(0, len(padded), count))


def video_size(width: int, height: int, frames: int, view: ResizeRule, rule: VideoRule) -> tuple[int, int]:
    """(width, height) of each of so many frames: where they are bounded together, a longer video has smaller frames."""
    if rule.bounds is None:
        return replace(view, max_pixels=min(view.max_pixels, MOST_PIXELS // frames)).view_size(width, height)
    factor, together = view.factor, rule.frames
    least, most = rule.bounds
    if min(width, height) < factor:
        scale = factor / min(width, height)
        width, height = int(width * scale), int(height * scale)
    wide, high = smart_resize(width, height, factor=factor, min_pixels=1, max_pixels=view.max_pixels)
    pixels = max(together, round(frames / together) * together) * wide * high
    if pixels > most:
        shrink = math.sqrt(frames * height * width / most)
        return (
            max(factor, math.floor(width / shrink / factor) * factor),
            max(factor, math.floor(height / shrink / factor) * factor),
        )
    if pixels < least:
        grow = math.sqrt(least / (frames * height * width))
        return math.ceil(width * grow / factor) * factor, math.ceil(height * grow / factor) * factor
    return wide, high


def frames_of(picture: Image.Image, count: int) -> list[Image.Image]:
    """The frames that ``joined_frames`` has put below each other."""
    high = picture.height // count
    return [picture.crop((0, place * high, picture.width, (place + 1) * high)) for place in range(count)]


def _joined(frames: Sequence[ImageRef], width: int, height: int, media: MediaStore) -> ImageRef:
    key = tuple(frame.hash for frame in frames), width, height
    with _LOCK:
        known = _JOINED.setdefault(media, {}).get(key)
    # A store forgets what a program drew in the midst of something that it takes back.
    if known is not None and known.hash in media:
        return known
    picture = Image.new("RGB", (width, height * len(frames)))
    for place, frame in enumerate(frames):
        shown = media.get(frame)
        own = shown if shown.size == (width, height) else shown.resize((width, height), Image.Resampling.BICUBIC)
        picture.paste(own, (0, place * height))
    made = replace(media.add(picture), frames=len(frames))
    with _LOCK:
        _JOINED[media][key] = made
    return made
