"""What ``report.html`` carries beside its sections: trajectories as the viewer shows them, to filter and to open."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from saccade.types import Attempt, ImageRef, Json, ToolCall
from saccade.viewer.evidence import Evidence
from saccade.viewer.example_sections import shown_attempts
from saccade.viewer.exported import Carried
from saccade.viewer.outcomes import verdict
from saccade.viewer.pictures import Album
from saccade.viewer.scene.parts import Identity, TrajectoryScene
from saccade.viewer.scene.scene import scene_json, scene_of

RUN = "report"
LIST = f"/run/{RUN}/list"
MAX_CARRIED = 200
_MAX_IMAGES = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """Trajectories that a report carries, each with its place."""

    entries: tuple[tuple[Identity, Attempt], ...]
    total: int

    @property
    def addresses(self) -> Mapping[int, str]:
        """Where the file shows a trajectory, by the ``id`` of the attempt."""
        return {id(attempt): f"#/run/{RUN}/t/{identity.id}" for identity, attempt in self.entries}


def chosen_for(evidence: Evidence) -> Chosen:
    """Those that the sections show, then others of each stage and verdict in turn, at most ``MAX_CARRIED``."""
    everything = list(_everything(evidence))
    shown = {id(attempt) for attempt in shown_attempts(evidence)}
    seen: Counter[tuple[str, str]] = Counter()
    ranks = []
    for number, (stage, _, attempt) in enumerate(everything):
        kind = (stage, verdict(attempt))
        seen[kind] += 1
        ranks.append((id(attempt) not in shown, seen[kind], number))
    kept = {id(everything[number][2]) for _, _, number in sorted(ranks)[:MAX_CARRIED]}
    entries = [
        (Identity(id=f"t{number}", run=RUN, stage=stage, step=step), attempt)
        for number, (stage, step, attempt) in enumerate(everything)
        if id(attempt) in kept
    ]
    return Chosen(entries=tuple(entries), total=len(everything))


def carry(chosen: Chosen, album: Album) -> Carried:
    """Scenes, rows and pictures of what was chosen; pictures that the album has are not carried twice."""
    scenes = [(scene_of(attempt, identity), attempt) for identity, attempt in chosen.entries]
    wanted = {
        one.hash: ImageRef(hash=one.hash, width=one.width, height=one.height)
        for scene, _ in scenes
        for one in scene.pictures
    }
    images = {name: album.data_address(image) for name, image in list(wanted.items())[:_MAX_IMAGES]}
    note = ""
    if len(scenes) < chosen.total:
        note = (
            f"This file carries {len(scenes):,} of the {chosen.total:,} trajectories of evaluations and of the last "
            "training step; `saccade view RUN_DIR` shows all that the run kept."
        )
    return Carried(
        answers={f"/api/runs/{RUN}/trajectories/{scene.id}": scene_json(scene) for scene, _ in scenes},
        rows={RUN: [row_json(scene, attempt) for scene, attempt in scenes]},
        images={name: address for name, address in images.items() if address},
        home=LIST,
        note=note,
    )


def row_json(scene: TrajectoryScene, attempt: Attempt) -> Json:
    """The trajectory as a line of a list."""
    trajectory, task = attempt.trajectory, attempt.task
    reward = None if scene.reward is None else scene.reward.total
    return {
        "id": scene.id,
        "stage": scene.stage,
        "kind": "records",
        "step": scene.step,
        "task": task.id,
        "family": task.family,
        "stream": scene.stream,
        "sample": scene.sample,
        "status": scene.status,
        "right": None if scene.verdict == "failed" else scene.verdict == "right",
        "reward": reward,
        "advantage": scene.turns[0].advantage if scene.turns else None,
        "entropy": None,
        "turns": len(trajectory.turns),
        "tokens": sum(len(segment.ids) for segment in trajectory.segments),
        "tools": [turn.action.name for turn in trajectory.turns if isinstance(turn.action, ToolCall)],
        "errors": [
            str(turn.result.data.get("error_kind") or "error")
            for turn in trajectory.turns
            if turn.result is not None and not turn.result.is_ok
        ],
        "terms": {term.name: term.contribution for term in (scene.reward.terms if scene.reward else ())},
        "question": task.question[:400],
        "answer": scene.answer,
        "expected": scene.task.answer[:200],
        "image": task.images[0].hash if task.images else None,
        "marked": 0,
    }


def _everything(evidence: Evidence) -> Iterator[tuple[str, int, Attempt]]:
    for evaluation in evidence.evaluations:
        for attempt in evaluation.attempts:
            yield evaluation.name, attempt.trajectory.policy_version, attempt
    for rollouts in evidence.rollouts:
        for attempt in rollouts.attempts:
            yield rollouts.stage, rollouts.step, attempt
