"""Check of a verifier: the known hacks played against any reward, and what each is paid beside the honest work."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.protocol import ChatProtocol
from saccade.rewards.groups import score_questions
from saccade.rewards.hacks import HACKS, Hack, Writes
from saccade.rewards.responses import response_of
from saccade.rewards.reward import AnyReward
from saccade.tasks import generate
from saccade.types import Group, Task, Trajectory

SLACK = 1e-6
"""Rounding of means of rewards."""

DRAWN = ("plate_mark", "plate_pair")
"""Families that tasks are drawn from by default, with exact regions of all that they show."""

POINTED = pointed_protocol(style="brief", max_turns=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class HackFinding:
    """What a hack is paid, as means over the tasks; None where the reward gave no verdict on any."""

    hack: Hack
    honest: float | None
    played: float | None
    no_verdict: int = 0
    """Responses that the reward gave no verdict on."""
    broke: str = ""
    """The reward's error, where it raised one: such a response would end a run."""

    @property
    def pays(self) -> bool:
        """Whether it is paid more than the honest response, as much where it is less work, or ends the run."""
        if self.broke:
            return True
        if self.honest is None or self.played is None:
            return False
        gain = self.played - self.honest
        return gain >= -SLACK if self.hack.spares_work else gain > SLACK


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifierReport:
    """What the known hacks are paid by a reward."""

    findings: tuple[HackFinding, ...]
    tasks: int

    @property
    def paying(self) -> tuple[str, ...]:
        """Names of the hacks that pay."""
        return tuple(one.hack.name for one in self.findings if one.pays)

    def describe(self) -> str:
        """A table for people: pay of the honest response, pay of the hack, which pay."""
        wide = max(len(one.hack.name) for one in self.findings)
        lines = [f"{'hack':{wide}}  honest   hack         what it does"]
        for one in self.findings:
            pays = "RAISES" if one.broke else "PAYS" if one.pays else ""
            numbers = f"{_number_text(one.honest)}  {_number_text(one.played)}"
            lines.append(f"{one.hack.name:{wide}}  {numbers}  {pays:6}  {one.hack.about}")
            if one.broke:
                lines.append(f"{'':{wide}}  {one.broke}")
            elif one.pays and one.hack.closed_by:
                lines.append(f"{'':{wide}}  the paper's letter leaves it open; {one.hack.closed_by} closes it")
        silent = sum(one.no_verdict for one in self.findings)
        found = f"{len(self.paying)} of {len(self.findings)} hacks pay on {self.tasks} tasks"
        return "\n".join([*lines, found + (f"; {silent} responses without a verdict" if silent else "")])


def check_verifier(
    reward: AnyReward,
    tasks: Sequence[Task] = (),
    *,
    hacks: Sequence[Hack] = HACKS,
    seed: int = 0,
    protocol: ChatProtocol = POINTED,
) -> VerifierReport:
    """The reward of each known hack, beside that of an honest response to the same tasks.

    ``tasks`` need targets: what an honest response points at. Without any, 16 are drawn, whose regions are known
    exactly. A hack and its honest response are siblings of one group, read by ``protocol``. UserError for tasks without
    targets.
    """
    asked = list(tasks) or drawn_tasks(16, seed=seed)
    if bare := [task.id for task in asked if not task.targets or not task.images]:
        raise UserError(
            f"{len(bare)} of {len(asked)} tasks, {bare[0]} first, have no targets to point at; give each its boxes, or "
            "leave out tasks= to draw some"
        )
    return VerifierReport(findings=tuple(_finding(reward, asked, one, protocol) for one in hacks), tasks=len(asked))


def drawn_tasks(count: int, *, seed: int = 0, media: MediaStore | None = None) -> list[Task]:
    """Drawn tasks with exact regions of all that they show; the families of ``DRAWN`` take turns."""
    store = MediaStore() if media is None else media
    return [
        generate(
            DRAWN[index % len(DRAWN)], split="validation", index=index, seed=seed, media=store, difficulty=0.75
        ).task
        for index in range(count)
    ]


def drawn_videos(count: int, *, seed: int = 0) -> list[Task]:
    """Drawn videos of which every frame's things are known."""
    media = MediaStore()
    drawn = (generate("video_event", split="validation", index=n, seed=seed, media=media).task for n in range(count))
    return [one for one in drawn if one.objects]


def written_response(task: Task, text: str, *, sample: int = 0, protocol: ChatProtocol = POINTED) -> Trajectory:
    """A response of one turn as the protocol reads it, with points in pixels of the originals."""
    return response_of(task, [text], protocol, sample=sample)


def _finding(reward: AnyReward, tasks: Sequence[Task], hack: Hack, protocol: ChatProtocol) -> HackFinding:
    try:
        pays = _pays(reward, tasks, (hack.honest, hack.played), protocol)
    except Exception as error:
        # A reward that cannot be asked at all is the user's mistake, and no hack.
        _pays(reward, tasks, (hack.honest,), protocol)
        return HackFinding(hack=hack, honest=None, played=None, broke=f"{type(error).__name__}: {error}"[:200])
    honest, played = (_mean([pay[place] for pay in pays]) for place in (0, 1))
    missing = sum(one is None for pay in pays for one in pay)
    return HackFinding(hack=hack, honest=honest, played=played, no_verdict=missing)


def _pays(
    reward: AnyReward, tasks: Sequence[Task], writers: Sequence[Writes], protocol: ChatProtocol
) -> list[list[float | None]]:
    """By task, what siblings that write so are paid."""
    questions = [
        [
            Group(
                task=task,
                stream="main",
                trajectories=tuple(
                    written_response(task, write(task), sample=sample, protocol=protocol)
                    for sample, write in enumerate(writers)
                ),
            )
        ]
        for task in tasks
    ]
    scored, _ = score_questions(questions, reward, {})
    return [[None if one.score is None else one.score.total for one in group.trajectories] for (group,) in scored]


def _mean(values: Sequence[float | None]) -> float | None:
    found = [one for one in values if one is not None]
    return math.fsum(found) / len(found) if found else None


def _number_text(value: float | None) -> str:
    return f"{'-':>6}" if value is None else f"{value:6.3f}"
