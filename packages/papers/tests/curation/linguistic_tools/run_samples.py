"""Runs on disk with trajectories of several stages, whose right ones reason in words."""

from pathlib import Path

from saccade.media.store import MediaStore
from saccade.protocols import described_protocol, tagged_protocol
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.types import Answer, Attempt, Task, Trajectory, Turn


def task(number: int) -> Task:
    return Task(id=f"q{number}", family="f", question=f"Question {number}?", answer="7", answer_kind="exact", images=())


def attempt(
    number: int, description: str = "", *, answer: str = "7", thought: str = "Image 1.", sample: int = 0
) -> Attempt:
    """One turn; with a description of the protocol that has one."""
    if description:
        text = f"<think>{thought}</think><description>{description}</description><answer>{answer}</answer>"
        parsed = described_protocol().parse(text)
    else:
        text = f"<think>{thought}</think><answer>{answer}</answer>"
        parsed = tagged_protocol().parse(text)
    turn = Turn(index=0, text=text, thought=parsed.thought, action=parsed.action, is_well_formed=True)
    return Attempt(task=task(number), trajectory=played(number, turn, sample=sample))


def played(number: int, *turns: Turn, sample: int = 0) -> Trajectory:
    is_answered = bool(turns) and isinstance(turns[-1].action, Answer)
    return Trajectory(
        task_id=f"q{number}",
        family="f",
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=turns,
        status="answered" if is_answered else "turn_limit",
    )


def run_with(root: Path, steps: dict[tuple[str, int], list[Attempt]], evaluations: dict[str, list[Attempt]]) -> Path:
    media = MediaStore()
    stages = tuple(dict.fromkeys(stage for stage, _ in steps))
    with RunDirectory.create(root, resume=False, settings={}) as run:
        with MetricsWriter.open(run.paths.metrics, stages=(*stages, *evaluations)) as metrics:
            for (stage, step), attempts in steps.items():
                position = Position(stage=stage, step=step)
                metrics.write(position, {"reward/mean": 0.5})
                path = run.paths.trajectories(position)
                write_records(path, position, attempts, media=media, media_directory=run.paths.media)
            for name, attempts in evaluations.items():
                position = Position(stage=name, step=1)
                metrics.write(position, {"reward/mean": 0.5})
                write_records(
                    run.paths.evaluation(name), position, attempts, media=media, media_directory=run.paths.media
                )
        run.finish("finished")
    return root
