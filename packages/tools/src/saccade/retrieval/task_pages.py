"""Pages as the images of questions: those that a retriever brings, or the gold pages among others.

A question whose gold pages were not brought is asked all the same: ``Task.missing_pages`` names them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.retrieval.corpus import PageIndex, unknown_document
from saccade.retrieval.retriever import PageRetriever
from saccade.seeding import generator_for
from saccade.types import ImageRef, Page, SceneObject, Target, Task
from saccade.vision_models.kinds import PageEncoder

Scope = Literal["document", "corpus"]
"""Where pages are looked for: in the document that a task names, in the whole corpus where it names none; or in the
whole corpus always."""

_SHOWN = 5


def retrieved_pages(
    tasks: Sequence[Task],
    index: PageIndex,
    encoder: PageEncoder,
    k: int = 3,
    *,
    media: MediaStore,
    scope: Scope = "document",
) -> list[Task]:
    """The tasks in their order, each with the ``k`` best pages for its question as its images, best first.

    Fewer where the scope has fewer; of pages with one picture the best alone. ``Task.shown_pages`` names them; targets
    go along with their pages, and those of pages that were not brought are left out. UserError for an encoder or a
    document that is not the index's.
    """
    _check_documents(tasks, index, scope)
    retriever = PageRetriever(index, encoder)
    pictures = PagePictures(index, media)
    found: list[Task] = []
    for task in tasks:
        hits = retriever.search(task.question, k, _document(task, scope))
        found.append(pictures.with_pages(task, [hit.page for hit in hits]))
    return found


def oracle_pages(
    tasks: Sequence[Task],
    index: PageIndex,
    *,
    media: MediaStore,
    distractors: int = 0,
    seed: int = 0,
    scope: Scope = "document",
) -> list[Task]:
    """The tasks in their order, each with its gold pages and so many others of its scope as images.

    The others, and the order of all, are drawn by ``seed`` and the task's id; there are fewer where the scope has
    fewer. UserError for tasks whose gold pages are not known, or not in the index, and for those without any page.
    """
    if distractors < 0:
        raise UserError(f"distractors={distractors} is negative; use 0 or more")
    _check_documents(tasks, index, scope)
    _check_gold(tasks, index)
    pictures = PagePictures(index, media)
    among = {document: index.pages(document) for document in {_document(task, scope) for task in tasks}}
    return [
        pictures.with_pages(task, _gold_and_others(task, among[_document(task, scope)], distractors, seed))
        for task in tasks
    ]


class PagePictures:
    """Pages of an index as images of a store, each read once."""

    def __init__(self, index: PageIndex, media: MediaStore) -> None:
        self._index, self._media = index, media
        self._known: dict[Page, ImageRef] = {}

    def of(self, page: Page) -> ImageRef:
        """The page's picture in the store; UserError for a page that is not there."""
        if page not in self._known:
            self._known[page] = self._media.add_file(self._index.picture_file(page))
        return self._known[page]

    def with_pages(self, task: Task, pages: Sequence[Page]) -> Task:
        """The task with these pages as its images, and of its targets and objects those that lie on them.

        Where they lie is known by ``Task.shown_pages``: without it they are left out.
        """
        places = {page: place for place, page in enumerate(pages)}
        moved = {old: places[page] for old, page in enumerate(task.shown_pages) if page in places}
        return replace(
            task,
            images=tuple(self.of(page) for page in pages),
            shown_pages=tuple(pages),
            targets=_on_new_places(task.targets, moved),
            objects=_on_new_places(task.objects, moved),
        )


Placed = TypeVar("Placed", Target, SceneObject)


def _on_new_places(things: Sequence[Placed], moved: Mapping[int, int]) -> tuple[Placed, ...]:
    """The things on images that have a new place, by it."""
    return tuple(replace(one, image_index=moved[one.image_index]) for one in things if one.image_index in moved)


def _document(task: Task, scope: Scope) -> str | None:
    return task.document if scope == "document" else None


def _gold_and_others(task: Task, pages: Sequence[Page], distractors: int, seed: int) -> list[Page]:
    """The gold pages and so many others, in random order."""
    rng = generator_for(seed, "oracle pages", task.id)
    gold = list(task.gold_pages or ())
    # So many that enough are left without the gold ones, and no look at a whole corpus for each question.
    drawn = (
        [pages[int(place)] for place in rng.permutation(len(pages))[: distractors + len(gold)]] if distractors else []
    )
    together = [*gold, *[page for page in drawn if page not in gold][:distractors]]
    if not together:
        raise UserError(f"task {task.id} has no gold page, so there is none to show; set distractors above 0")
    return [together[int(place)] for place in rng.permutation(len(together))]


def _check_documents(tasks: Sequence[Task], index: PageIndex, scope: Scope) -> None:
    known = set(index.documents)
    asked = [(task, document) for task in tasks if (document := _document(task, scope)) is not None]
    missing = [(task, document) for task, document in asked if document not in known]
    if missing:
        task, document = missing[0]
        raise UserError(
            f"{len(missing)} tasks ask about documents that are not in the index; index these, or leave those tasks "
            f"out. Task {task.id}: {unknown_document(document, index.documents)}"
        )


def _check_gold(tasks: Sequence[Task], index: PageIndex) -> None:
    known = set(index.pages())
    unknown = [f"{task.id} (not known)" for task in tasks if task.gold_pages is None]
    unknown += [f"{task.id} ({page})" for task in tasks for page in task.gold_pages or () if page not in known]
    if unknown:
        shown = ", ".join(unknown[:_SHOWN]) + (", ..." if len(unknown) > _SHOWN else "")
        raise UserError(f"gold pages of {len(unknown)} tasks are not in the index: {shown}; leave those tasks out")
