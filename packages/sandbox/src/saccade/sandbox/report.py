"""The keeper's report to the trainer about one run; all that comes from the session in it is bounded."""

import os
import signal
from dataclasses import dataclass, field

from saccade.sandbox.results import Limits
from saccade.sandbox.wire import Head, whole_number, words

_KINDS = ("exception", "exit", "memory", "limit")


@dataclass(frozen=True, kw_only=True, slots=True)
class Memories:
    """Memory files that the keeper shares with the session's processes."""

    out: int
    err: int
    inbox: int
    images: int


def stderr_text(memories: Memories) -> str:
    """The standard error of a session's process, for a message about its end."""
    return ":\n" + os.pread(memories.err, 4000, 0).decode("utf-8", "replace")


@dataclass(kw_only=True, slots=True)
class Report:
    """Pictures and duration of the run under way."""

    limits: Limits
    pictures: list[tuple[int, int, int]] = field(default_factory=list)
    elapsed_s: float = 0.0

    def note_picture(self, heard: Head) -> None:
        """Width, height, and where its bytes start; what no picture can have is passed over."""
        width, height, start = (whole_number(heard, name, -1) for name in ("width", "height", "start"))
        inside = width > 0 and height > 0 and start >= 0 and width * height <= self.limits.image_pixels
        if inside and len(self.pictures) < self.limits.images:
            self.pictures.append((width, height, start))

    def frame(self, memories: Memories, failure: Head) -> tuple[Head, bytes]:
        """Head and body of the answer; ``failure`` is empty when the run was good."""
        most = 4 * self.limits.output_chars
        out, err = _ends(memories.out, most), _ends(memories.err, most)
        pictures, sizes = [], []
        room = self.limits.image_mib << 20
        for width, height, start in self.pictures:
            size = 3 * width * height
            room -= size
            if room < 0:
                break
            content = os.pread(memories.images, size, start)
            if len(content) == size:
                pictures.append(content)
                sizes.append((width, height))
        head: Head = {
            "out": [len(part) for part in out[:2]] + [out[2]],
            "err": [len(part) for part in err[:2]] + [err[2]],
            "images": sizes,
            "elapsed_s": self.elapsed_s,
            **failure,
        }
        return head, b"".join([*out[:2], *err[:2], *pictures])


def failure_of(ended: Head, gone: Head, limits: Limits) -> Head:
    """The failure of a run: as its process told it, or by the exit status that the state reports."""
    if ended["kind"] == "fail":
        kind = words(ended, "error", 16)
        return {
            "error": kind if kind in _KINDS else "exception",
            "name": words(ended, "name", 200),
            "message": words(ended, "message"),
            "traceback": words(ended, "traceback"),
        }
    if ended["kind"] == "late":
        return {"error": "timeout", "message": f"the code took longer than {ended['timeout_s']:g} s"}
    # Bounded, as a hostile state may say anything.
    status = whole_number(gone, "status") & 0xFFFF
    if not os.WIFSIGNALED(status):
        return {"error": "exit", "message": f"the code ended its process with status {status >> 8}"}
    number = os.WTERMSIG(status)
    # The kernel enforces the limit by ticks of its clock, which on a busy machine run ahead of the time that it tells.
    if number == signal.SIGKILL and whole_number(gone, "cpu_ms") >= 500 * limits.cpu_s:
        return {"error": "timeout", "message": f"the code took more than {limits.cpu_s:g} s of processor time"}
    if number == signal.SIGKILL:
        return {"error": "memory", "message": "the system killed the code, most likely for its memory"}
    return {"error": "killed", "message": f"the code was ended by signal {_signal_name(number)}"}


def _ends(file: int, most: int) -> tuple[bytes, bytes, int]:
    """All of a file, or its first and last bytes; and the number of bytes between them."""
    size = os.fstat(file).st_size
    if size <= 2 * most:
        return os.pread(file, size, 0), b"", 0
    return os.pread(file, most, 0), os.pread(file, most, size - most), size - 2 * most


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
