"""Attention of the generated tokens on image tokens in the last layer, and its share inside the targets.

The attention score on image tokens of iVGR's table 10. Of the attention of a generated token, the query is that token
itself (not the one that predicts it), and what it may look at is itself and all before it, observations too. Only
products of the last layer are ever held, and of them only a bounded number at a time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from saccade.codec.forms import Form
from saccade.media.resize import token_coverage
from saccade.models.attention import tree
from saccade.models.families.family import ImageFeatures
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Attempt, ImageRef, Task, Trajectory

SCORES_AT_ONCE = 1 << 24
"""Products of queries and keys, over all heads, that are worked on at a time: 64 MiB of them, in up to three copies."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AttentionShare:
    """Shares of a trajectory's attention, each the mean over heads and over generated tokens.

    Where a task has targets, ``inside`` and ``outside`` are the attention on the images that have them, and nothing
    of it on other images. A token that a target covers in part counts in part.
    """

    FORM: ClassVar = Form(apart=("whole_area", "peak"), also=("focus",))

    image: float
    """On image tokens of all images that the trajectory shows."""
    inside: float | None = None
    """On image tokens inside the targets' boxes; None, as the next two, without targets."""
    outside: float | None = None
    area: float | None = None
    """Share of these images' tokens that lies inside: of ``inside + outside``, blind attention would put it there."""
    whole_area: float | None = None
    """The same share of the tokens of all images that the trajectory shows: blind attention's part of ``image``."""
    peak: float | None = None
    """How much of the image token with the most attention, of all images and the first of equal ones, lies inside."""

    @property
    def focus(self) -> float | None:
        """How many times more attention lies inside the targets than their area would get; 1.0 is blind."""
        if self.inside is None or self.outside is None or not self.area:
            return None
        on_images = self.inside + self.outside
        return self.inside / on_images / self.area if on_images > 0 else None

    @property
    def whole_focus(self) -> float | None:
        """``focus`` among all images: low also where the model looks at a page that has no target."""
        if self.inside is None or not self.whole_area or self.image <= 0:
            return None
        return self.inside / self.image / self.whole_area


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanAttention:
    """Means over trajectories: the image's share over all ``n``, the others over the ``n_targets`` with targets."""

    FORM: ClassVar = Form(flat=("share",))

    share: AttentionShare
    n: int
    n_targets: int


def attention_shares(
    model: VisionLanguageModel, attempts: Sequence[Attempt], *, scores_at_once: int = SCORES_AT_ONCE
) -> list[AttentionShare | None]:
    """The share of each attempt, under the model's present weights; its images must be in the model's store.

    None for a trajectory that the machine failed, that generated nothing or that shows no image. Attempts that follow
    one another and show the same images encode them once.
    """
    shares: list[AttentionShare | None] = []
    features: dict[str, ImageFeatures] = {}
    with torch.no_grad():
        for attempt in attempts:
            trajectory = attempt.trajectory
            if trajectory.status == "failed" or not any(trajectory.action_mask) or not trajectory.images:
                shares.append(None)
                continue
            features = _features(model, trajectory.images, features)
            shares.append(_share(model, attempt.task, trajectory, features, scores_at_once))
    return shares


def mean_attention(shares: Sequence[AttentionShare | None]) -> MeanAttention | None:
    """The means of those that are there; None without any."""
    given = [share for share in shares if share is not None]
    if not given:
        return None
    parts = [
        (share.inside, share.outside, share.area)
        for share in given
        if share.inside is not None and share.outside is not None and share.area is not None
    ]
    inside, outside, area = (math.fsum(values) / len(values) for values in zip(*parts)) if parts else (None,) * 3
    image = math.fsum(share.image for share in given) / len(given)
    return MeanAttention(
        share=AttentionShare(image=image, inside=inside, outside=outside, area=area), n=len(given), n_targets=len(parts)
    )


def _features(
    model: VisionLanguageModel, images: Sequence[ImageRef], known: dict[str, ImageFeatures]
) -> dict[str, ImageFeatures]:
    missing = list({image.hash: image for image in images if image.hash not in known}.values())
    encoded = dict(zip([image.hash for image in missing], model.encode_images(missing)))
    return {image.hash: encoded.get(image.hash) or known[image.hash] for image in images}


def _share(
    model: VisionLanguageModel,
    task: Task,
    trajectory: Trajectory,
    features: dict[str, ImageFeatures],
    scores_at_once: int,
) -> AttentionShare:
    ids = torch.tensor(trajectory.ids, device=model.device)
    is_image = ids == model.image_token_id
    of_images = _inside(model, task, trajectory)
    found = torch.zeros(len(ids), dtype=torch.float64, device=model.device)
    query_places = torch.tensor(trajectory.action_mask, device=model.device).nonzero()[:, 0]

    def watch(module: torch.nn.Module, query: Tensor, key: Tensor, scale: float) -> None:
        if module.layer_idx == model.attention_layers[-1]:
            window = getattr(module, "sliding_window", None) or len(ids)
            found.copy_(_attention_on_tokens(query[0], key[0], query_places, scale, window, scores_at_once))

    embedded = model.embed(ids[None], [features[image.hash] for image in trajectory.images])
    positions = model.positions(trajectory.ids, trajectory.images)[:, None].to(model.device)
    # As a pack of one sequence, for which no mask is built.
    model.hidden(embedded, positions, packing=(tree(0, len(ids), ()),), watch=watch)
    return _of_targets(found[is_image].cpu(), of_images.double())


def _of_targets(attention: Float[Tensor, "image_tokens"], of_images: Float[Tensor, "image_tokens 2"]) -> AttentionShare:
    """The shares, by the attention on each image token and what ``_inside`` says of them."""
    image = attention.sum().item()
    tokens, covered = of_images.sum(dim=0).tolist()
    if not tokens:
        return AttentionShare(image=image)
    with_targets, inside = (attention @ of_images).tolist()
    return AttentionShare(
        image=image,
        inside=inside,
        outside=with_targets - inside,
        area=covered / tokens,
        whole_area=covered / len(attention),
        peak=of_images[int(attention.argmax()), 1].item(),
    )


def _inside(model: VisionLanguageModel, task: Task, trajectory: Trajectory) -> Float[Tensor, "image_tokens 2"]:
    """For each image token, whether its image has targets and which share of it lies inside."""
    columns: list[Tensor] = []
    for index, (shown, asked) in enumerate(zip_longest(trajectory.images, task.images[: len(trajectory.images)])):
        boxes = [target.box for target in task.targets if target.image_index == index and shown == asked]
        covered = torch.from_numpy(token_coverage(model.view.token_blocks(shown), boxes))
        columns.append(torch.stack([torch.full_like(covered, float(bool(boxes))), covered], dim=1))
    return torch.cat(columns).float()


def _attention_on_tokens(
    query: Float[Tensor, "heads tokens dim"],
    key: Float[Tensor, "key_heads tokens dim"],
    query_places: Int[Tensor, "queries"],
    scale: float,
    window: int,
    scores_at_once: int,
) -> Float[Tensor, "tokens"]:
    """Attention of the tokens at ``query_places`` on each token, mean over heads and over these tokens."""
    heads, tokens, dim = query.shape
    key_heads = key.shape[0]
    places = torch.arange(tokens, device=query.device)
    total = torch.zeros(tokens, dtype=torch.float64, device=query.device)
    width = max(1, scores_at_once // (heads * tokens))
    for start in range(0, len(query_places), width):
        some = query_places[start : start + width]
        # Query heads of one key head lie side by side.
        queries = query[:, some].reshape(key_heads, -1, dim)
        scores = (queries @ key.transpose(1, 2) * scale).float().view(key_heads, heads // key_heads, -1, tokens)
        is_unseen = (places > some[:, None]) | (places <= some[:, None] - window)
        attention = scores.masked_fill_(is_unseen, -torch.inf).softmax(dim=-1)
        total += attention.sum(dim=(0, 1, 2)).double()
    return total / (heads * len(query_places))
