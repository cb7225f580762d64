"""Any task and trajectory that records may hold, for property tests: hostile texts, NaN, large numbers, and nothing."""

import math

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from saccade.geometry import Box, Mask, Point
from saccade.types import (
    Answer,
    Attempt,
    BoxMention,
    ImageRef,
    Json,
    Malformed,
    Observation,
    Page,
    PointMention,
    SceneObject,
    Score,
    Segment,
    Target,
    Task,
    Term,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
    VersionSpan,
)

# Half surrogates too: a model's text may hold any.
TEXTS = st.text(st.characters(), max_size=6)
WHOLE = st.integers(-(2**70), 2**70)
NUMBERS = st.one_of(
    st.floats(), st.integers(-(2**66), 2**66), st.sampled_from([1e-5, 6e-5, 1e16, -0.0, 5e-324, math.inf])
)
FINITE = NUMBERS.filter(lambda number: number == number)
"""Not NaN, which equals nothing."""


def json_values(numbers: SearchStrategy[float]) -> SearchStrategy[Json]:
    leaves = st.one_of(st.none(), st.booleans(), numbers, TEXTS)
    return st.recursive(leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), mapping(inner)), max_leaves=6)


def mapping(values: SearchStrategy[Json]) -> SearchStrategy[dict[str, Json]]:
    return st.dictionaries(TEXTS, values, max_size=3)


def some(values: SearchStrategy[object]) -> SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=3).map(tuple)


HASHES = TEXTS.map(lambda text: text.replace("/", "").replace("\0", ""))
"""No paths: a picture lies under its hash."""
IMAGES = st.builds(ImageRef, hash=HASHES, width=WHOLE, height=WHOLE)
MASKS = st.builds(Mask, width=WHOLE, height=WHOLE, counts=some(WHOLE))
PAGES = st.builds(Page, document=st.text(min_size=1, max_size=4), number=st.integers(1, 999_999_999))


def attempts(numbers: SearchStrategy[float]) -> SearchStrategy[Attempt]:
    """Attempts with such numbers."""
    boxes, points = st.builds(Box, *[numbers] * 4), st.builds(Point, numbers, numbers)
    data = mapping(json_values(numbers))
    tasks = st.builds(
        Task,
        id=TEXTS,
        family=TEXTS,
        question=TEXTS,
        answer=TEXTS,
        images=some(IMAGES),
        choices=some(TEXTS),
        tolerance=numbers,
        targets=some(
            st.builds(Target, label=TEXTS, box=boxes, point=points, mask=st.none() | MASKS, image_index=WHOLE)
        ),
        frame_times_s=some(numbers),
        event_s=st.none() | st.tuples(numbers, numbers),
        difficulty=numbers,
        source=TEXTS,
        objects=some(
            st.builds(
                SceneObject,
                name=TEXTS,
                box=boxes,
                attributes=st.dictionaries(TEXTS, TEXTS, max_size=2),
                image_index=WHOLE,
                mask=st.none() | MASKS,
            )
        ),
        wordings=st.dictionaries(TEXTS, TEXTS, max_size=2),
        accepted=some(TEXTS),
        buckets=some(TEXTS),
        corpus=st.none() | TEXTS,
        document=st.none() | TEXTS,
        gold_pages=st.none() | some(PAGES),
        shown_pages=some(PAGES),
        is_interleaved=st.booleans(),
    )
    turns = st.builds(
        Turn,
        index=WHOLE,
        text=TEXTS,
        thought=TEXTS,
        action=st.one_of(
            st.builds(ToolCall, name=TEXTS, arguments=data),
            st.builds(Answer, text=TEXTS),
            st.builds(Malformed, why=TEXTS),
        ),
        is_well_formed=st.booleans(),
        result=st.none() | st.builds(ToolResult, text=TEXTS, images=some(IMAGES), data=data, is_ok=st.booleans()),
        observation=st.none() | st.builds(Observation, text=TEXTS, images=some(IMAGES)),
        boxes=some(st.builds(BoxMention, text=TEXTS, box=st.none() | boxes)),
        points=some(
            st.builds(
                PointMention,
                text=TEXTS,
                label=TEXTS,
                point=st.none() | points,
                frame=st.none() | WHOLE,
                time_s=st.none() | numbers,
                image_index=WHOLE | st.just(0),
            )
        ),
    )
    segments = st.builds(
        Segment,
        role=st.sampled_from(["prompt", "action", "observation"]),
        turn=WHOLE,
        ids=st.lists(WHOLE, max_size=9).map(tuple),
        logprobs=st.lists(numbers, max_size=9).map(tuple),
        images=some(IMAGES),
    )
    terms = st.builds(Term, TEXTS, numbers, numbers, filled_from=TEXTS, added_by=TEXTS)
    scores = st.builds(
        Score,
        terms=st.lists(terms, max_size=3, unique_by=lambda term: term.name).map(tuple),
        is_right=st.sampled_from([None, True, False]),
        notes=st.dictionaries(TEXTS, numbers, max_size=2),
        evidence=data,
    )
    trajectories = st.builds(
        Trajectory,
        task_id=TEXTS,
        family=TEXTS,
        stream=TEXTS,
        sample=WHOLE,
        seed=WHOLE,
        policy_version=WHOLE,
        segments=some(segments | segments.map(spanned)),
        turns=some(turns),
        status=st.sampled_from(["answered", "turn_limit", "token_limit", "failed"]),
        failure=TEXTS,
        score=st.none() | scores,
        clock=st.none(),
    )
    advantages = st.none() | st.lists(numbers, max_size=3).map(tuple)
    return st.builds(Attempt, task=tasks, trajectory=trajectories, advantages=advantages, signals=st.none())


def spanned(segment: Segment) -> Segment:
    """The segment with the versions of two policies that sampled it."""
    middle, end = len(segment.ids) // 2, len(segment.ids)
    versions = (VersionSpan(version=1, start=0, end=middle), VersionSpan(version=2, start=middle, end=end))
    return Segment(
        role=segment.role,
        turn=segment.turn,
        ids=segment.ids,
        logprobs=segment.logprobs,
        images=segment.images,
        versions=versions,
    )
