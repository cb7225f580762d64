"""The code tool beside a sandbox that does what a test says; with the real one in ``test_envs_code.py``."""

import ast
import threading
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from saccade.envs.calls import run_within
from saccade.errors import MachineError, ToolError, UserError
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.sandbox.results import RunError, RunResult
from saccade.tools.code import python_tool
from saccade.tools.code_results import does_nothing
from saccade.tools.tool import Episode, OpenTool
from saccade.types import ToolResult

VIEW = ResizeRule(factor=16, min_pixels=64 * 64, max_pixels=64 * 64, convention="relative_1000")
OK = {"ok": True, "error_kind": None, "error_name": None}
Act = Callable[[str], RunResult]


def ran(stdout: str = "", *images: Image.Image, stderr: str = "", error: RunError | None = None) -> RunResult:
    return RunResult(stdout=stdout, stderr=stderr, images=images, elapsed_s=0.1, error=error)


class ScriptedSession:
    def __init__(self, act: Act) -> None:
        self.act = act
        self.is_open = True

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        return self.act(code)

    def close(self) -> None:
        self.is_open = False


class ScriptedSandbox:
    """Sessions that answer as told; all that were begun are kept."""

    def __init__(self, act: Act = lambda code: ran(code)) -> None:
        self.act = act
        self.sessions: list[ScriptedSession] = []
        self.begun: list[tuple[Mapping[str, Image.Image], int]] = []

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> ScriptedSession:
        self.begun.append((images, seed))
        self.sessions.append(ScriptedSession(self.act))
        return self.sessions[-1]


class Opened:
    """A code tool opened for an episode of one picture of 128 x 64 pixels."""

    def __init__(self, sandbox: ScriptedSandbox, **settings: object) -> None:
        self.media = MediaStore()
        images = (self.media.add(Image.new("RGB", (128, 64), (255, 0, 0))), self.media.add(Image.new("RGB", (64, 64))))
        episode = Episode(images=images, media=self.media, view=VIEW, seed=7)
        self.opened: OpenTool = python_tool(sandbox, **settings).open(episode)  # type: ignore[arg-type]

    def run(self, code: str) -> ToolResult:
        return self.opened.tool.call({"code": code}, (), self.media)


def result_of(run: RunResult, **settings: object) -> tuple[ToolResult, list[tuple[int, int]]]:
    result = Opened(ScriptedSandbox(lambda _: run), **settings).run("x")
    return result, [(image.width, image.height) for image in result.images]


def test_a_run_that_printed_is_its_text_and_data_without_times() -> None:
    assert result_of(ran("3\n"))[0] == ToolResult(text="3", data=OK)
    assert result_of(ran("3\n", stderr="careful\n"))[0] == ToolResult(text="3\ncareful", data=OK)
    assert result_of(ran())[0] == ToolResult(text="", data=OK)


def test_a_failed_run_keeps_its_output_and_the_end_of_its_traceback_and_no_image() -> None:
    traceback = "\n".join([*(f"line {number}" for number in range(20)), "NameError: no x", ""])
    error = RunError(kind="exception", name="NameError", message="no x", traceback=traceback)
    result, sizes = result_of(ran("so far", Image.new("RGB", (64, 64)), error=error))
    assert result == ToolResult(
        text="so far\nline 15\nline 16\nline 17\nline 18\nline 19\nNameError: no x",
        data={"ok": False, "error_kind": "exception", "error_name": "NameError"},
        is_ok=False,
    )
    assert sizes == []


def test_a_run_out_of_time_has_a_kind_and_no_name() -> None:
    error = RunError(kind="timeout", name="", message="over 15 s")
    assert result_of(ran(error=error))[0] == ToolResult(
        text="over 15 s", data={"ok": False, "error_kind": "timeout", "error_name": None}, is_ok=False
    )


def test_a_class_of_any_name_is_named_on_one_short_line() -> None:
    error = RunError(kind="exception", name="A\nB" * 100, message="m")
    assert result_of(ran(error=error))[0].data["error_name"] == " ".join(("A\nB" * 100)[:80].split())


def test_success_is_what_the_sandbox_says_and_not_what_the_text_says() -> None:
    assert result_of(ran("Error: timeout. Traceback (most recent call last)"))[0].is_ok
    assert not result_of(ran("Success!", error=RunError(kind="exit", name="SystemExit", message="0")))[0].is_ok


@pytest.mark.parametrize("code", ["", " \n", "# only this", "'''doc'''", "pass", "pass; ...", "'a'\n# b\n1\n", "None"])
def test_code_that_does_nothing_fails_and_costs_no_session(code: str) -> None:
    sandbox = ScriptedSandbox()
    assert Opened(sandbox).run(code) == ToolResult(
        text="the code does nothing", data={"ok": False, "error_kind": "empty", "error_name": None}, is_ok=False
    )
    assert sandbox.sessions == []


@settings(derandomize=True, max_examples=500, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "'a'",
                '"b"',
                "'''",
                '"""',
                "'",
                '"',
                "\\",
                "#",
                "pass",
                "...",
                "None",
                "1",
                "2.5",
                "x",
                ";",
                "\n",
                " ",
                "r",
                "f",
                "+",
            ]
        ),
        max_size=8,
    ).map("".join)
)
def test_code_does_nothing_exactly_when_its_statements_are_constants_or_pass(code: str) -> None:
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return
    idle = all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) for one in body
    )
    assert does_nothing(code) == idle


@pytest.mark.parametrize("piece", ["'", '"""', "\\\n", '"a', "#", "1", "pass ", "'\\", "\n"])
def test_nothing_is_told_of_long_code_as_of_short(piece: str) -> None:
    # With the square of the length this would take hours.
    assert does_nothing(piece * 1_000_000 + "x") == does_nothing(piece * 100 + "x")


def test_output_and_errors_over_the_limit_are_cut() -> None:
    assert result_of(ran("x" * 50), max_output_chars=10)[0].text == "x" * 10 + "… (40 more characters)"
    error = RunError(kind="exception", name="E", message="m" * 50)
    assert result_of(ran(error=error), max_output_chars=10)[0].text == "…" + "m" * 10


def test_places_in_memory_are_left_out_so_that_runs_compare() -> None:
    assert result_of(ran("<object at 0x7f00deadbeef> 0x7f00deadbeef"))[0].text == "<object at 0x…> 0x7f00deadbeef"


def test_small_images_are_enlarged_large_ones_shrunk_and_very_long_ones_left_out() -> None:
    sizes = [(8, 4), (56, 56), (8192, 100), (1000, 9)]
    result, shown = result_of(ran("3", *(Image.new("RGB", size) for size in sizes)))
    assert shown == [(112, 56), (56, 56), (4588, 56)]
    assert result.text == "3\n[1 of the pictures not shown: over 100 times longer than wide]"


def test_images_over_the_number_for_a_turn_are_left_out_with_a_note() -> None:
    result, shown = result_of(ran("", *[Image.new("RGB", (60, 60), (n, 0, 0)) for n in range(5)]), max_images=2)
    assert len(shown) == 2
    assert result.text == "[3 more pictures not shown: a run shows 2]"


@pytest.mark.parametrize(("shows", "sizes"), [("original", [(128, 64), (64, 64)]), ("view", [(80, 32), (64, 64)])])
def test_code_gets_the_images_at_their_original_size_or_as_the_model_sees_them(
    shows: str, sizes: Sequence[tuple[int, int]]
) -> None:
    sandbox = ScriptedSandbox()
    Opened(sandbox, shows=shows).run("x")
    ((images, seed),) = sandbox.begun
    assert {name: image.size for name, image in images.items()} == {
        "input_image.png": sizes[0],
        "input_image_2.png": sizes[1],
    }
    assert seed == 7


def test_an_episode_has_one_session_from_its_first_run_to_its_end() -> None:
    sandbox = ScriptedSandbox()
    episode = Opened(sandbox)
    assert sandbox.sessions == []
    episode.run("x")
    episode.run("y")
    (session,) = sandbox.sessions
    assert session.is_open
    episode.opened.close()
    episode.opened.close()
    assert not session.is_open
    with pytest.raises(MachineError, match="the episode is over"):
        episode.run("z")
    assert len(sandbox.sessions) == 1


def failing_once(after: int) -> tuple[ScriptedSandbox, list[str]]:
    """A sandbox that loses its session in the run after so many, and what it ran."""
    codes: list[str] = []

    def act(code: str) -> RunResult:
        codes.append(code)
        if len(codes) == after + 1:
            raise MachineError("the session is lost")
        return ran(code)

    return ScriptedSandbox(act), codes


def test_a_session_lost_in_the_first_run_is_begun_anew() -> None:
    sandbox, codes = failing_once(after=0)
    episode = Opened(sandbox)
    with pytest.raises(MachineError, match="lost"):
        episode.run("x")
    assert episode.run("x").text == "x"
    assert codes == ["x", "x"]
    assert [session.is_open for session in sandbox.sessions] == [False, True]


def test_a_session_lost_later_is_lost_for_good_and_nothing_runs_without_its_variables() -> None:
    sandbox, codes = failing_once(after=1)
    episode = Opened(sandbox)
    episode.run("a = 1")
    for _ in range(3):
        with pytest.raises(MachineError, match="lost"):
            episode.run("a += 1")
    assert codes == ["a = 1", "a += 1"]
    assert [session.is_open for session in sandbox.sessions] == [False]


def test_a_run_past_its_callers_deadline_never_counts_and_is_not_repeated_on_its_session() -> None:
    release, ended = threading.Event(), threading.Event()
    outcomes: list[str] = []

    def act(code: str) -> RunResult:
        if not sandbox.sessions[1:]:
            release.wait(120)
        return ran(code)

    sandbox = ScriptedSandbox(act)
    episode = Opened(sandbox)

    def late() -> None:
        try:
            episode.run("x")
        except MachineError as error:
            outcomes.append(str(error))
        ended.set()

    with pytest.raises(MachineError, match="deadline"):
        run_within(late, deadline_s=0.05, what="the run")
    assert episode.run("x").text == "x"
    release.set()
    assert ended.wait(60)
    assert outcomes == ["the Python session was closed during a run"]
    assert [session.is_open for session in sandbox.sessions] == [False, True]


def test_calls_that_are_no_code_are_refused() -> None:
    episode = Opened(ScriptedSandbox())
    for arguments in ({}, {"code": 3}, {"code": None}, {"code": "x" * 16_385}, {"code": "x", "image": 1}):
        with pytest.raises(ToolError):
            episode.opened.tool.call(arguments, (), episode.media)


def test_settings_that_cannot_work_are_refused() -> None:
    for settings_ in ({"timeout_s": 0}, {"min_side_px": 0}, {"max_images": -1}, {"max_output_chars": 0}):
        with pytest.raises(UserError, match="must be positive"):
            python_tool(ScriptedSandbox(), **settings_)  # type: ignore[arg-type]


def test_the_schema_says_which_image_the_code_gets() -> None:
    assert "in its original size" in python_tool(ScriptedSandbox()).spec.description
    assert "in the size in which you see it" in python_tool(ScriptedSandbox(), shows="view").spec.description


def test_a_run_whose_session_took_longer_than_one_run_may_is_not_run_again() -> None:
    """Every run takes 0.1 s."""
    sandbox = ScriptedSandbox()
    episode = Opened(sandbox, checks_work=True, timeout_s=0.15)
    assert [episode.run(code).data["work"] for code in ("a", "b")] == ["idle", "idle"]
    # One for the episode, and for the first run alone one with a blank picture and one with the negative.
    assert len(sandbox.sessions) == 3
    assert [session.is_open for session in sandbox.sessions] == [True, False, False]


def test_a_session_lost_in_a_check_is_the_machine_s_failure_and_the_first_run_may_be_tried_again() -> None:
    sandbox, codes = failing_once(after=1)
    episode = Opened(sandbox, checks_work=True)
    with pytest.raises(MachineError, match="the session is lost"):
        episode.run("a")
    assert episode.run("a").data == {**OK, "work": "idle"}
    assert codes == ["a"] * 5
