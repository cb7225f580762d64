"""Which trajectories a report shows, evaluation by evaluation and then of training."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from saccade.types import Attempt
from saccade.viewer.evidence import Evaluation, Evidence
from saccade.viewer.examples import ExampleView, chosen_attempts, example_view, examples_of
from saccade.viewer.pictures import Album
from saccade.viewer.story import questions_text
from saccade.viewer.words import percent_text, readable, visible


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleSection:
    """The examples of one evaluation or training stage."""

    title: str
    subtitle: str
    examples: tuple[ExampleView, ...]


def example_sections(evidence: Evidence, album: Album, addresses: Mapping[int, str]) -> list[ExampleSection]:
    """The sections with examples, their images put into the album; ``addresses`` by the ``id`` of an attempt."""
    return [
        ExampleSection(
            title=title,
            subtitle=subtitle,
            examples=tuple(
                example_view(attempt, album, evidence.why, addresses.get(id(attempt), "")) for attempt in attempts
            ),
        )
        for title, subtitle, attempts in _chosen_sections(evidence)
        if attempts
    ]


def shown_attempts(evidence: Evidence) -> list[Attempt]:
    """All trajectories that the report shows."""
    return [attempt for _, _, attempts in _chosen_sections(evidence) for attempt in attempts]


def _chosen_sections(evidence: Evidence) -> Iterator[tuple[str, str, list[Attempt]]]:
    """Title, subtitle and trajectories of each section."""
    for index, evaluation in enumerate(evidence.evaluations):
        # The first is set against the second and the others against the first, so that the same questions show up.
        others = evidence.evaluations[1:2] if index == 0 else evidence.evaluations[:1]
        right = percent_text(evaluation.summary.overall.accuracy)
        attempts = chosen_attempts(evaluation, others[0] if others else None)
        yield readable(evaluation.name), f"{_questions(evaluation)}, {right} right", attempts
    for rollouts in evidence.rollouts:
        streams = list(dict.fromkeys(attempt.trajectory.stream for attempt in rollouts.attempts))
        for stream in streams:
            of_stream = [attempt for attempt in rollouts.attempts if attempt.trajectory.stream == stream]
            named = f", {visible(readable(stream), 80)} stream" if len(streams) > 1 else ""
            subtitle = f"training trajectories of step {rollouts.step}{named}"
            yield readable(rollouts.stage), subtitle, examples_of(of_stream)


def _questions(evaluation: Evaluation) -> str:
    return questions_text(evaluation.asked.novelty if evaluation.asked else None)
