"""Tool results of a run of code: text and images within bounds for the model, data for the reward."""

import re
from collections.abc import Sequence

from PIL import Image

from saccade.media.store import MediaStore
from saccade.pictures import bounded
from saccade.sandbox.results import RunError, RunResult
from saccade.tools.images import MAX_ASPECT_RATIO, MAX_SIDE_PX
from saccade.types import ImageRef, Json, ToolResult

MAX_TRACEBACK_LINES = 6
MAX_NAME_CHARS = 80

# What does nothing: space, comments, texts, numbers, constants and pass. Possessive throughout, hence linear.
# Python's own parser is not let near the text: it can be made to overflow its stack or to take very long.
_IDLE = re.compile(
    r"""(?:
        [\s;]++ | \\\n | \#[^\n]*+
      | (?:pass|None|True|False)\b | \.\.\. | \d[\w.]*+
      | [rRbBuU]{0,2}+(?:
            \"{3}(?:[^\\\"]|\\[\s\S]|\"(?!\"\"))*+\"{3}
          | '{3}(?:[^\\']|\\[\s\S]|'(?!''))*+'{3}
          | \"(?!\"\")(?:[^\\\"\n]|\\[\s\S])*+\" | '(?!'')(?:[^\\'\n]|\\[\s\S])*+'
        )
    )*+""",
    re.VERBOSE,
)
# A place in memory differs from run to run, and a trajectory must not.
_ADDRESS = re.compile(r"(?<=\bat 0x)[0-9a-f]{6,16}\b")


def does_nothing(code: str) -> bool:
    """Whether code consists of comments, bare constants and ``pass`` alone; docstrings are constants."""
    return _IDLE.fullmatch(code) is not None


def nothing_done() -> ToolResult:
    """The failed result of code that does nothing."""
    return ToolResult(text="the code does nothing", data=_data("empty", None), is_ok=False)


def tool_result(
    result: RunResult, media: MediaStore, *, min_side_px: int, max_images: int, max_output_chars: int
) -> ToolResult:
    """The run's output, its images kept in ``media``; a failed run shows its output so far, its error and no image."""
    output = _shortened("\n".join(part for part in (result.stdout.strip("\n"), result.stderr.strip("\n")) if part))
    output = _cut(output, max_output_chars)
    if result.error is not None:
        text = "\n".join(part for part in (output, _report(result.error, max_output_chars)) if part)
        # A class may have any name.
        name = " ".join(result.error.name[:MAX_NAME_CHARS].split()) or None
        return ToolResult(text=text, data=_data(result.error.kind, name), is_ok=False)
    images, notes = _shown_images(result.images, media, min_side_px=min_side_px, max_images=max_images)
    return ToolResult(text="\n".join(part for part in (output, *notes) if part), images=images, data=_data(None, None))


def _data(error_kind: str | None, error_name: str | None) -> dict[str, Json]:
    """No times: the same seed gives the same bytes."""
    return {"ok": error_kind is None, "error_kind": error_kind, "error_name": error_name}


def _report(error: RunError, max_chars: int) -> str:
    lines = error.traceback.strip("\n").split("\n")[-MAX_TRACEBACK_LINES:]
    # Where there is a traceback, it ends with the name and the message.
    last = ": ".join(part for part in (error.name, error.message) if part)
    text = _shortened("\n".join(lines) if error.traceback else last or f"the run ended: {error.kind}")
    # The end says what went wrong.
    return text if len(text) <= max_chars else f"…{text[-max_chars:]}"


def _shown_images(
    images: Sequence[Image.Image], media: MediaStore, *, min_side_px: int, max_images: int
) -> tuple[tuple[ImageRef, ...], list[str]]:
    compact = [image for image in images if max(image.size) <= MAX_ASPECT_RATIO * min(image.size)]
    notes = []
    if len(compact) < len(images):
        count = len(images) - len(compact)
        notes.append(f"[{count} of the pictures not shown: over {MAX_ASPECT_RATIO:.0f} times longer than wide]")
    if len(compact) > max_images:
        notes.append(f"[{len(compact) - max_images} more pictures not shown: a run shows {max_images}]")
    shown = [picture_shown(image, min_side_px=min_side_px) for image in compact[:max_images]]
    return tuple(media.add(image) for image in shown), notes


def picture_shown(image: Image.Image, *, min_side_px: int) -> Image.Image:
    """Enlarged until the shorter side has ``min_side_px``, for less is too little for a vision tower; not too large."""
    image = bounded(image, MAX_SIDE_PX)[0]
    scale = min_side_px / min(image.size)
    if scale <= 1:
        return image
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)


def _shortened(text: str) -> str:
    return _ADDRESS.sub("…", text)


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text) - max_chars} more characters)"
