"""Environments of verifiers v1: which tasks are whose, how calls are read; a real one where its Python is named."""

import itertools
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.interop.environments.actions import calls_in
from saccade.interop.environments.bridge import BridgedSource
from saccade.interop.environments.sources import WorldNames
from saccade.interop.environments.verifiers_v1_world import TasksRead, VerifiersV1Source
from saccade.interop.environments.world import NumberedEpisode, Split

TOY = """
import verifiers.v1 as vf

__all__ = ["Sums"]


class Sum(vf.TaskData):
    total: int


class SumTask(vf.Task[Sum]):
    @vf.reward(weight=1.0)
    async def right(self, trace) -> float:
        return float(trace.last_reply == str(self.data.total))


class Sums(vf.Taskset[SumTask, vf.TasksetConfig]):
    def load(self):
        for number in range(12):
            yield SumTask(Sum(prompt=f"{number} + 1", total=number + 1), self.config.task)
"""


class Rows:
    """A taskset's outside."""

    def __init__(self, count: int | None) -> None:
        self.count, self.bounded = count, count is not None

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.count)) if self.count is not None else itertools.count()


def source(count: int | None, **arguments: object) -> VerifiersV1Source:
    made = VerifiersV1Source(id="rows", arguments=arguments)  # type: ignore[arg-type]
    rows = TasksRead(Rows(count))
    made._read.update({"train": rows, "test": rows})
    return made


def asked(made: VerifiersV1Source, split: Split, numbers: int) -> list[int]:
    return [made.task(NumberedEpisode(number=number, split=split)) for number in range(numbers)]


@pytest.mark.parametrize("count", [2, 3, 9, 10, 11, 25, 100])
def test_no_task_is_both_trained_on_and_held_out_and_none_is_lost(count: int) -> None:
    made = source(count)
    trained, held = made.count("train"), made.count("test")
    assert trained is not None
    assert held is not None
    both = [*asked(made, "train", trained), *asked(made, "test", held)]
    assert sorted(both) == list(range(count))
    assert held == count // min(10, count)


def test_tasks_without_an_end_are_shared_out_alike() -> None:
    made = source(None)
    assert made.count("train") is None
    assert asked(made, "train", 11) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]
    assert asked(made, "test", 2) == [9, 19]


def test_named_held_out_tasks_are_all_of_them_and_one_task_alone_is_never_held_out() -> None:
    made = source(3, test={"split": "test"})
    assert (made.count("train"), made.count("test"), asked(made, "test", 3)) == (3, 3, [0, 1, 2])
    alone = source(1)
    assert (alone.count("train"), asked(alone, "train", 2)) == (1, [0, 0])
    with pytest.raises(UserError, match="none can be held out"):
        alone.count("test")


@pytest.mark.parametrize(
    ("action", "found"),
    [
        ("a reply", []),
        ('{"answer": 3}', []),
        ('{"name": "add", "arguments": {"a": 1}}', ["add"]),
        ('x<tool_call>{"name": "add", "arguments": {}}</tool_call>' * 2, ["add", "add"]),
        ('{"name": "rm", "arguments": {}}', "the tools are add"),
        ('{"name": "add", "arguments": "x"}', "the tools are add"),
        ("<tool_call>[" * 9_000 + "</tool_call>", "no JSON object"),
    ],
)
def test_a_call_is_read_or_refused_in_words(action: str, found: object) -> None:
    read = calls_in(action, ["add"])
    if isinstance(found, str):
        assert isinstance(read, str)
        assert found in read
    else:
        assert not isinstance(read, str)
        assert [call["function"]["name"] for call in read] == found  # type: ignore[call-overload, index]
    assert calls_in(action, []) == []


PYTHON = os.environ.get("SACCADE_VERIFIERS_PYTHON", "")


@pytest.mark.skipif(not PYTHON, reason="SACCADE_VERIFIERS_PYTHON names no Python with verifiers 0.4")
def test_a_real_taskset_is_played_and_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_sums.py").write_text(TOY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with BridgedSource(names=WorldNames(env="verifiers:toy_sums"), python=Path(PYTHON)) as opened:
        assert (opened.count("train"), opened.count("test")) == (11, 1)
        with closing(opened.make()) as world:
            world.reset(NumberedEpisode(number=2))  # left in the middle
            for reply, paid in (("4", 1.0), ("5", 0.0)):
                assert world.reset(NumberedEpisode(number=3)).text == "3 + 1"
                result = world.step(reply)
                assert (result.reward, result.terminated) == (paid, True)
