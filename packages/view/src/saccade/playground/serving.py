"""A playground as a process: the agent, its run, and the viewer's server with the page of questions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.routing import Route

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.plain_files import plain_bytes
from saccade.playground.keeping import PlaygroundRun, playground_settings
from saccade.playground.routes import PlaygroundOffer, chat_routes
from saccade.playground.talk import Talk
from saccade.runs.directory import RunDirectory
from saccade.serving.agent import Agent
from saccade.serving.pictures import PicturesInUse
from saccade.viewer.app.application import RunsViewer
from saccade.viewer.app.door import open_door
from saccade.viewer.app.server import serve_view

MAX_FILE_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Playground:
    """A policy that is ready to be asked, and where its run is kept."""

    agent: Agent
    media: MediaStore
    """The store that the agent's model reads pictures from."""
    offer: PlaygroundOffer
    how: str
    """How it is asked, in words."""
    checkpoint: Path | None
    out: Path
    pictures: tuple[Path, ...] = ()
    """Offered beside what is uploaded."""
    command: Sequence[str] = ()


def serve_playground(
    playground: Playground, *, host: str, port: int | None, token: str | None, on_ready: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT. UserError for a picture that is none, or a run that is another's."""
    title = f"questions to {playground.offer.model}"
    settings = playground_settings(playground.offer.model, playground.how)
    with RunDirectory.create(
        playground.out,
        resume=True,
        settings=settings,
        command=playground.command,
        title=title,
        judge=lambda changes: tuple(map(str, changes)),
    ) as directory:
        run = PlaygroundRun(directory=directory, media=playground.media)
        run.keep_tokenizer(playground.checkpoint)
        talks: list[Talk] = []

        def add(viewer: RunsViewer) -> list[Route]:
            [shown] = [one for one in viewer.collection.runs.values() if one.is_own]
            talk = Talk(agent=playground.agent, held=PicturesInUse(playground.media), run=run, shown=shown)
            talks.append(talk)
            for path in playground.pictures:
                talk.add_picture(picture_bytes(path), str(path))
            return chat_routes(talk, playground.offer)

        async def end() -> None:
            for talk in talks:
                await talk.close()

        door = open_door(host, port, token)
        playground.agent.start()
        try:
            serve_view(
                (playground.out,),
                door=door,
                on_ready=lambda: on_ready(f"{door.address}#/chat"),
                add=add,
                on_end=end,
                # A model that still answers has time to come to an end.
                end_within_s=60.0,
            )
        finally:
            playground.agent.close()
        directory.finish("finished")


def picture_bytes(path: Path) -> bytes:
    """UserError where there is no file, or too large a one."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UserError(f"{path} has {size} bytes, and {MAX_FILE_BYTES} are allowed; give a smaller picture")
        return plain_bytes(path)
    except OSError as error:
        raise UserError(f"--picture {path} cannot be read: {error.strerror}") from error
