"""What stands below a trajectory's picture and words, drawn: its reward taken apart, and where its time went."""

from collections.abc import Sequence
from itertools import chain

from saccade.types import Json
from saccade.viewer.drawn import TRACK, bar, draw, number, numbers_cell, numbers_head, picture_of_bars, table
from saccade.viewer.scene.parts import Region, Reward, RewardTerm, SceneTurn, SeenPicture, TrajectoryScene

VERDICT_WORDS = {"right": "✓ right", "wrong": "✗ wrong", "failed": "! failed", "unknown": "? no verdict"}
_COLORS = 4
_FOLDED_FROM = 8
"""A table of more places is folded."""
_PHASES = {"prefill": "queue and prefill", "decode": "decoding", "tools": "environment"}


def reward_card(reward: Reward | None) -> Json:
    """A bar from nothing to the total, each part with value, weight and share."""
    if reward is None:
        return draw("section.reward.card", draw("h2", "Reward"), draw("p.small", "This trajectory has no score."))
    rows = [
        [
            draw("th", _key(f"term-{at % _COLORS}"), term.name, _small(term.note), scope="row"),
            *(numbers_cell(number(value)) for value in (term.value, term.weight, term.contribution)),
        ]
        for at, term in enumerate(reward.terms)
    ]
    heads = ["Term", *(numbers_head(word) for word in ("Value", "Weight", "Contribution"))]
    notes = list(chain.from_iterable((draw("dt", name), draw("dd", value)) for name, value in reward.notes))
    return draw(
        "section.reward.card",
        draw("h2", f"Reward {number(reward.total)}"),
        _reward_bar(reward),
        table("reward terms", heads, rows),
        draw("dl.notes", *notes) if notes else None,
    )


def _reward_bar(reward: Reward) -> Json:
    parts = [(at, term.contribution) for at, term in enumerate(reward.terms) if term.contribution is not None]
    low = sum(min(value, 0.0) for _, value in parts)
    high = max(sum(max(value, 0.0) for _, value in parts), _most(reward.terms))
    per_unit = 100 / ((high - low) or 1)
    right = left = 0.0
    bars = []
    for at, value in parts:
        start = right if value >= 0 else left + value
        right, left = (right + value, left) if value >= 0 else (right, left + value)
        width = max(abs(value) * per_unit, 0.4 if value else 0)
        sign = ".minus" if value < 0 else ""
        bars.append(bar(f"term-{at % _COLORS}{sign}", (start - low) * per_unit, width, y=2))
    total = bar("total", min(((reward.total or 0) - low) * per_unit, 99.4) - 0.3, 0.9, height=14)
    sums = " + ".join(f"{reward.terms[at].name} {number(value)}" for at, value in parts)
    return picture_of_bars(
        "svg.reward-bar",
        bar("track", 0, 100, y=2),
        *bars,
        total,
        height=14,
        role="img",
        aria_label=f"{number(reward.total)} = {sums}",
    )


def _most(terms: Sequence[RewardTerm]) -> float:
    return sum(max(term.weight or 0, 0) for term in terms if term.contribution is not None)


def time_card(turns: Sequence[SceneTurn]) -> Json:
    """Prefill, decoding and tools of each turn, one after the other; None where the run kept no clocks."""
    clock, found = 0.0, []
    for turn in turns:
        if not turn.seconds:
            continue
        at = turn.seconds.get("start", clock)
        phases = []
        for phase in _PHASES:
            seconds = turn.seconds.get(phase, 0.0)
            phases.append((phase, at, seconds))
            at += seconds
        clock = at
        found.append((turn.n, phases))
    if not found:
        return None
    per_second = 100 / (clock or 1)
    rows = [
        [
            str(number_),
            picture_of_bars(
                "svg",
                TRACK,
                *(
                    bar(phase, at * per_second, max(seconds * per_second, 0.3 if seconds else 0), y=1, height=8)
                    for phase, at, seconds in phases
                ),
            ),
            *(numbers_cell(f"{seconds:.3g} s") for _, _, seconds in phases),
        ]
        for number_, phases in found
    ]
    heads = [
        "Turn",
        draw("th.wide", "Timeline", scope="col"),
        *(numbers_head(_key(phase), words) for phase, words in _PHASES.items()),
    ]
    return draw("section.card.waterfall", draw("h2", f"Time {number(clock)} s"), table("time of turns", heads, rows))


def headline(scene: TrajectoryScene) -> Json:
    """What was asked and answered, and what happened, in sentences."""
    answer = (
        draw("span", "no answer ", draw("span.small", f"({scene.status.replace('_', ' ')})"))
        if scene.answer is None
        else draw("span", "answered ", draw("b", scene.answer))
    )
    expected = draw("span", "expected ", draw("b", scene.task.answer)) if scene.task.answer else None
    choices = [draw("span", choice) for choice in scene.task.choices]
    findings = [draw("li", finding) for finding in scene.findings]
    return draw(
        f"header.scene-head.{scene.verdict}",
        draw("p.verdict", draw("span.badge", VERDICT_WORDS[scene.verdict]), answer, expected),
        draw("h1.question", scene.task.text, dir="auto"),
        draw("p.choices", *choices) if choices else None,
        draw("div.findings", draw("h2", "What happened"), draw("ul", *findings)) if findings else None,
    )


def places_card(regions: Sequence[Region], *, has_veil: bool = False) -> Json:
    """Each place as the model wrote it and in pixels, with the mark that its shape has; None without any.

    Above them the switch of the veil, where calls returned parts of a picture.
    """
    veil = draw("label.veil-choice", draw("input.veil", type="checkbox"), " darken what no call returned")
    listed = [_places_list(regions)] if regions else []
    return draw("div.places", veil if has_veil else None, *listed) if has_veil or listed else None


def _places_list(regions: Sequence[Region]) -> Json:
    rows = [
        draw(
            "tr",
            draw("th", _mark_button(one), scope="row"),
            draw("td", one.label, _small(one.fate)),
            numbers_cell(*([", ".join(map(number, one.written)), _small(one.frame)] if one.written else ["–"])),
            numbers_cell(pixel_words(one)),
            data_region=one.id,
        )
        for one in regions
    ]
    heads = [draw("span.unseen", "mark"), "Location", numbers_head("Model’s frame"), numbers_head("Pixels")]
    words = "Locations, as the model wrote them and in pixels"
    is_open = True if len(regions) <= _FOLDED_FROM else None
    return draw("details.regions", draw("summary", words), table("locations", heads, [], *rows), open=is_open)


def _mark_button(one: Region) -> Json:
    label = f"{one.mark}: {one.label}"
    kind = f"mark-button {one.kind}"
    return draw("button", one.mark, type="button", class_=kind, data_region=one.id, aria_label=label)


def cut_words(picture: SeenPicture) -> str:
    """What a crop was cut from, behind its caption."""
    if picture.origin is None:
        return ""
    key = picture.origin.picture
    of = f"image {int(key[1:]) + 1}" if key.startswith("q") else f"an image of turn {key[1:].partition('.')[0]}"
    return f", cut from {of}"


def pixel_words(region: Region) -> str:
    """Where a place is, in pixels of its picture, to a tenth."""
    return ", ".join(number(round(value, 1)) for value in region.box or region.point or ())


def _key(name: str) -> Json:
    """What a colour of a bar means."""
    return draw("svg.key", bar(name, 0, 10), viewBox="0 0 10 10", aria_hidden="true")


def _small(words: str) -> Json:
    return draw("span.small.block", words) if words else None
