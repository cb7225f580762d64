"""Samples of an evaluation's pass: played by the run's policy, kept in its journal, and written as stored samples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from saccade.config.sources import recipe_source
from saccade.evaluation.evaluate import FIRST_PASS
from saccade.evaluation.journal import FOLDER as JOURNALS
from saccade.evaluation.journal import SampleJournal, play_missing, sample_key
from saccade.evaluation.sample_files import FOLDER as SAMPLES
from saccade.evaluation.sample_files import write_samples, write_times
from saccade.evaluation.samples import SampleHeader, SampleSet, SampleTimes, question_hash, stored_sample
from saccade.heartbeat import phase
from saccade.media.resize import ResizeRule
from saccade.own_code import file_of_own
from saccade.rewards.groups import score_attempts
from saccade.rollout.batch import PlayedAs
from saccade.rollout.episodes import RolloutRequest, shown_inputs
from saccade.rollout.players import SampleCost
from saccade.train.plan import EpisodeSpec, Evaluate
from saccade.train.plan_record import value_record, way_of
from saccade.train.state import MeasuringState
from saccade.types import Attempt, Json, Task, Trajectory

_Place = tuple[str, str, int]


@dataclass(kw_only=True)
class KeptPasses:
    """The passes of an evaluation whose samples are kept; a ``Playing`` for both of them."""

    run: MeasuringState
    stage: Evaluate
    on_finished: Callable[[Trajectory], None]
    _model: Mapping[str, Json] = field(init=False)
    _keys: dict[str, dict[_Place, str]] = field(default_factory=dict)
    _costs: dict[str, dict[_Place, SampleCost]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._model = self.run.identity()

    def __call__(self, requests: Sequence[RolloutRequest], how: PlayedAs) -> list[Attempt]:
        """The requests' attempts, scored: kept ones from the journal, the others played and kept at once."""
        if not requests:
            return []
        name, episodes = self._pass(requests[0].stream)
        asked, prompt = self._asked_fields(episodes), episodes.protocol.prompt
        specs, view = [tool.spec for tool in episodes.tools], self.run.player.view
        keys = [
            sample_key(request, prompt=prompt(request.task, specs, view), asked=asked, model=self._model)
            for request in requests
        ]
        paths = self.run.directory.paths
        with SampleJournal(
            paths.root / JOURNALS / f"{name}.jsonl",
            media=self.run.media,
            media_directory=paths.media,
            retry_failed=self.run.keeping.retry_failed,
        ) as journal:
            played = play_missing(
                requests,
                keys,
                player=self.run.player_of(self.stage.name),
                how=how,
                journal=journal,
                reuse=self.run.keeping.reuse,
                on_finished=self.on_finished,
            )
        places = [_place(request.task, request.sample) for request in requests]
        self._keys[name] = dict(zip(places, keys))
        self._costs[name] = {place: one.cost for place, one in zip(places, played)}
        attempts = [Attempt(task=one.task, trajectory=kept.trajectory) for one, kept in zip(requests, played)]
        with phase(lambda: f"rewarding {len(attempts)} trajectories"):
            return score_attempts(attempts, self.stage.reward)

    def write(self, name: str, attempts: Sequence[Attempt]) -> None:
        """The stored samples of the pass of this name."""
        episodes = self.stage.episodes
        if name == self.stage.first_pass_name and self.stage.first_pass is not None:
            episodes = self.stage.first_pass
        specs = [tool.spec for tool in episodes.tools]
        keys, costs = self._keys.get(name, {}), self._costs.get(name, {})
        stored, times = [], []
        for attempt in attempts:
            place = _place(attempt.task, attempt.trajectory.sample)
            cost = costs.get(place, SampleCost())
            stored.append(
                stored_sample(
                    attempt,
                    key=keys.get(place, ""),
                    tools=specs,
                    cluster=self.stage.cluster(attempt.task),
                    tokens_in=cost.tokens_in,
                    tokens_out=cost.tokens_out,
                    refused=cost.refused,
                )
            )
            times.append(
                SampleTimes(
                    id=attempt.task.id, sample=attempt.trajectory.sample, wall_s=cost.wall_s, tool_s=cost.tool_s
                )
            )
        header = SampleHeader(
            name=name,
            model={"name": self.run.plan.title.removeprefix("Evaluation of "), **self._model},
            asked={
                **self._asked_fields(episodes),
                "samples": self.stage.samples,
                "views": _views(self.stage, name),
                "reward": value_record(self.stage.reward),
                **_own_source("reward_sha256", self.stage.reward),
                **self.stage.set_apart,
            },
        )
        path = self.run.directory.paths.root / SAMPLES / f"{name}.jsonl"
        write_times(path, times)
        write_samples(path, SampleSet(header=header, samples=tuple(stored)))

    def _pass(self, stream: str) -> tuple[str, EpisodeSpec]:
        if stream == FIRST_PASS and self.stage.first_pass is not None and self.stage.first_pass_name is not None:
            return self.stage.first_pass_name, self.stage.first_pass
        return self.stage.name, self.stage.episodes

    def _asked_fields(self, episodes: EpisodeSpec) -> dict[str, Json]:
        """All that shapes a sample beside the model and the question."""
        view = self.run.player.view
        pixels: dict[str, Json] = {}
        if isinstance(view, ResizeRule):
            pixels = {"min_pixels": view.min_pixels, "max_pixels": view.max_pixels}
        return {
            **way_of(episodes, view).as_json(),
            "environment": episodes.environment_name,
            **_own_source("environment_sha256", episodes.make_env),
            "temperature": self.stage.temperature,
            **pixels,
            **shown_inputs([episodes.rollout], self.run.media),
        }


def _place(task: Task, sample: int) -> _Place:
    return task.id, question_hash(task), sample


def _own_source(name: str, value: object) -> dict[str, Json]:
    """The hash of the user's own file that holds a reward or an environment, for it decides what a figure is."""
    file = file_of_own(value)
    return {} if file is None else {name: recipe_source(file.name, file).sha256}


def _views(stage: Evaluate, name: str) -> Json:
    views = stage.views
    if views is None or name != stage.name:
        return None
    return {"crops": views.crops, "union": views.union, "cut": value_record(views.cut)}
