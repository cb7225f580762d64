"""A rollout worker: it has the plan too, and plays its shares of batches with an engine of its own."""

import time
from contextlib import ExitStack
from pathlib import Path

from saccade.engines.engine import EngineContext, abilities_of
from saccade.engines.weights import give_weights
from saccade.errors import MachineError
from saccade.evaluation.evaluate import FIRST_PASS
from saccade.media.packed import add_packed, packed_pictures
from saccade.media.store import MediaStore
from saccade.rollout.players import SampleCost, TokenPlayer
from saccade.runs.records import images_of
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.train.artefacts import Derive
from saccade.train.fleet import PlayedShard, Shard, taking
from saccade.train.fleet_weights import Invitation, WeightsReceiver
from saccade.train.plan import Evaluate, Plan, RLStage, Stage
from saccade.train.rollouts import play_here, restarts_of
from saccade.train.state import repeatable
from saccade.types import Attempt, Trajectory
from saccade.waiting import run_to_end

_Played = tuple[tuple[Trajectory, ...], tuple[SampleCost, ...], dict[str, tuple[tuple[str, float], ...]]]
"""Trajectories, their costs where those are asked for, and calls of tools by the stream."""


class RolloutWorker:
    """Plays shards one after the other; close it in any case."""

    def __init__(self, plan: Plan, *, media: MediaStore, seed: int, threads: int, run: Path) -> None:
        """``run`` is the run's directory, where what its stages derived can be read."""
        self._plan = plan
        self._media = media
        self._run = RunPaths(root=run)
        self._weights: Path | None = None
        self._receiver = WeightsReceiver()
        self._has_received = False
        with ExitStack() as opening:
            opening.enter_context(repeatable(threads=threads, load=plan.load))
            for resource in plan.resources:
                opening.enter_context(resource)
            self._pictures = opening.enter_context(ExitStack())
            self._pictures.enter_context(media.temporary())
            self._model = plan.new_model()
            self._engine = plan.engine(EngineContext(model=self._model, load=plan.load, seed=seed))
            opening.callback(lambda: run_to_end(self._engine.aclose()))
            if abilities_of(self._engine).take_weights is not None:
                # A server has the weights: here the tokenizer and the sizes of pictures are all that is needed.
                self._model.hf.to("meta")
            self._opened = opening.pop_all()

    def play(self, shard: Shard) -> PlayedShard:
        """The shard's trajectories: a function of it and of its weights, whatever was played here before."""
        started_s, started_cpu_s = time.monotonic(), time.process_time()
        self._take_pictures(shard)
        if shard.weights is None:
            if self._engine.policy_version != shard.version or not self._has_received:
                raise MachineError(f"a share needs weights {shard.version}, which were not sent to this worker")
        elif shard.weights != self._weights:
            give_weights(self._engine, shard.weights, shard.version)
            self._weights = shard.weights
        # What an image was encoded with moves its features by rounding: another worker must give the same bytes.
        self._engine.reset()
        stage = self._stage(shard.stage)
        with self._media.temporary():
            with taking(self._engine, shard.coming):
                trajectories, costs, latencies = (
                    self._play_evaluation(stage, shard) if shard.evaluates else self._play_training(stage, shard)
                )
            if shard.coming is not None and self._engine.policy_version == shard.coming.version:
                self._weights = shard.coming.path
            shown = {image.hash for request in shard.requests for image in request.task.images}
            attempts = [Attempt(task=one.task, trajectory=two) for one, two in zip(shard.requests, trajectories)]
            made = {image.hash for attempt in attempts for image in images_of(attempt)} - shown
            pictures = packed_pictures(self._media, made)
        return PlayedShard(
            trajectories=trajectories,
            costs=costs,
            pictures=pictures,
            busy_s=time.monotonic() - started_s,
            busy_cpu_s=time.process_time() - started_cpu_s,
            latencies=latencies,
            meters=dict(self._plan.meters()),
            restarts=restarts_of(self._engine),
        )

    def receive(self, invitation: Invitation) -> None:
        """Takes weights that are sent by a collective. MachineError when they do not come."""
        self._engine.update_weights(self._receiver.receive(invitation), invitation.version)
        self._has_received = True

    def close(self) -> None:
        """Leaves engine and resources; closing twice is allowed."""
        self._opened.close()

    def _play_training(self, stage: Stage, shard: Shard) -> _Played:
        assert isinstance(stage, RLStage)
        trajectories = play_here(stage, shard.requests, engine=self._engine, model=self._model)
        took = {stream.name: tuple(stream.episodes.latencies.take()) for stream in stage.streams}
        return tuple(trajectories), (), took

    def _play_evaluation(self, stage: Stage, shard: Shard) -> _Played:
        evaluation = stage.evaluation if isinstance(stage, RLStage) else stage
        assert isinstance(evaluation, Evaluate)
        stream = shard.requests[0].stream
        episodes = evaluation.first_pass if stream == FIRST_PASS else evaluation.episodes
        assert episodes is not None
        how = episodes.played_as(self._media, self._model.view, temperature=evaluation.temperature)
        player = TokenPlayer(engine=self._engine, chat=self._model.chat, view=self._model.view)
        played = player.play(shard.requests, how, lambda _, __: None)
        took = {stream: tuple(episodes.latencies.take())}
        return tuple(one.trajectory for one in played), tuple(one.cost for one in played), took

    def _take_pictures(self, shard: Shard) -> None:
        if shard.forgets:
            self._pictures.close()
            self._pictures.enter_context(self._media.temporary())
        add_packed(self._media, shard.pictures)

    def _stage(self, name: str) -> Stage:
        """The stage of that name, after what earlier stages of the run have derived was read."""
        names = [stage.name for stage in self._plan.stages]
        stage = self._plan.stages[names.index(name)]
        for earlier in self._plan.stages[: names.index(name)]:
            if isinstance(earlier, Derive):
                earlier.into.take(read_json_object(self._run.derived / f"{earlier.name}.json"))
        return stage
