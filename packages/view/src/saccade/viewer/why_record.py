"""Why pages were found, as an encoder sees it, kept in a run for its report: ``why.json``.

``{"version": 1, "encoder": …, "questions": [{"question": …, "pages": [{"image": hash, "grid": [rows, columns],
"tokens": [[text, similarity, row, column], …]}]}]}``; row and column are null where a part belongs to no place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.atomic import write_json_atomic
from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.retrieval.why import MatchedToken, PageMatch, named_query, page_match
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.strict_json import finite_object
from saccade.tools.tool import SEARCH_PAGES
from saccade.types import Attempt, ImageRef, Json, ToolCall
from saccade.vision_models.kinds import PageEncoder, PageVectors

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class WhyRecord:
    """Parts of MaxSim by question and by the hash of a page's picture."""

    encoder: str
    matches: Mapping[tuple[str, str], PageMatch]


def searches_of(attempt: Attempt) -> list[tuple[str, tuple[ImageRef, ...]]]:
    """Each search whose pages a trajectory saw: its words and the pages. First the question's own, then the calls'."""
    task = attempt.task
    found = [(task.question, task.images)] if task.shown_pages else []
    for turn in attempt.trajectory.turns:
        call = turn.action
        if isinstance(call, ToolCall) and call.name == SEARCH_PAGES and turn.observation is not None:
            query = call.arguments.get("query")
            found += [(query, turn.observation.images)] if isinstance(query, str) else []
    return [(query, images) for query, images in found if images]


def why_found(attempts: Iterable[Attempt], encoder: PageEncoder, media: MediaStore) -> WhyRecord:
    """The parts of all searches in these trajectories, worked out anew from the pages' pictures.

    UserError where no trajectory has pages that were looked for.
    """
    pages: dict[str, PageVectors] = {}
    matches: dict[tuple[str, str], PageMatch] = {}
    for attempt in attempts:
        for query, images in searches_of(attempt):
            new = [image for image in images if image.hash not in pages]
            pages |= zip([image.hash for image in new], encoder.encode_pages([media.get(image) for image in new]))
            missing = [image for image in images if (query, image.hash) not in matches]
            if missing:
                vectors, tokens = named_query(encoder, query)
                matches |= {(query, one.hash): page_match(vectors, tokens, pages[one.hash]) for one in missing}
    if not matches:
        raise UserError("no question of the run has pages that were looked for, so there is nothing to explain")
    return WhyRecord(encoder=encoder.identity, matches=matches)


def read_why(paths: RunPaths) -> WhyRecord | None:
    """None where no encoder was asked. UserError for a file that cannot be read."""
    if not paths.why.exists():
        return None
    try:
        fields = Fields(read_json_object(paths.why))
        if (version := fields.whole("version")) != VERSION:
            raise UserError(f"{paths.why} is of version {version}, and this Saccade reads version {VERSION}")
        matches = {
            (question.text("question"), page.text("image")): _match(page)
            for question in fields.objects("questions")
            for page in question.objects("pages")
        }
        return WhyRecord(encoder=fields.text("encoder"), matches=matches)
    except BrokenRecordError as error:
        raise UserError(f"{paths.why} cannot be read: {error}") from error


def write_why(paths: RunPaths, record: WhyRecord) -> None:
    """Keeps these parts and no others."""
    questions: dict[str, list[Json]] = {}
    for (question, image), match in record.matches.items():
        tokens: list[Json] = [
            [one.text, one.similarity, *(one.patch if one.patch is not None else (None, None))] for one in match.tokens
        ]
        page: dict[str, Json] = {"image": image, "grid": None if match.grid is None else list(match.grid)}
        questions.setdefault(question, []).append({**page, "tokens": tokens})
    listed: list[Json] = [{"question": question, "pages": pages} for question, pages in questions.items()]
    kept: dict[str, Json] = {"version": VERSION, "encoder": record.encoder, "questions": listed}
    write_json_atomic(paths.why, finite_object(kept))


def _match(page: Fields) -> PageMatch:
    grid = page.wholes("grid") if page.has("grid") else None
    if grid is not None and (len(grid) != 2 or min(grid) < 1):
        raise page.wrong("grid", "rows and columns")
    return PageMatch(
        tokens=tuple(_token(one, page, grid) for one in page.items("tokens")),
        grid=None if grid is None else (grid[0], grid[1]),
    )


def _token(value: Json, page: Fields, grid: Sequence[int] | None) -> MatchedToken:
    match value:
        case [str(text), int() | float() as similarity, int(row), int(column)] if grid is not None:
            if 0 <= row < grid[0] and 0 <= column < grid[1]:
                return MatchedToken(text=text, similarity=similarity, patch=(row, column))
        case [str(text), int() | float() as similarity, None, None]:
            return MatchedToken(text=text, similarity=similarity, patch=None)
    raise page.wrong("tokens", "[text, similarity, row, column] on the page")
