"""math-verify's verdicts are reported beside ours; hostile answers cost bounded time and are no verdict."""

import pytest

from places import source_files
from saccade.errors import MachineError
from saccade.evaluation.samples import StoredSample
from saccade.evaluation.second_verdicts import ENDED, LATE, TOO_LONG, MathVerify, second_verdicts

pytest.importorskip("math_verify")


def sample(gold: str, answer: str | None, *, right: bool | None, choices: int = 0) -> StoredSample:
    return StoredSample(
        id=gold,
        q="q",
        key="k",
        sample=0,
        status="answered",
        right=right,
        score=None,
        answer=answer,
        gold=gold,
        reply="",
        family="f",
        cluster="c",
        choices=choices,
    )


def test_both_verdicts_are_counted_and_options_and_failures_are_left_out() -> None:
    samples = [
        sample(r"\frac{1}{2}", "0.5", right=True),
        sample("14", "28/2", right=False),
        sample("x^2+2x+1", "(x+1)^2", right=False),
        sample("7", None, right=False),
        sample("7", "8", right=False),
        sample("", "8", right=False),
        sample("B", "B", right=True, choices=4),
        sample("7", "7", right=None),
    ]
    with MathVerify() as verify:
        found = second_verdicts("maths", samples, verify)
    assert (found.samples, found.verdicts, found.right, found.ours, found.agreed) == (6, 5, 3, 1, 3)
    assert list(found.no_verdict) == ["the right answer is no mathematics"]
    assert found.describe().startswith("maths: math-verify 60.0%, ours 20.0%, agreed on 60.0% of 5 open answers; no")


def test_an_answer_that_takes_for_ever_is_no_verdict() -> None:
    with MathVerify(timeout_s=2.0) as verify:
        assert verify("1", "9^{9^{9^{9^{9}}}}") == LATE
        assert verify("1", "1" * 600) == TOO_LONG
    with MathVerify() as verify:
        assert verify("1/2", "0.5") is True


def test_a_process_that_is_gone_is_started_again() -> None:
    with MathVerify() as verify:
        assert verify("2", "2") is True
        process = verify._process
        assert process is not None
        process.kill()
        process.wait()
        assert verify("2", "2") == ENDED
        assert verify("2", "3") is False


def test_without_memory_it_does_not_start() -> None:
    with pytest.raises(MachineError, match="math-verify did not start"), MathVerify(memory_bytes=30 * 2**20):
        pass


def test_it_rewards_nothing() -> None:
    users = [path.name for _, path in source_files() if "second_verdicts" in path.read_text(encoding="utf-8")]
    assert sorted(users) == ["measured.py", "second_verdicts.py"]
