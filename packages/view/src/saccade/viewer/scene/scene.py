"""A scene: one recorded trajectory as JSON for the viewer's pages, in the server and in an exported file alike."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from saccade.types import Attempt, Json, Segment, Term, ToolCall, Turn
from saccade.viewer.outcomes import code_of, note_pairs, page_words, turn_outcome, verdict, went_well
from saccade.viewer.scene.cards import cut_words, headline, pixel_words, places_card, reward_card, time_card
from saccade.viewer.scene.findings import findings_of
from saccade.viewer.scene.parts import (
    AskedQuestion,
    Identity,
    Reward,
    RewardTerm,
    SceneTurn,
    SceneVerdict,
    SeenPicture,
    TokenSignals,
    TrajectoryScene,
    TurnTokens,
    finite,
    picture_of,
    utf16,
)
from saccade.viewer.scene.regions import Places, places_of
from saccade.viewer.scene.returned import evidence_texts, veil_paths
from saccade.viewer.scene.sent import sent_texts, view_sizes
from saccade.viewer.scene.texts import cut, parts_of
from saccade.viewer.store.messages import FOREIGN
from saccade.viewer.store.policy_files import Decode, PolicyFiles
from saccade.viewer.words import readable

MAX_PICTURES = 64
MAX_TURNS = 200


def scene_of(
    attempt: Attempt,
    identity: Identity,
    signals: TokenSignals | None = None,
    policy: PolicyFiles | None = None,
    *,
    has_verdict: bool = True,
    offered: Sequence[str] | None = None,
) -> TrajectoryScene:
    """Everything that a page shows of the trajectory; without ``policy``, nothing of what was sent to it.

    Hostile texts pass as they are: no page reads them as markup.
    """
    signals = signals or TokenSignals(advantages=attempt.advantages or ())
    trajectory, task = attempt.trajectory, attempt.task
    pictures = list(_pictures(attempt))
    places = places_of(attempt, pictures)
    seen = view_sizes(trajectory.segments, policy) if policy else {}
    paths, fits = veil_paths(attempt), evidence_texts(attempt)
    shown = [
        replace(one, origin=places.origins.get(one.key), seen=seen.get(one.hash), veil=paths.get(one.key, ""))
        for one in pictures[:MAX_PICTURES]
    ]
    return TrajectoryScene(
        id=identity.id,
        run=identity.run,
        stage=identity.stage,
        step=identity.step,
        stream=trajectory.stream,
        sample=trajectory.sample,
        seed=trajectory.seed,
        policy_version=trajectory.policy_version,
        status=trajectory.status,
        failure=cut(trajectory.failure)[0],
        verdict=_verdict(attempt, has_verdict=has_verdict),
        answer=None if trajectory.answer is None else cut(trajectory.answer)[0],
        task=AskedQuestion(
            id=task.id,
            family=task.family,
            text=cut(task.question)[0],
            choices=task.choices,
            answer=cut(task.answer)[0],
            accepted=task.accepted[:20],
            buckets=task.buckets,
        ),
        findings=findings_of(attempt, places.regions, has_verdict=has_verdict, pictures=shown, offered=offered),
        reward=_reward(attempt),
        pictures=tuple(shown),
        pictures_left_out=len(pictures) - len(shown),
        regions=tuple(places.regions),
        turns=tuple(
            _turn(turn, places, pictures, signals, attempt, policy.decode if policy else None, fits.get(at, ""))
            for at, turn in enumerate(trajectory.turns[:MAX_TURNS])
        ),
        turns_left_out=max(0, len(trajectory.turns) - MAX_TURNS),
        sent=sent_texts(trajectory.segments, policy) if policy else (),
    )


def scene_json(scene: TrajectoryScene) -> dict[str, Json]:
    """The scene as JSON that every reader takes: finite numbers, and texts whose lone surrogates stay escaped.

    ``drawn`` has the parts that a page only shows.
    """
    values: dict[str, Json] = asdict(scene)
    drawn: dict[str, Json] = {
        "head": headline(scene),
        "reward": reward_card(scene.reward),
        "time": time_card(scene.turns),
        "places": places_card(scene.regions, has_veil=any(one.veil for one in scene.pictures)),
    }
    regions: list[Json] = [{**asdict(one), "pixels": pixel_words(one)} for one in scene.regions]
    pictures: list[Json] = [{**asdict(one), "cut": cut_words(one)} for one in scene.pictures]
    return {**values, "pictures": pictures, "regions": regions, "drawn": drawn}


def _verdict(attempt: Attempt, *, has_verdict: bool) -> SceneVerdict:
    if attempt.trajectory.status == "failed":
        return "failed"
    if not has_verdict:
        return "unknown"
    return "right" if verdict(attempt) == "right" else "wrong"


def _pictures(attempt: Attempt) -> Iterator[SeenPicture]:
    task = attempt.task
    for index, image in enumerate(task.images):
        time = f", at {task.frame_times_s[index]:g} s" if index < len(task.frame_times_s) else ""
        yield picture_of(f"q{index}", image, f"{page_words(task, index)}{time}")
    number = len(task.images)
    for turn in attempt.trajectory.turns:
        images = turn.observation.images if turn.observation else turn.result.images if turn.result else ()
        for at, image in enumerate(images):
            number += 1
            yield picture_of(f"t{turn.index + 1}.{at}", image, f"image {number}, from turn {turn.index + 1}")


def _turn(
    turn: Turn,
    places: Places,
    pictures: Sequence[SeenPicture],
    signals: TokenSignals,
    attempt: Attempt,
    token_texts: Decode | None,
    fit: str,
) -> SceneTurn:
    text, left_out = cut(turn.text)
    length = utf16(text)
    observation, observation_left_out = cut(turn.observation.text if turn.observation else "")
    is_foreign = attempt.task.source == FOREIGN
    outcome, call = turn_outcome(turn, is_foreign=is_foreign)
    code = code_of(turn)
    at = turn.index
    return SceneTurn(
        n=at + 1,
        text=text,
        left_out=left_out,
        parts=parts_of(text),
        spans=tuple(span for span in places.spans.get(at, ()) if span.end <= length),
        outcome=f"{cut(outcome)[0]}{fit and f' · evidence: {fit}'}",
        is_fine=went_well(turn, is_foreign=is_foreign),
        was_run=turn.result is not None and not is_foreign,
        call=cut(_pixels(turn, call))[0],
        code="" if code is None or code in turn.text else cut(code)[0],
        observation=observation,
        observation_left_out=observation_left_out,
        pictures=tuple(one.key for one in pictures[:MAX_PICTURES] if one.key.startswith(f"t{at + 1}.")),
        advantage=finite(signals.advantages[at]) if at < len(signals.advantages) else None,
        seconds=signals.clocks[at] if at < len(signals.clocks) else None,
        tokens=_tokens(at, text, attempt.trajectory.segments, signals, token_texts),
    )


def _pixels(turn: Turn, call: str) -> str:
    """The call's arguments, where they say more than the text: coordinates in pixels."""
    return call if isinstance(turn.action, ToolCall) and call and call != "{}" else ""


def _tokens(
    turn: int, text: str, segments: Sequence[Segment], signals: TokenSignals, token_texts: Decode | None
) -> TurnTokens | None:
    """Numbers of the turn's tokens; None where the record has none."""
    actions = [one for one in segments if one.role == "action" and one.turn == turn]
    ids = [token for one in actions for token in one.ids]
    logprobs = [value for one in actions for value in one.logprobs]
    if not ids or len(logprobs) != len(ids):
        return None
    reference = _of_turn(signals.reference_logprobs, turn, len(ids))
    teacher = _of_turn(signals.teacher_logprobs, turn, len(ids))
    return TurnTokens(
        ends=None if token_texts is None else _ends(token_texts(ids), text),
        probability=tuple(_rounded(math.exp(min(value, 0.0))) for value in logprobs),
        entropy=tuple(_rounded(value) for value in _of_turn(signals.entropy, turn, len(ids))),
        advantage=tuple(_rounded(value) for value in _of_turn(signals.token_advantages, turn, len(ids))),
        ratio=tuple(_ratio(value - other) for value, other in zip(logprobs, reference)),
        teacher=tuple(_ratio(other - value) for value, other in zip(logprobs, teacher)),
    )


def _ends(texts: Sequence[str], text: str) -> tuple[int, ...] | None:
    """Where each token ends in the text, in UTF-16 code units; None where they are not its tokens."""
    joined = "".join(texts)
    if not (joined.startswith(text) or text.startswith(joined)):
        return None
    length, at, ends = utf16(text), 0, []
    for one in texts:
        at += utf16(one)
        ends.append(min(at, length))
    return tuple(ends)


def _of_turn(values: Sequence[Sequence[float]], turn: int, count: int) -> Sequence[float]:
    return values[turn] if turn < len(values) and len(values[turn]) == count else ()


def _ratio(difference: float) -> float | None:
    return _rounded(math.exp(difference)) if abs(difference) < 50 else None


def _rounded(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _reward(attempt: Attempt) -> Reward | None:
    score = attempt.trajectory.score
    if score is None:
        return None
    return Reward(
        total=finite(score.total),
        terms=tuple(_term(term) for term in score.terms),
        notes=tuple(note_pairs(score.notes)),
    )


def _term(term: Term) -> RewardTerm:
    notes: Mapping[str, str] = {"filled in from": term.filled_from, "added by": term.added_by}
    return RewardTerm(
        name=readable(term.name),
        value=finite(term.value),
        weight=finite(term.weight),
        contribution=finite(term.contribution),
        note=", ".join(f"{what} {who}" for what, who in notes.items() if who),
    )
