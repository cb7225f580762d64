"""What the policy was sent: prompts and observations with their template, pictures with the size of their view."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from saccade.errors import UserError
from saccade.types import ImageRef, Segment
from saccade.viewer.scene.parts import SentText
from saccade.viewer.scene.texts import cut
from saccade.viewer.store.policy_files import PolicyFiles

_MAX_SENT = 100


def sent_texts(segments: Sequence[Segment], policy: PolicyFiles) -> tuple[SentText, ...]:
    """Prompts and observations in their order; a picture's placeholders are one mark with its number and tokens."""
    found: list[SentText] = []
    numbers = _numbers(segments)
    for segment in segments:
        if segment.role == "action" or len(found) >= _MAX_SENT:
            continue
        text, left_out = cut("".join(_pieces(segment, policy, numbers)))
        found.append(
            SentText(
                is_prompt=segment.role == "prompt",
                turn=segment.turn + 1,
                tokens=len(segment.ids),
                text=text,
                left_out=left_out,
            )
        )
    return tuple(found)


def view_sizes(segments: Sequence[Segment], policy: PolicyFiles) -> Mapping[str, tuple[int, int]]:
    """(width, height) of each picture's view, by its hash: where the tokens that it took are those of that size."""
    sizes: dict[str, tuple[int, int]] = {}
    for segment in segments:
        for image, tokens in zip(segment.images, _runs(segment, policy.image_token)):
            if (size := _view_size(image, tokens, policy)) is not None:
                sizes[image.hash] = size
    return sizes


def _view_size(image: ImageRef, tokens: int, policy: PolicyFiles) -> tuple[int, int] | None:
    if policy.view is None or image.width < 1 or image.height < 1:
        return None
    if image.frames > 1:
        return image.width, image.height // image.frames
    try:
        return policy.view.view_size(image.width, image.height) if policy.view.token_count(image) == tokens else None
    except (UserError, ArithmeticError):
        return None


def _runs(segment: Segment, image_token: int | None) -> Iterator[int]:
    """Lengths of the stretches of placeholders, one for each picture."""
    return (len(list(run)) for token, run in groupby(segment.ids) if token == image_token)


def _numbers(segments: Sequence[Segment]) -> Mapping[str, int]:
    """Numbers of pictures, from 1, in order of first appearance."""
    hashes = dict.fromkeys(image.hash for segment in segments for image in segment.images)
    return {image_hash: number for number, image_hash in enumerate(hashes, start=1)}


def _pieces(segment: Segment, policy: PolicyFiles, numbers: Mapping[str, int]) -> Iterator[str]:
    images = iter(segment.images)
    for is_image, run in groupby(segment.ids, lambda token: token == policy.image_token):
        ids = list(run)
        if not is_image:
            yield policy.text_of(ids)
            continue
        image = next(images, None)
        name = f"image {numbers[image.hash]}" if image else "an image"
        if image and image.frames > 1:
            name = f"{image.frames} frames"
        size = _view_size(image, len(ids), policy) if image else None
        seen = f", seen at {size[0]} × {size[1]} px" if size else ""
        yield f"[{name}: {len(ids)} tokens{seen}]"
