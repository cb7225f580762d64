"""A run, drawn: its line in the list of runs, accuracy by evaluation and family, command and settings."""

from collections.abc import Mapping, Sequence
from itertools import chain
from urllib.parse import urlencode

from saccade.runs.segments import REASONS
from saccade.types import Json
from saccade.viewer.app.lists import indexing_text
from saccade.viewer.drawn import count_text, draw, share_line, table
from saccade.viewer.store.accuracies import EvaluationAccuracy
from saccade.viewer.words import readable

_STATUS_WORDS = {
    "running": "● running",
    "stopped": "■ stopped",
    "finished": "✓ finished",
    "failed": "✗ failed",
    "foreign": "other trainer",
}


def status_words(status: str, seen_s_ago: float | None) -> Json:
    """How it stands with a run, and when it last wrote."""
    age = None if seen_s_ago is None else draw("span.small.block", f"{age_words(seen_s_ago)} ago")
    return draw(f"span.status.{status}", _STATUS_WORDS.get(status, status), age)


def age_words(seconds: float) -> str:
    """``12 s``, ``5 min``, ``3 h``, ``2 days``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


def last_of(evaluations: Sequence[EvaluationAccuracy]) -> EvaluationAccuracy | None:
    """What a run has come to: the last evaluation that is not another one asked otherwise.

    As in the report's sentences, ``after_rl_without_tool`` is ``after_rl`` asked otherwise, by its name.
    """
    names = [one.name for one in evaluations]
    plain = [one for one in evaluations if not any(one.name.startswith(f"{name}_") for name in names)]
    return plain[-1] if plain else None


def accuracy_line(last: EvaluationAccuracy | None) -> Json:
    """The accuracy of a run's last evaluation."""
    if last is None:
        return draw("span.small", "–")
    return draw("div", share_line(last.answers), draw("span.small.block", readable(last.name)))


def what_is_there(trajectories: int, stages: Mapping[str, int], indexing: Json) -> str:
    """How many trajectories, of which stages."""
    of = ", ".join(f"{readable(name)} ({count:,})" for name, count in stages.items()) or "no stage yet"
    counted = f"{count_text(trajectories, 'trajectory', 'trajectories')} in {of}"
    return "; ".join(filter(None, (counted, indexing_text(indexing))))


def run_links(run: str, evaluations: Sequence[EvaluationAccuracy]) -> list[Json]:
    """Where one goes from a run's page."""
    list_ = f"#/run/{run}/list"
    links = [
        draw("a.button.ready", "All trajectories", href=list_),
        draw("a.button", "Wrong answers", href=f"{list_}?right=0"),
    ]
    last = last_of(evaluations)
    if last is not None and last is not evaluations[0]:
        sides = {"a": f"{run}/{evaluations[0].name}", "b": f"{run}/{last.name}"}
        words = "Compare first and last evaluation"
        links.append(draw("a.button", words, href=f"#/evaluations?{urlencode(sides)}"))
    return links


def accuracy_section(
    run: str, evaluations: Sequence[EvaluationAccuracy], lines: Mapping[str, Sequence[str]] | None = None
) -> Json:
    """Accuracy by evaluation and family, each with the way to its trajectories; None without any.

    ``lines`` are those of other figures, by evaluation.
    """
    if not evaluations:
        return None

    def to(words: str, **query: str) -> Json:
        return draw("a", words, href=f"#/run/{run}/list?{urlencode(query)}")

    rows: list[list[Json]] = []
    for one in evaluations:
        links = draw("td", to("all", stage=one.name), " · ", to("wrong", stage=one.name, right="0"))
        most = sorted(one.reasons.items(), key=lambda pair: -pair[1])
        why = [
            draw("span.block", to(f"{count:,} {REASONS.get(name, readable(name))}", stage=one.name, reason=name))
            for name, count in most
        ]
        rows.append([readable(one.name), share_line(one.answers), links, draw("td.small", *why)])
        for family, answers in one.families.items() if len(one.families) > 1 else ():
            heading = draw("th.family", readable(family), scope="row")
            rows.append([heading, share_line(answers), to("wrong", stage=one.name, family=family, right="0"), ""])
    heads = ["Evaluation", "Accuracy, 95 % interval", "Trajectories", "Why wrong"]
    told = [f"{readable(name)}: {line}" for name, of in (lines or {}).items() for line in of]
    words = [draw("p.small", line) for line in told]
    return draw("section", draw("h2", "Accuracy"), table("accuracy", heads, rows), *words)


def settings_card(command: str, settings: Mapping[str, str]) -> Json:
    """Command and settings, folded; None where neither is known."""
    if not settings and not command:
        return None
    listed = chain.from_iterable((draw("dt", name), draw("dd", value)) for name, value in settings.items())
    return draw(
        "details.card",
        draw("summary", f"Command and {count_text(len(settings), 'setting')}"),
        draw("pre.code", command) if command else None,
        draw("dl.notes", *listed),
    )
