"""P(answer given reasoning) by a checkpoint as Argos' teacher, by what it is shown of the reasoning: what saying the
answer forty times is worth. The checkpoint is one of ``argos:tiny``, whose words these are.

python benchmarks/argos_conclusion.py runs/argos/checkpoints/sft-001600
"""

import argparse
import statistics
from pathlib import Path

from saccade.chat.answer_scoring import CheckpointTeacher
from saccade.media import MediaStore
from saccade.miniature.argos import GRID_PX
from saccade.models import LoadSettings
from saccade.protocols import pointed_protocol
from saccade.rewards.argos import AnswerRequest, answer_probability
from saccade.rewards.argos.conclusion import spellings_of, with_one_conclusion, without_conclusion
from saccade.tasks import generate
from saccade.tasks.pointing import point_at
from saccade.types import Task

COLUMNS = ("shown", "once", "hidden", "gain of shown", "gain of once")


def reasonings(task: Task) -> dict[str, str]:
    """Reasonings by name: honest, and the mark forty times more or alone."""
    [sought] = [one for one in task.objects if one.box == task.targets[0].box]
    honest = f"{sought.name} {sought.attributes['place']} {point_at(sought, sought.name, GRID_PX)} {task.answer}"
    forty = f" {task.answer}" * 40
    return {"nothing": "", "honest": honest, "honest and forty": honest + forty, "forty alone": forty.strip() + " "}


def probabilities(teacher: CheckpointTeacher, task: Task) -> dict[str, tuple[float, ...]]:
    """By the reasoning's name the numbers of ``COLUMNS``."""
    written = reasonings(task)
    shown = [
        text
        for one in written.values()
        for text in (
            one,
            with_one_conclusion(one, task.answer),
            without_conclusion(one, *spellings_of(task, task.answer)),
        )
    ]
    asked = [AnswerRequest(task=task, reasoning=text, answer=task.answer) for text in shown]
    found = [answer_probability(one) or 0.0 for one in teacher.logprobs(asked) if not isinstance(one, Exception)]
    bare = found[0]
    return {
        name: (*found[3 * place : 3 * place + 3], *(max(0.0, one - bare) for one in found[3 * place : 3 * place + 2]))
        for place, name in enumerate(written)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("-n", type=int, default=100, help="held-out questions")
    arguments = parser.parse_args()
    media, protocol = MediaStore(), pointed_protocol(style="brief")
    load = LoadSettings(device="cpu")
    with CheckpointTeacher(path=arguments.checkpoint, media=media, protocol=protocol, load=load) as teacher:
        found = [
            probabilities(
                teacher,
                generate("plate_mark", split="held_out", index=index, seed=0, media=media, difficulty=0.5).task,
            )
            for index in range(arguments.n)
        ]
    print(f"{'reasoning':18}", *(f"{name:>14}" for name in COLUMNS))
    for name in found[0]:
        means = [statistics.mean(column) for column in zip(*(one[name] for one in found))]
        print(f"{name:18}", *(f"{value:14.3f}" for value in means))


if __name__ == "__main__":
    main()
