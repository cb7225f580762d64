"""Pages that compare, drawn: two evaluations question by question, and runs beside each other."""

from collections.abc import Mapping, Sequence

from saccade.evaluation.statistics import Accuracy, ClusteredMean
from saccade.types import Json
from saccade.viewer.drawn import count_text, draw, number, numbers_cell, numbers_head, share_line, table
from saccade.viewer.words import readable

FIELDS = {
    "rr": "✓ ✓ right in both",
    "wr": "✗ ✓ wrong, then right",
    "rw": "✓ ✗ right, then wrong",
    "ww": "✗ ✗ wrong in both",
}


def evaluations_page(options: Mapping[str, str], a: str, b: str, result: Sequence[Json]) -> Json:
    """The choice of two evaluations, by their address, and what was found about them."""
    fields = [
        draw("label", f"{label} ", _choice(name, options, chosen))
        for name, label, chosen in (("a", "before", a), ("b", "after", b))
    ]
    form = draw("form.row", *fields, draw("button", "Compare", type="submit"), data_to="/evaluations")
    return draw("div.page", draw("h1", "Two evaluations"), form, *result)


def _choice(name: str, options: Mapping[str, str], chosen: str) -> Json:
    return draw(
        "select",
        *(draw("option", words, value=value, selected=value == chosen) for value, words in options.items()),
        name=name,
    )


def compared_fields(fields: Mapping[str, int], p_exact: float, difference: ClusteredMean | None) -> list[Json]:
    """The four fields, and the test on them in a sentence."""
    told = f", difference {_interval(difference)}" if difference else ""
    return [
        draw(
            "div.four-fields",
            *(
                draw(f"div.field.{name}", draw("b.big", str(fields[name])), draw("span", FIELDS[name]))
                for name in FIELDS
            ),
        ),
        draw(
            "p",
            f"{count_text(sum(fields.values()), 'question')} in both: {fields['wr']} gained, {fields['rw']} lost; ",
            draw("b", f"exact McNemar p {number(p_exact)}"),
            f"{told}.",
        ),
    ]


def compared_families(families: Mapping[str, Mapping[str, int]], p_exact: Mapping[str, float]) -> list[Json]:
    rows = [
        [
            readable(name),
            *(numbers_cell(str(counts[field])) for field in FIELDS),
            numbers_cell(number(p_exact[name])),
        ]
        for name, counts in families.items()
    ]
    heads = ["Family", *(numbers_head(one) for one in (*FIELDS.values(), "p"))]
    return [draw("section.short", draw("h2", "By family"), table("by family", heads, rows))]


def flipped_questions(flips: Sequence[Json], left_out: int) -> list[Json]:
    """Each question that changed sides, with its picture and both trajectories."""
    items = [
        draw(
            "li",
            _picture(flip),
            draw("span.row-question", str(flip["question"])),
            draw("span.small", readable(str(flip["family"]))),
            *(_side(flip[key], words) for key, words in (("a", "before"), ("b", "after"))),
        )
        for flip in flips
        if isinstance(flip, Mapping)
    ]
    more = draw("p.small", f"{left_out:,} more questions flipped; they are not listed.") if left_out else None
    shown = draw("ul.flips", *items, tabindex=0, aria_label="questions that flipped") if items else draw("p", "None.")
    return [draw("section", draw("h2", "Questions that flipped"), draw("p.small", "Lost ones first."), shown, more)]


def _picture(flip: Mapping[str, Json]) -> Json:
    """The question's first picture, small."""
    side, image = flip["a"], flip["image"]
    if not image or not isinstance(side, Mapping):
        return None
    return draw("img", src=f"/media/{side['run']}/{image}.png?w=128", alt="", loading="lazy")


def _side(side: Json, words: str) -> Json:
    assert isinstance(side, Mapping)
    answer = "no answer" if side["answer"] is None else str(side["answer"])
    address = f"#/run/{side['run']}/t/{side['id']}"
    sign, kind = ("✓", "right") if side["right"] else ("✗", "wrong")
    return draw(f"a.{kind}", f"{words} {sign} {answer}", href=address)


def names_apart(names: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Names that tell runs apart."""
    return [f"{name} {one[:4]}" if names.count(name) > 1 else name for name, one in zip(names, ids)]


def accuracy_beside(
    names: Sequence[str],
    rows: Mapping[str, Sequence[Accuracy | None]],
    differences: Mapping[str, Sequence[tuple[int, ClusteredMean, float]]],
) -> Json:
    """Accuracies of each evaluation by run, and how each run differs from the first on the same questions."""
    if not rows:
        return draw("p.small", "These runs have no evaluation.")

    def cell(name: str, at: int, share: Accuracy | None) -> Json:
        found = [(one, p_exact) for place, one, p_exact in differences[name] if place == at]
        words = [f"{_interval(one)}, p {number(p_exact)}, {count_text(one.n, 'question')}" for one, p_exact in found]
        is_apart = at and share is not None and rows[name][0] is not None and not words
        told = "no question in common" if is_apart else "".join(words)
        shown = draw("span.small", "–") if share is None else share_line(share)
        return draw("td", shown, draw("span.small.block", told) if told else None)

    told = [[readable(name), *(cell(name, *one) for one in enumerate(shares))] for name, shares in rows.items()]
    words = f"Below a share: its difference from {names[0]} on the same questions, with the exact McNemar p."
    shown = table("accuracy", ["Evaluation", *names], told)
    return draw("section.short", draw("h2", "Accuracy"), draw("p.small", words), shown)


def settings_beside(names: Sequence[str], settings: Mapping[str, Sequence[str | None]]) -> Json:
    """Settings that differ."""
    if not settings:
        return draw("p", "All settings are the same.")
    rows = [
        [draw("th", draw("code", key), scope="row"), *("–" if value is None else value for value in values)]
        for key, values in settings.items()
    ]
    heads = ["Setting", *names]
    return draw(
        "section.short.settings", draw("h2", "Settings that differ"), table("settings that differ", heads, rows)
    )


def _interval(difference: ClusteredMean) -> str:
    """A difference of two shares in percentage points."""
    low, high = difference.ci95
    return f"{100 * (difference.mean or 0.0):+.1f} points (95 % interval {100 * low:+.1f} to {100 * high:+.1f})"
