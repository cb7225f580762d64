"""What a report may say of how new its questions were: "held-out" only where that is known."""

from collections.abc import Sequence

from saccade.runs.trained_on import Novelty
from saccade.viewer.evidence import Evaluation
from saccade.viewer.words import readable, visible


def are_held_out(evaluations: Sequence[Evaluation]) -> bool:
    """All of them are known to ask questions that were not trained on, on pictures that were not either."""
    return bool(evaluations) and all(
        one.asked is not None and one.asked.novelty.is_held_out and one.asked.novelty.is_history_known
        for one in evaluations
    )


def questions_text(novelty: Novelty | None) -> str:
    """``held-out questions``, or what else they are."""
    if novelty is None:
        return "questions"
    if not novelty.is_held_out:
        return f"questions, {seen_text(novelty)}"
    return "held-out questions" if novelty.is_history_known else "questions that this run did not train on"


def seen_text(novelty: Novelty) -> str:
    """``12 of 24 were trained on and 3 more show pictures that were``."""
    trained = f"{novelty.trained_on:,} of {novelty.questions:,} were trained on"
    if not novelty.on_trained_pictures:
        return trained
    return f"{trained} and {novelty.on_trained_pictures:,} more show pictures that were"


def novelty_sentences(evaluations: Sequence[Evaluation]) -> list[str]:
    """What a reader must know of the questions, a sentence for all that share it."""
    by_sentence: dict[str, list[str]] = {}
    for one in evaluations:
        if one.asked is None:
            sentence = "this run did not record whether the model was trained on the questions"
        elif not one.asked.novelty.is_held_out:
            sentence = f"not held out: of the questions {seen_text(one.asked.novelty)}"
        elif not one.asked.novelty.is_history_known:
            sentence = "what the first checkpoint was trained on is not known; none of it in this run"
        else:
            sentence = "held out: neither the questions nor their pictures were trained on"
        by_sentence.setdefault(sentence, []).append(visible(readable(one.name), 80))
    if len(by_sentence) == 1:
        return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in by_sentence]
    return [f"{', '.join(names)}: {sentence}." for sentence, names in by_sentence.items()]
