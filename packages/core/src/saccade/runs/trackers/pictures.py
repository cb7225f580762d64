"""Trajectories as pictures for a tracker: everything that the policy saw, side by side."""

from collections.abc import Sequence

from PIL import Image

from saccade.media.store import MediaStore
from saccade.runs.trackers.tracker import TrackedPicture
from saccade.types import Attempt, ImageRef

HEIGHT_PX = 256
MOST = 6
"""Pictures in a row; a trajectory that saw more shows its first ones."""
GAP_PX = 4


def tracked_pictures(attempts: Sequence[Attempt], media: MediaStore, stage: str) -> list[TrackedPicture]:
    """One picture for each trajectory that saw any."""
    found = []
    for index, attempt in enumerate(attempts):
        seen = [media.get(one) for one in _seen_pictures(attempt)[:MOST] if one.hash in media]
        if seen:
            found.append(
                TrackedPicture(name=f"{stage}/trajectory_{index}", image=_in_a_row(seen), caption=_caption(attempt))
            )
    return found


def _seen_pictures(attempt: Attempt) -> list[ImageRef]:
    observed = [turn.observation.images for turn in attempt.trajectory.turns if turn.observation is not None]
    return [*attempt.task.images, *(image for images in observed for image in images)]


def _in_a_row(images: Sequence[Image.Image]) -> Image.Image:
    scaled = [
        one.convert("RGB").resize((max(1, round(one.width * HEIGHT_PX / one.height)), HEIGHT_PX)) for one in images
    ]
    width = sum(one.width for one in scaled) + GAP_PX * (len(scaled) - 1)
    row = Image.new("RGB", (width, HEIGHT_PX), "white")
    left = 0
    for one in scaled:
        row.paste(one, (left, 0))
        left += one.width + GAP_PX
    return row


def _caption(attempt: Attempt) -> str:
    score = attempt.trajectory.score
    verdict = attempt.trajectory.status if score is None else ("right" if score.is_right else "wrong")
    said = attempt.trajectory.turns[-1].text if attempt.trajectory.turns else ""
    paid = "" if score is None else f", reward {score.total:.2f}"
    return f"{verdict}{paid}: {attempt.task.question} -> {said[-300:]} (gold: {attempt.task.answer})"
