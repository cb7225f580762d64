"""Sessions that remember runs give what real ones give, and make no run twice."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from saccade.errors import MachineError
from saccade.sandbox.results import RunResult
from saccade.sandbox.sandbox import Sandbox
from saccade.sandbox.session import Session
from saccade.tools.remembered import RememberedSessions

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
