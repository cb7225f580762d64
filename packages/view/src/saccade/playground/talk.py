"""Questions of pages at an agent: each becomes samples, played beside each other, followed, and kept as one step."""

import asyncio
import hashlib
import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from saccade.errors import SaccadeError, UserError
from saccade.playground.asking import Ask
from saccade.playground.edits import cut_short, given_turns
from saccade.playground.keeping import STAGE, PlaygroundRun
from saccade.playground.samples import LiveSample, SampleEnd
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest
from saccade.runs.task_json import image_to_json
from saccade.seeding import seed_for
from saccade.serving.agent import Agent, RequestSampling
from saccade.serving.live import GivenTurn, LiveEpisode
from saccade.serving.pictures import EpisodePictures, PicturesInUse
from saccade.serving.questions import taken_apart
from saccade.types import Attempt, ImageRef, Json, Task, Trajectory, Turn
from saccade.viewer.scene.parts import Identity
from saccade.viewer.scene.scene import scene_json, scene_of
from saccade.viewer.store.run import GoneError, Run, file_identity
from saccade.viewer.words import visible

logger = logging.getLogger(__name__)

MAX_OPEN = 16
"""Samples that are played at a time."""
MAX_KEPT = 128
"""Samples that can be edited or looked at again; older ones are in the run alone."""
MAX_PICTURES = 1000
_LISTED_TRIES = 100
_STOP_S = 3.0
"""An agent that has not ended a stopped sample by then is cancelled: it waits for a tool."""


@dataclass(kw_only=True)
class Talk:
    """All that pages have asked. Used from the server's event loop; turns come from other threads."""

    agent: Agent
    held: PicturesInUse
    run: PlaygroundRun
    shown: Run
    """The run as the viewer shows it."""
    pictures: dict[str, ImageRef] = field(default_factory=dict)
    """That were uploaded or named on the command line, by hash."""
    last: Mapping[str, Json] | None = None
    """The last question with the ids of its samples, for a page that is loaded again."""
    _samples: OrderedDict[str, LiveSample] = field(default_factory=OrderedDict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def sample(self, identity: str) -> LiveSample:
        """GoneError for one that is not there, or no longer."""
        if identity not in self._samples:
            raise GoneError(f"there is no sample {identity[:40]!r} here any more; the run's list has its record")
        return self._samples[identity]

    def add_picture(self, raw: bytes, where: str) -> ImageRef:
        """UserError for what is no picture, or too large. Called from any thread."""
        if len(self.pictures) >= MAX_PICTURES:
            raise UserError(f"{MAX_PICTURES} pictures were uploaded; start saccade chat anew for more")
        pictures = EpisodePictures(self.held)
        try:
            image = pictures.add_encoded(raw, where)
            self.run.export(image, pictures)
        finally:
            pictures.close()
        self.pictures[image.hash] = image
        return image

    def ask(self, ask: Ask) -> list[str]:
        """Starts the samples; their ids. UserError where that cannot be."""
        playing = sum(one.trajectory is None for one in self._samples.values())
        if playing + ask.samples > MAX_OPEN:
            raise UserError(f"{playing} samples are being played of the {MAX_OPEN} that may be; stop some first")
        task, spec, given = self._question(ask)
        seed = secrets.randbits(62) if ask.seed is None else ask.seed
        samples = [
            LiveSample(
                id=secrets.token_hex(12),
                request=RolloutRequest(
                    task=task, stream=spec.protocol.name, sample=index, seed=seed_for(seed, STAGE, index)
                ),
                spec=spec,
            )
            for index in range(ask.samples)
        ]
        for sample in samples:
            self._samples[sample.id] = sample
            sample.watch()
        while len(self._samples) > MAX_KEPT:
            self._samples.popitem(last=False)
        ids: list[Json] = [sample.id for sample in samples]
        image = image_to_json(task.images[0]) if task.images else None
        self.last = {"question": ask.question or task.question, "image": image, "ids": ids}
        work = asyncio.ensure_future(self._play_all(samples, ask.temperature, given))
        self._tasks.add(work)
        work.add_done_callback(self._tasks.discard)
        return [sample.id for sample in samples]

    async def close(self) -> None:
        """Ends what is played, and writes it down."""
        for sample in self._samples.values():
            sample.end_now()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _question(self, ask: Ask) -> tuple[Task, EpisodeSpec, tuple[GivenTurn, ...]]:
        if ask.edited is not None:
            earlier = self.sample(ask.edited.sample)
            return earlier.request.task, earlier.spec, given_turns(earlier, ask.edited)
        if ask.image is not None and ask.image not in self.pictures:
            raise UserError(f"the picture {ask.image[:16]} was not uploaded here; choose it again")
        images = () if ask.image is None else (self.pictures[ask.image],)
        question = taken_apart(ask.question, self.agent.special_tokens)
        digest = hashlib.sha256("\n".join([question, *(image.hash for image in images)]).encode()).hexdigest()
        task = Task(
            id=f"{STAGE}-{digest[:16]}",
            family=STAGE,
            question=question,
            answer="",
            answer_kind="text",
            images=images,
            source=STAGE,
        )
        return task, ask.spec, ()

    async def _play_all(self, samples: Sequence[LiveSample], temperature: float, given: tuple[GivenTurn, ...]) -> None:
        """Samples of one question; each is told as it ends, and all are written as one step."""
        kept: Mapping[str, Json] = {"why": "the server failed; its log says how"}
        step = self.run.next_step()
        pictures = EpisodePictures(self.held)
        loop = asyncio.get_running_loop()
        task = samples[0].request.task
        try:
            await asyncio.gather(*(self._play(one, step, temperature, given, pictures) for one in samples))
            attempts = [Attempt(task=task, trajectory=one.trajectory) for one in samples if one.trajectory]
            try:
                path = await loop.run_in_executor(None, self.run.keep, step, attempts, pictures)
                kept = {"run": self.shown.id, "file": file_identity(path, self.run.directory.paths.root)}
                await self._until_listed(f"{kept['file']}.0")
            except SaccadeError as error:
                kept = {"why": visible(str(error), 300)}
        finally:
            pictures.close()
            for index, sample in enumerate(samples):
                sample.keep({**kept, "id": f"{kept['file']}.{index}"} if "file" in kept else kept)

    async def _until_listed(self, identity: str) -> None:
        """The viewer looks for new files by itself; a link to a record should lead to it."""
        for _ in range(_LISTED_TRIES):
            try:
                self.shown.locate(identity)
            except GoneError:
                await asyncio.sleep(0.1)
            else:
                return

    async def _play(
        self, sample: LiveSample, step: int, temperature: float, given: tuple[GivenTurn, ...], pictures: EpisodePictures
    ) -> None:
        loop = asyncio.get_running_loop()

        def turn_ended(turn: Turn) -> None:
            sample.turns.append(turn)
            for image in (*(turn.observation.images if turn.observation else ()),):
                self.run.export(image, pictures)
            scene = self._scene(sample, cut_short(sample, "it is still being played"), step)
            loop.call_soon_threadsafe(sample.show, scene)

        def said(text: str) -> None:
            loop.call_soon_threadsafe(sample.say, text)

        live = LiveEpisode(spec=sample.spec, on_text=said, given=given, stop=sample.stop)

        async def play() -> Trajectory:
            for image in sample.request.task.images:
                path = self.run.directory.paths.media / f"{image.hash}.png"
                await loop.run_in_executor(None, pictures.add_file, path)
            played = await self.agent.play(
                sample.request,
                pictures,
                RequestSampling(temperature=temperature),
                max_reply_tokens=None,
                on_turn=turn_ended,
                live=live,
            )
            return played.trajectory

        playing = asyncio.ensure_future(play())
        stopped = asyncio.ensure_future(sample.stopped.wait())
        try:
            await asyncio.wait({playing, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not (await asyncio.wait({playing}, timeout=_STOP_S))[0]:
                trajectory = cut_short(sample, "it was stopped by hand while a tool ran")
            else:
                trajectory = playing.result()
        except SaccadeError as error:
            trajectory = cut_short(sample, str(error))
        except Exception as error:  # A page would wait for ever.
            logger.exception("a sample could not be played")
            trajectory = cut_short(sample, f"the server made a mistake ({type(error).__name__}); its log has more")
        finally:
            playing.cancel()
            stopped.cancel()
        if sample.stop.is_set() and trajectory.status in ("token_limit", "turn_limit"):
            trajectory = replace(trajectory, failure="stopped by hand")
        sample.trajectory = trajectory
        event = "failed" if trajectory.status == "failed" else "done"
        told = {"scene": self._scene(sample, trajectory, step), "why": visible(trajectory.failure, 500)}
        sample.finish(SampleEnd(event=event, told=told))

    def _scene(self, sample: LiveSample, trajectory: Trajectory, step: int) -> Json:
        """As the page of a trajectory has it; nobody here says right from wrong."""
        of = Identity(id="", run=self.shown.id, stage=STAGE, step=step)
        attempt = Attempt(task=sample.request.task, trajectory=trajectory)
        scene = scene_of(attempt, of, policy=self.shown.policy)
        if trajectory.status != "failed":
            scene = replace(scene, verdict="unknown")
        if sample.trajectory is None:
            scene = replace(scene, verdict="unknown", findings=(), status="under way")
        return scene_json(scene)
