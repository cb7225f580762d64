"""MMSearch: a question that needs a web search, whole and in steps, from the release's parquet files."""

import io
from dataclasses import replace

from saccade.evaluation.benchmarks.aggregates import accuracy
from saccade.evaluation.benchmarks.benchmark import Benchmark, FileLayout, Reading
from saccade.evaluation.benchmarks.clusters import same_pictures
from saccade.evaluation.benchmarks.prompts import question_prompt
from saccade.evaluation.benchmarks.rules.search_steps import ANSWER_F1, CHOSEN_WEBSITE, QUERY_LIKENESS
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.interleaving import mark
from saccade.media.decode import MediaError, decode_image
from saccade.tasks.rows.fields import Row, RowError, RowValue, as_number, listed, mapping, required_text

WEBSITES = 8
SLICE_HEIGHT, MAX_SLICES = 512, 10
_ASK_BRIEFLY = (
    "Answer in as few words as you can; with a date as yyyy-mm-dd, and with invalid question where the question rests "
    "on something false."
)


def _columns(row: Row, before: str, request: str, pictures: list[RowValue], answer: RowValue) -> dict[str, RowValue]:
    """The question with the picture it is about, if any, and what a search for that picture showed, as the last two."""
    own = [row[name] for name in ("query_image", "image_search_result") if row.get(name) is not None]
    places = [mark(len(pictures) + place) for place in range(1, len(own) + 1)]
    query = required_text(row, "query")
    found = f"\nA search for this picture showed: {places[1]}" if len(places) > 1 else ""
    return {
        "index": row["sample_id"],
        "question": f"{before}Question: {''.join(places[:1])}{query}{found}\n\n{request}",
        "answer": answer,
        "images": [*pictures, *own],
        "category": row.get("area"),
        "l2-category": row.get("subfield"),
        "recording": row["sample_id"],
    }


def _answers(row: Row) -> str:
    return str([row["gt_answer"], *listed(row.get("alternative_gt_answers") or [], "alternative_gt_answers")])


def _whole_row(row: Row) -> Row:
    return _columns(row, "", _ASK_BRIEFLY, [], _answers(row))


def _query_row(row: Row) -> Row:
    request = (
        "This cannot be answered without a search engine, which reads text alone. Write the one query that you would "
        "send it, and nothing else."
    )
    return _columns(row, "", request, [], row["gt_requery"])


def _choice_row(row: Row) -> Row:
    told: list[str] = []
    pictures: list[RowValue] = []
    for place in range(WEBSITES):
        about = mapping(row.get(f"website{place}_info") or {}, f"website{place}_info")
        shot = row.get(f"website{place}_head_screenshot")
        if about:
            pictures += [] if shot is None else [shot]
            shown = "" if shot is None else f"\nIts top: {mark(len(pictures))}"
            told.append(f"Website {place + 1}: {about.get('title')}\n{about.get('snippet')}{shown}")
    before = "A search engine found these websites.\n\n" + "\n\n".join(told) + "\n\n"
    request = "Which one website would help most to answer? Say it as <Website 1>, with its number, and nothing else."
    helpful, unsure = (_numbers(row, name) for name in ("valid", "not_sure"))
    names = [f"<Website {one}>" for one in helpful or unsure]
    columns = _columns(row, before, request, pictures, str(names or ["no website"]))
    return {**columns, "helpful": str(helpful), "unsure": str(unsure)}


def _numbers(row: Row, name: str) -> list[int]:
    """Places from 0 as numbers from 1, as the websites are called."""
    return [int(as_number(one) or 0) + 1 for one in listed(row[name], name)]


def _page_row(row: Row) -> Row:
    pictures = _slices(row.get("website_fullpage_screenshot"))
    shown = "".join(mark(place + 1) for place in range(len(pictures)))
    told = "\n".join(str(row[f"website_{name}"]) for name in ("title", "snippet", "retrieved_content"))
    before = f"A website that may hold the answer: {told}\nWhat it looks like: {shown}\n\n"
    return _columns(row, before, _ASK_BRIEFLY, pictures, _answers(row))


def _slices(screenshot: RowValue) -> list[RowValue]:
    """The picture of a whole page cut into at most ten pieces from its top, 512 pixels high each."""
    raw = screenshot.get("bytes") if isinstance(screenshot, dict) else screenshot
    if not isinstance(raw, bytes):
        raise RowError("website_fullpage_screenshot", "holds no picture")
    try:
        page = decode_image(raw, "the page")
    except MediaError as error:
        raise RowError("website_fullpage_screenshot", str(error)) from error
    pieces: list[RowValue] = []
    for top in range(0, min(page.height, SLICE_HEIGHT * MAX_SLICES), SLICE_HEIGHT):
        file = io.BytesIO()
        page.crop((0, top, page.width, min(top + SLICE_HEIGHT, page.height))).save(file, "PNG")
        pieces.append(file.getvalue())
    return pieces


MMSEARCH = Benchmark(
    name="mmsearch",
    title="MMSearch end to end",
    layout=FileLayout(
        hub="CaraJ/MMSearch",
        columns=("question", "answer"),
        from_hub=_whole_row,
        split="end2end",
        is_named_by_split=True,
        origin="huggingface.co/datasets/CaraJ/MMSearch (its code is MIT, its card names no licence of the data)",
    ),
    size=300,
    prompt=question_prompt,
    cluster=same_pictures,
    readings=(ANSWER_F1, STRICT),
    aggregate=accuracy("category", "l2-category", name="F1"),
    headline="official",
    interleaves="numbered",
    takes_any=True,
    published_as=("MMSearch end to end",),
    trap="its search asks the web of today; here the tools search_web and read_web_page show what was recorded",
)


def _step(name: str, title: str, read: Reading, layout: FileLayout, figure: str, *, trap: str) -> Benchmark:
    return replace(
        MMSEARCH,
        name=f"mmsearch-{name}",
        title=f"MMSearch {title}",
        layout=layout,
        readings=(read, STRICT),
        aggregate=accuracy("category", "l2-category", name=figure),
        takes_any=name != "requery",
        published_as=(f"MMSearch {title}",),
        trap=trap,
    )


MMSEARCH_STEPS = (
    _step(
        "requery",
        "requery",
        QUERY_LIKENESS,
        replace(MMSEARCH.layout, from_hub=_query_row),
        "BLEU-1 and ROUGE-L",
        trap="words are compared with one published query: a good query in other words is worth little",
    ),
    _step(
        "rerank",
        "rerank",
        CHOSEN_WEBSITE,
        replace(MMSEARCH.layout, from_hub=_choice_row, split="rerank"),
        "accuracy",
        trap="a website that may hold the answer is worth a half; two websites are worth nothing",
    ),
    _step(
        "summarization",
        "summarization",
        ANSWER_F1,
        replace(MMSEARCH.layout, from_hub=_page_row, split="summarization"),
        "F1",
        trap="a page is up to ten pictures; the answer's F1 falls with every word around it",
    ),
)
