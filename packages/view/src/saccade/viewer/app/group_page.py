"""Parts of a group's page, drawn: the question across steps, and what the stream of texts was held against."""

from collections.abc import Mapping, Sequence

from saccade.types import Json
from saccade.viewer.drawn import draw, number, table
from saccade.viewer.words import percent_text, readable


def group_drawings(run: str, group: Mapping[str, Json], reference: Json) -> dict[str, Json]:
    """By name; None for a part that has nothing to show."""
    return {
        "across": _across(run, _objects(group["across"])),
        "reference": _reference(run, _objects(group["rows"]), reference) if isinstance(reference, Mapping) else None,
    }


def _objects(listed: Json) -> list[Mapping[str, Json]]:
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, Sequence) else []


def _across(run: str, entries: Sequence[Mapping[str, Json]]) -> Json:
    """The same question at other steps and checkpoints."""
    if len(entries) < 2:
        return None
    items = []
    for one in entries:
        right, n, mean = int(str(one["right"])), int(str(one["n"])), one["mean_reward"]
        reward = number(mean if isinstance(mean, int | float) else None)
        sign, kind = ("✓", "right") if 2 * right >= n else ("✗", "wrong")
        link = draw(
            "a",
            draw("span.small.block", f"{readable(str(one['stage']))} {one['step']}"),
            draw("b", f"{sign} {right} of {n}"),
            draw("span.small.block", f"reward {reward}, {percent_text(right / n)}"),
            href=f"#/run/{run}/group/{one['best']}",
        )
        items.append(draw(f"li.{kind}", link))
    return draw("section", draw("h2", "The same question across steps"), draw("ol.across", *items))


def _reference(run: str, rows: Sequence[Mapping[str, Json]], told: Mapping[str, Json]) -> Json:
    """The reference in words, and what the judge said of each text beside it."""
    places = {row["id"]: (str(at), row["answer"]) for at, row in enumerate(rows, 1)}
    verdicts: list[list[Json]] = []
    for one in _objects(told["verdicts"]):
        at, answer = places.get(one["id"], ("–", None))
        verdicts.append([at, "no answer" if answer is None else str(answer), str(one["words"])])
    record = draw("a", "open record", href=f"#/run/{run}/t/{told['id']}") if told["id"] else None
    return draw(
        "div.card",
        draw("p", str(told["words"]), " ", record),
        draw("p.said", str(told["text"]), dir="auto") if told["text"] else None,
        table("verdicts of the judge", ["No.", "Answer", "Compared with the reference"], verdicts),
    )
