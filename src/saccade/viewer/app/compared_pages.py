"""Pages that compare, drawn: two evaluations question by question, and runs beside each other."""

from collections.abc import Mapping, Sequence

from saccade.evaluation.statistics import Accuracy, Difference
from saccade.types import Json
from saccade.viewer.drawn import counted, draw, number, numbers_cell, share_line, table
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


def compared_fields(fields: Mapping[str, int], p_exact: float, difference: Difference | None) -> list[Json]:
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
            f"{counted(sum(fields.values()), 'question')} in both: {fields['wr']} gained, {fields['rw']} lost; ",
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
    return [draw("h2", "By family"), table("by family", ["Family", *FIELDS.values(), "p"], rows)]


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
    shown = draw("ul.flips", *items) if items else draw("p.small", "None.")
    return [draw("h2", "Questions that flipped"), shown, *([more] if more else [])]


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
    differences: Mapping[str, Sequence[tuple[int, Difference, float]]],
) -> Json:
    """Accuracies of each evaluation by run, and how each run differs from the first on the same questions."""
    if not rows:
        return draw("p.small", "These runs have no evaluation in common.")
    told = [
        [
            readable(name),
            *(draw("td", draw("span.small", "–") if cell is None else share_line(cell)) for cell in cells),
            draw(
                "td",
                *(
                    draw(
                        "span.block",
                        f"{names[at]} − {names[0]}: {_interval(one)[:-1]}, {counted(one.n, 'question')}, "
                        f"p {number(p_exact)})",
                    )
                    for at, one, p_exact in differences[name]
                ),
            ),
        ]
        for name, cells in rows.items()
    ]
    heads = ["Evaluation", *names, "Difference on the same questions"]
    return draw("section", draw("h2", "Accuracy"), table("accuracy", heads, told))


def settings_beside(names: Sequence[str], settings: Mapping[str, Sequence[Json]]) -> Json:
    """Settings that differ."""
    if not settings:
        return draw("p.small", "All settings are the same.")
    rows = [
        [draw("th", draw("code", key), scope="row"), *("–" if value is None else str(value) for value in values)]
        for key, values in settings.items()
    ]
    heads = ["Setting", *names]
    return draw("section", draw("h2", "Settings that differ"), table("settings that differ", heads, rows))


def _interval(difference: Difference) -> str:
    """A difference of two shares in percentage points."""
    low, high = difference.ci95
    return f"{100 * difference.mean:+.1f} points (95 % interval {100 * low:+.1f} to {100 * high:+.1f})"
