"""Remembered sessions and tools give what real ones give, and do no work twice."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from saccade.errors import MachineError, ToolError
from saccade.media.store import MediaStore
from saccade.sandbox.results import RunResult
from saccade.sandbox.sandbox import Sandbox
from saccade.sandbox.session import Session
from saccade.tools.remembered import MAX_KEPT_CHARS, RememberedSessions, remembering
from saccade.tools.tool import Tool, ToolOutput, tool_from

RED = {"input_image.png": Image.new("RGB", (8, 8), (200, 0, 0))}
BLUE = {"input_image.png": Image.new("RGB", (8, 8), (0, 0, 200))}


class Counted:
    """Real sessions, with a list of the codes that were really run."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.runs: list[str] = []

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> "CountedSession":
        return CountedSession(self.sandbox.session(images, seed=seed), self.runs)


class CountedSession:
    def __init__(self, session: Session, runs: list[str]) -> None:
        self.session = session
        self.runs = runs

    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        self.runs.append(code)
        return self.session.run(code, timeout_s=timeout_s)

    def close(self) -> None:
        self.session.close()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def counted(sandbox: Sandbox) -> Counted:
    return Counted(sandbox)


def outputs(
    sessions: RememberedSessions, *codes: str, images: Mapping[str, Image.Image] = RED, seed: int = 0
) -> list[str]:
    session = sessions.session(images=images, seed=seed)
    results = [session.run(code) for code in codes]
    session.close()
    return [result.error.name if result.error else result.stdout.strip() for result in results]


def test_the_same_runs_on_the_same_images_are_made_once(counted: Counted) -> None:
    sessions = RememberedSessions(counted)
    codes = ("x = input_image.size[0]", "print(x + 1)", "print(y)")
    assert outputs(sessions, *codes) == outputs(sessions, *codes) == ["", "9", "NameError"]
    assert counted.runs == list(codes)


def test_another_image_seed_or_history_is_another_run(counted: Counted) -> None:
    sessions = RememberedSessions(counted)
    pixel = "print(input_image.getpixel((0, 0)))"
    assert outputs(sessions, pixel) == ["(200, 0, 0)"]
    assert outputs(sessions, pixel, images=BLUE) == ["(0, 0, 200)"]
    draw = "import random; print(random.random())"
    assert outputs(sessions, draw, seed=1) != outputs(sessions, draw, seed=2)
    assert outputs(sessions, "x = 1", "print(x)") == ["", "1"]
    assert outputs(sessions, "x = 2", "print(x)") == ["", "2"]


def test_a_real_session_catches_up_with_what_was_remembered(counted: Counted) -> None:
    sessions = RememberedSessions(counted)
    outputs(sessions, "x = 5")
    assert outputs(sessions, "x = 5", "print(x)") == ["", "5"]
    assert counted.runs == ["x = 5", "x = 5", "print(x)"]


def test_many_threads_that_ask_for_one_run_get_it_made_once(counted: Counted) -> None:
    sessions = RememberedSessions(counted)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: outputs(sessions, "print(6 * 7)"), range(16)))
    assert found == [["42"]] * 16
    assert counted.runs == ["print(6 * 7)"]


def test_what_depends_on_the_machine_is_not_remembered(counted: Counted) -> None:
    sessions = RememberedSessions(counted)
    for _ in range(2):
        session = sessions.session(images=RED, seed=0)
        result = session.run("while True: pass", timeout_s=0.1)
        assert result.error is not None
        assert result.error.kind == "timeout"
        session.close()
    assert len(counted.runs) == 2


def test_the_oldest_runs_are_forgotten_first(counted: Counted) -> None:
    sessions = RememberedSessions(counted, max_runs=2)
    for code in ("print(1)", "print(2)", "print(3)", "print(3)", "print(1)"):
        outputs(sessions, code)
    assert counted.runs == ["print(1)", "print(2)", "print(3)", "print(1)"]


def test_results_are_forgotten_by_their_bytes(counted: Counted) -> None:
    """A picture of 100x100 takes 40,000 bytes, and each result some beside."""
    sessions = RememberedSessions(counted, max_bytes=400_000)
    show = "from PIL import Image; Image.new('L', (100, 100), {}).show()"
    codes = [show.format(level) for level in range(20)]
    for code in codes:
        outputs(sessions, code)
    assert counted.runs == codes
    outputs(sessions, codes[-1], images=RED)
    assert counted.runs == codes
    outputs(sessions, codes[0])
    assert counted.runs == [*codes, codes[0]]


def test_a_result_that_would_take_all_the_room_is_not_remembered(counted: Counted) -> None:
    sessions = RememberedSessions(counted, max_bytes=400_000)
    large = "print('x' * 16000)\nfrom PIL import Image; Image.new('L', (200, 200)).show()"
    for code in ("print(1)", large, large, "print(1)"):
        outputs(sessions, code)
    assert counted.runs == ["print(1)", large, large]


def test_a_closed_session_runs_nothing(counted: Counted) -> None:
    session = RememberedSessions(counted).session(images=RED, seed=0)
    session.close()
    with pytest.raises(MachineError, match="closed"):
        session.run("print(1)")


class Fragile(Counted):
    """Real sessions, of which the first is lost at its first run."""

    def session(self, *, images: Mapping[str, Image.Image], seed: int) -> "CountedSession":
        session = super().session(images=images, seed=seed)
        return LostSession(session.session, self.runs) if not self.runs else session


class LostSession(CountedSession):
    def run(self, code: str, *, timeout_s: float = 15.0) -> RunResult:
        self.session.run("import time; time.sleep(0.3)")
        super().run(code, timeout_s=timeout_s)
        raise MachineError("the session was lost")


def test_who_waits_for_a_run_that_is_lost_makes_it(sandbox: Sandbox) -> None:
    fragile = Fragile(sandbox)
    sessions = RememberedSessions(fragile)

    def played(_: int) -> str:
        try:
            return outputs(sessions, "print(6 * 7)")[0]
        except MachineError as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        found = sorted(threads.map(played, range(4)))
    assert found == ["42", "42", "42", "the session was lost"]
    assert fragile.runs == ["print(6 * 7)"] * 2


GREY, WHITE = Image.new("RGB", (8, 8), "grey"), Image.new("RGB", (8, 8), "white")


class CountedTool:
    """A tool that counts how often it really works."""

    def __init__(
        self, work: Callable[[Image.Image, str], ToolOutput | str] = lambda image, word: f"saw {word}"
    ) -> None:
        self.calls = 0
        self.media = MediaStore()
        self._work = work

        def see(image: Image.Image, word: str) -> ToolOutput:
            """See a word."""
            self.calls += 1
            given = self._work(image, word)
            return given if isinstance(given, ToolOutput) else ToolOutput(text=given, data={"word": word})

        self.tool: Tool = remembering(tool_from(see), max_calls=3)

    def __call__(self, word: str, image: Image.Image = GREY) -> str:
        result = self.tool.call({"word": word}, [self.media.add(image)], self.media)
        assert result.images or result.data == {"word": word}
        return result.text


def test_the_same_call_on_the_same_picture_is_made_once() -> None:
    see = CountedTool()
    assert [see("a"), see("a"), see("b"), see("a", WHITE), see("a")] == ["saw a", "saw a", "saw b", "saw a", "saw a"]
    assert see.calls == 3


def test_what_was_longest_not_asked_for_is_forgotten() -> None:
    see = CountedTool()
    for word in "abcadabc":
        see(word)
    # b was forgotten for d, c for b, and d for c.
    assert see.calls == 6


def test_a_refusal_is_remembered_too() -> None:
    def refuse(image: Image.Image, word: str) -> str:
        raise ToolError(f"no {word} here")

    see = CountedTool(refuse)
    for _ in range(3):
        with pytest.raises(ToolError, match="no a here"):
            see("a")
    assert see.calls == 1


def test_what_the_machine_failed_is_tried_again() -> None:
    def fail_once(image: Image.Image, word: str) -> str:
        if see.calls == 1:
            raise ConnectionError("gone")
        return "back"

    see = CountedTool(fail_once)
    with pytest.raises(MachineError, match="gone"):
        see("a")
    assert [see("a"), see("a")] == ["back", "back"]
    assert see.calls == 2


@pytest.mark.parametrize(
    "output",
    [ToolOutput(text="a picture", images=(WHITE,)), ToolOutput(text="x" * (MAX_KEPT_CHARS + 1), data={"word": "a"})],
)
def test_pictures_and_long_texts_are_made_anew(output: ToolOutput) -> None:
    see = CountedTool(lambda image, word: output)
    assert see("a") == see("a") == output.text
    assert see.calls == 2


def test_calls_at_the_same_time_wait_for_one_of_them() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(image: Image.Image, word: str) -> str:
        begun.set()
        assert go_on.wait(30)
        return "waited"

    see = CountedTool(wait)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(see, "a")
        assert begun.wait(30)
        others = [pool.submit(see, "a") for _ in range(3)]
        go_on.set()
        assert {one.result() for one in (first, *others)} == {"waited"}
    assert see.calls == 1
