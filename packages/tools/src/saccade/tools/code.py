"""Python as a tool: code that a model writes, run in a session of the sandbox that lasts for its episode."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from PIL import Image

from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore, image_hash
from saccade.protocols.code import MAX_CODE_CHARS
from saccade.protocols.code_words import PYTHON_TOOL, input_file
from saccade.sandbox.libraries import installed_libraries
from saccade.sandbox.results import RunResult
from saccade.tools.code_evidence import needed_cells, seen_json
from saccade.tools.code_results import does_nothing, nothing_done, picture_shown, tool_result
from saccade.tools.code_work import Shown, WorkChecks
from saccade.tools.schema import Parameter
from saccade.tools.tool import Episode, OpenTool, Tool
from saccade.types import SEEN, WORK, Json, ToolResult, ToolSpec, Work

MAX_INPUT_IMAGES = 64
"""Images of a question that are given to the code; a long video's later frames are left out."""

MAX_CHECKS = 3
"""Times that a session's runs are made again to see what the last of them did."""

REPEATABLE = ("exception", "exit")
"""Kinds of errors that do not depend on how busy the machine is."""

_RUN = re.compile(r"<run \d++>")
_ADDRESS = re.compile(r"\bat 0x[0-9A-Fa-f]++")

MAX_WAIT_S = 300.0
"""A run's limit beside its own time: what it may wait for others to finish."""

Shows = Literal["original", "view"]


class CodeSession(Protocol):
    """The part of a sandbox's session that the tool needs."""

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult: ...

    def close(self) -> None: ...


class Sessions(Protocol):
    """Where sessions come from: ``saccade.sandbox.Sandbox``, entered by the run."""

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> CodeSession: ...


def python_tool(
    sandbox: Sessions,
    *,
    timeout_s: float = 15.0,
    shows: Shows = "original",
    min_side_px: int = 56,
    max_images: int = 4,
    max_output_chars: int = 4096,
    checks_work: bool = False,
    evidence_runs: int = 0,
) -> "PythonTool":
    """A tool ``execute_python_code`` with the argument ``code``; each episode has a session of its own.

    The session begins at the episode's first run, with the question's images as ``input_images`` (the first also as
    ``input_image``) and as PNG files; ``shows`` says whether at their original size or as the model sees them.
    An image that a run shows is enlarged until its shorter side has ``min_side_px``; more than ``max_images`` are
    left out, and so is output over ``max_output_chars``, each with a note.

    A run that fails is a result with ``is_ok=False``; so is code that does nothing, which is not even run. The data of
    a result are ``ok``, ``error_kind`` (None, ``empty`` or one of ``saccade.sandbox.results.ErrorKind``) and
    ``error_name`` (None or the exception's class). A call in an episode's last turn is not run and has no result.

    With ``checks_work`` the data of a run that succeeded also say by ``WORK`` what it did: see
    ``saccade.tools.code_work``. For that the session's runs are made again in two or three sessions more, unless the
    run showed nothing new; a run whose session took longer than ``timeout_s`` altogether is not checked and ``idle``.

    With ``evidence_runs`` they say by ``SEEN`` which cells of the pictures the output depends on: see
    ``saccade.tools.code_evidence``. So many sessions are begun for it at most, 40 or more for a rough picture.
    """
    if not timeout_s > 0 or min_side_px < 1 or max_images < 0 or max_output_chars < 1 or evidence_runs < 0:
        raise UserError(
            f"timeout_s={timeout_s}, min_side_px={min_side_px} and max_output_chars={max_output_chars} must be "
            f"positive, max_images={max_images} and evidence_runs={evidence_runs} not negative"
        )
    return PythonTool(
        sandbox=sandbox,
        timeout_s=timeout_s,
        shows=shows,
        min_side_px=min_side_px,
        max_images=max_images,
        max_output_chars=max_output_chars,
        checks_work=checks_work,
        evidence_runs=evidence_runs,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PythonTool:
    """Made by ``python_tool``."""

    sandbox: Sessions
    timeout_s: float
    shows: Shows
    min_side_px: int
    max_images: int
    max_output_chars: int
    checks_work: bool
    evidence_runs: int

    def __deepcopy__(self, memo: dict[int, object]) -> "PythonTool":
        """A sandbox is shared, never copied."""
        return self

    @property
    def spec(self) -> ToolSpec:
        size = "in its original size" if self.shows == "original" else "in the size in which you see it"
        *most, last = installed_libraries()
        description = (
            f"Run Python 3 with {', '.join(most)} and {last}. The variable input_image "
            f"holds the first image as a PIL image, {size}, and input_images is the list of all; they are also the "
            f"files {input_file(0)}, {input_file(1)} and so on. A run may take {self.timeout_s:g} s and show "
            f"{self.max_images} pictures."
        )
        code: dict[str, Json] = {"type": "string", "maxLength": MAX_CODE_CHARS, "description": "Python source"}
        parameters: dict[str, Json] = {
            "type": "object",
            "properties": {"code": code},
            "required": ["code"],
            "additionalProperties": False,
        }
        return ToolSpec(name=PYTHON_TOOL, description=description, parameters=parameters)

    @property
    def origin(self) -> dict[str, Json]:
        """What makes it again (``saccade.tools.making``)."""
        return {
            "python": {
                "timeout_s": self.timeout_s,
                "shows": self.shows,
                "min_side_px": self.min_side_px,
                "max_images": self.max_images,
                "max_output_chars": self.max_output_chars,
                "isolation": getattr(self.sandbox, "isolation", "full"),
            }
        }

    def open(self, episode: Episode) -> OpenTool:
        """The tool of one episode; a session begins with the first run only."""
        python = _EpisodePython(self, episode)
        tool = Tool(
            spec=self.spec,
            parameters=(Parameter(name="code", kind="text", max_chars=MAX_CODE_CHARS),),
            function=python.run,
            deadline_s=(self.timeout_s + MAX_WAIT_S) * (1 + MAX_CHECKS * self.checks_work + self.evidence_runs),
        )
        return OpenTool(tool=tool, close=python.close)

    def shown(self, result: RunResult, media: MediaStore) -> ToolResult:
        """The run as the model sees it."""
        return tool_result(
            result,
            media,
            min_side_px=self.min_side_px,
            max_images=self.max_images,
            max_output_chars=self.max_output_chars,
        )


class _EpisodePython:
    """The session of one episode.

    A run that ended in no result, because the session was lost or the caller's deadline passed, ends the session, for
    it is not known whether it took effect. Where no run before had succeeded, a second try has a new session and is as
    good as the first; otherwise variables would be missing, and every later run is a ``MachineError``.
    """

    def __init__(self, tool: PythonTool, episode: Episode) -> None:
        self._tool = tool
        self._episode = episode
        self._lock = threading.Lock()
        self._session: CodeSession | None = None
        self._is_running = False
        self._has_state = False
        self._is_closed = False
        self._checks: WorkChecks | None = None
        self._ran_s = 0.0
        """Time of the runs that succeeded."""
        self._codes: list[str] = []
        """Those runs, where it is looked for what they depend on."""

    def run(self, code: str) -> ToolResult:
        """The result of the run; MachineError when the sandbox fails."""
        if does_nothing(code):
            return nothing_done()
        session = self._begin()
        try:
            result = session.run(code, timeout_s=self._tool.timeout_s)
            given = self._tool.shown(result, self._episode.media)
            self._ran_s += result.elapsed_s * result.ok
            if self._tool.checks_work and result.ok:
                given = replace(given, data={**given.data, WORK: self._work(code, given)})
            if self._tool.evidence_runs and result.ok:
                given = replace(given, data={**given.data, **self._seen(code, given)})
        except BaseException:
            self._lose(session)
            raise
        self._end(session, result)
        return given

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._drop()

    def _begin(self) -> CodeSession:
        with self._lock:
            if self._is_closed:
                raise MachineError("the episode is over; its Python session is closed")
            if self._is_running:
                # An earlier run passed its caller's deadline and may still take effect.
                self._drop()
            if self._session is None:
                if self._has_state:
                    raise MachineError("the Python session of this episode was lost, and its variables with it")
                self._session = self._tool.sandbox.session(images=self._inputs(), seed=self._episode.seed)
            self._is_running = True
            return self._session

    def _end(self, session: CodeSession, result: RunResult) -> None:
        with self._lock:
            if self._session is not session:
                raise MachineError("the Python session was closed during a run")
            self._is_running = False
            self._has_state = self._has_state or result.ok

    def _lose(self, session: CodeSession) -> None:
        with self._lock:
            if self._session is session:
                self._drop()

    def _drop(self) -> None:
        session, self._session, self._is_running = self._session, None, False
        if session is not None:
            session.close()

    def _work(self, code: str, given: ToolResult) -> Work:
        if self._checks is None:
            inputs = self._inputs()
            as_shown = [picture_shown(picture, min_side_px=self._tool.min_side_px) for picture in inputs.values()]
            seen = {image.hash for image in self._episode.images} | {image_hash(picture) for picture in as_shown}
            self._checks = WorkChecks(self._again, pictures=inputs, seen=seen, seed=self._episode.seed)
        return self._checks.work(code, _as_shown(given), is_checked=self._ran_s <= self._tool.timeout_s)

    def _seen(self, code: str, given: ToolResult) -> dict[str, Json]:
        """What the output depends on, by ``SEEN``: of chance on nothing, unknown where runs take too long."""
        self._codes.append(code)
        if self._ran_s > self._tool.timeout_s:
            return {}
        shown, seed, runs = _as_shown(given), self._episode.seed, self._tool.evidence_runs
        grids = needed_cells(self._again, self._codes, self._inputs(), shown, seed=seed, runs=runs)
        return {SEEN: [] if grids is None else seen_json(grids)}

    def _again(self, codes: Sequence[str], pictures: Mapping[str, Image.Image], seed: int) -> Shown | None:
        """The runs in a session of their own."""
        session = self._tool.sandbox.session(images=pictures, seed=seed)
        try:
            results = [session.run(code, timeout_s=self._tool.timeout_s) for code in codes]
        finally:
            session.close()
        if any(result.error and result.error.kind not in REPEATABLE for result in results):
            return None
        return _as_shown(self._tool.shown(results[-1], MediaStore()))

    def _inputs(self) -> dict[str, Image.Image]:
        episode = self._episode
        inputs = {}
        for index, image in enumerate(episode.images[:MAX_INPUT_IMAGES]):
            picture = episode.media.get(image)
            size = picture.size if self._tool.shows == "original" else episode.view.view_size(*picture.size)
            inputs[input_file(index)] = (
                picture if picture.size == size else picture.resize(size, Image.Resampling.BICUBIC)
            )
        return inputs


def _as_shown(result: ToolResult) -> Shown:
    # Warnings name the run, and runs that failed are not made again. Where an object lies is not what it is.
    text = _ADDRESS.sub("at its address", _RUN.sub("<run>", result.text))
    return Shown(text=text, pictures=tuple(image.hash for image in result.images))
