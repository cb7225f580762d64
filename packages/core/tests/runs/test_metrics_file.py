import json
import math
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from saccade.errors import MachineError, UserError
from saccade.metric_names import WALL_S
from saccade.runs.metrics import MetricsWriter, read_metrics, without_times
from saccade.runs.position import Position

STAGES = ("sft", "rl")


def at(stage: str, step: int) -> Position:
    return Position(stage=stage, step=step)


def write_run(path: Path, *, until: Position, tensorboard: Path | None = None) -> None:
    with MetricsWriter.open(path, stages=STAGES, tensorboard=tensorboard) as writer:
        for stage in STAGES:
            for step in range(1, 4):
                if not at(stage, step).is_after(until, STAGES):
                    writer.write(at(stage, step), {"loss": 1 / step, "time/step_s": 0.5})


def test_a_record_is_one_line_with_stage_and_step(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsWriter.open(path, stages=STAGES) as writer:
        writer.write(at("sft", 1), {"loss": 0.1 + 0.2, "tokens": 40})
    record = json.loads(path.read_text())
    assert record.pop(WALL_S) >= 0
    assert record == {"stage": "sft", "step": 1, "loss": 0.30000000000000004, "tokens": 40}


def test_a_record_is_in_the_file_before_the_writer_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    writer = MetricsWriter.open(path, stages=STAGES)
    writer.write(at("sft", 1), {"loss": 1.0})
    assert len(path.read_bytes().splitlines()) == 1
    writer.sync()
    writer.close()
    writer.close()


def test_numbers_that_are_not_finite_survive(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsWriter.open(path, stages=STAGES) as writer:
        writer.write(at("sft", 1), {"loss": math.nan, "norm": math.inf})
    [(_, values)] = read_metrics(path)
    assert math.isnan(values["loss"])
    assert values["norm"] == math.inf


def test_records_after_the_checkpoint_are_cut_and_the_rest_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_run(path, until=at("rl", 3))
    whole = path.read_bytes()
    MetricsWriter.open(path, stages=STAGES, keep_until=at("rl", 1)).close()
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:4])


def test_a_killed_and_resumed_file_equals_one_that_was_not_killed(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    write_run(whole, until=at("rl", 3))
    write_run(killed, until=at("rl", 2))
    with killed.open("ab") as file:
        file.write(b'{"stage": "rl", "st')
    with MetricsWriter.open(killed, stages=STAGES, keep_until=at("sft", 2)) as writer:
        for position in (at("sft", 3), at("rl", 1), at("rl", 2), at("rl", 3)):
            writer.write(position, {"loss": 1 / position.step, "time/step_s": 0.9})
    assert without_times(killed) == without_times(whole)
    assert len(without_times(whole)) == 6


def test_without_a_checkpoint_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_run(path, until=at("rl", 3))
    MetricsWriter.open(path, stages=STAGES, keep_until=None).close()
    assert path.read_bytes() == b""


def test_a_checkpoint_after_the_last_record_keeps_all(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_run(path, until=at("sft", 3))
    before = path.read_bytes()
    MetricsWriter.open(path, stages=STAGES, keep_until=at("rl", 9)).close()
    assert path.read_bytes() == before


def test_work_time_goes_on_from_the_last_record_that_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"stage": "sft", "step": 1, "{WALL_S}": 1000.0}}\n')
    with MetricsWriter.open(path, stages=STAGES, keep_until=at("sft", 1)) as writer:
        assert 1000.0 <= writer.wall_s < 1100.0


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_run(path, until=at("sft", 3))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "oops\n" + lines[2])
    with pytest.raises(UserError, match=r"metrics.jsonl:2: not a metrics record"):
        MetricsWriter.open(path, stages=STAGES, keep_until=at("sft", 3))
    path.write_text(lines[0] + '{"stage": "sft", "step": "2"}\n')
    with pytest.raises(UserError, match=r"metrics.jsonl:2: .*'step' must be a whole number"):
        list(read_metrics(path))


def test_a_stage_that_the_plan_has_not_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write_run(path, until=at("rl", 1))
    with pytest.raises(UserError, match="has a stage 'rl' that the plan does not have"):
        MetricsWriter.open(path, stages=("sft",), keep_until=at("sft", 9))


def test_a_metric_cannot_take_the_name_of_the_position(tmp_path: Path) -> None:
    with (
        MetricsWriter.open(tmp_path / "metrics.jsonl", stages=STAGES) as writer,
        pytest.raises(ValueError, match="step are written by the writer itself"),
    ):
        writer.write(at("sft", 1), {"step": 3.0})


def test_a_full_disk_is_the_machines_failure() -> None:
    with (
        Path("/dev/full").open("ab", buffering=0) as full,
        pytest.raises(MachineError, match="No space left on device; free some space"),
    ):
        MetricsWriter(full, Path("/dev/full"), None, None).write(at("sft", 1), {"loss": 1.0})


def scalars(directory: Path) -> list[tuple[int, float]]:
    events = EventAccumulator(str(directory))
    events.Reload()
    return [(event.step, round(event.value, 3)) for event in events.Scalars("loss")]


def test_tensorboard_forgets_the_steps_after_the_checkpoint_of_that_stage_only(tmp_path: Path) -> None:
    path, boards = tmp_path / "metrics.jsonl", tmp_path / "tensorboard"
    write_run(path, until=at("rl", 3), tensorboard=boards)
    assert scalars(boards / "rl") == [(1, 1.0), (2, 0.5), (3, 0.333)]
    # TensorBoard reads files in the order of their names, and in one second its tenth comes before its ninth.
    time.sleep(1 - time.time() % 1)
    with MetricsWriter.open(path, stages=STAGES, keep_until=at("rl", 1), tensorboard=boards) as writer:
        writer.write(at("rl", 2), {"loss": 7.0})
    assert scalars(boards / "rl") == [(1, 1.0), (2, 7.0)]
    assert scalars(boards / "sft") == [(1, 1.0), (2, 0.5), (3, 0.333)]
    MetricsWriter.open(path, stages=STAGES, keep_until=at("sft", 3), tensorboard=boards).close()
    assert [directory.name for directory in boards.iterdir()] == ["sft"]
    MetricsWriter.open(path, stages=STAGES, tensorboard=boards).close()
    assert list(boards.iterdir()) == []
