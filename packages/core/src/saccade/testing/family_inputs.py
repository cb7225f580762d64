"""Checks of a model family's inputs: pictures, texts and positions against the family's own classes."""

from math import prod

import torch
from torch import Tensor

from saccade.media.resize import ViewRule
from saccade.models.quiet import quiet_transformers
from saccade.testing.family_case import SAID, FamilyCase, plain_logits, taken_by
from saccade.types import ImageRef

BOUND = 1e-4
"""Largest distance of features, and of log-probabilities in nats."""


def picture_tokens(case: FamilyCase) -> str:
    """Ids of each picture alone, through the file that somebody gives, are those of the family's processor."""
    model, wrong, pictures = case.model, list[str](), case.pictures | case.plain_pictures
    for name, image in pictures.items():
        _check_view(model.view, image, name)
        ours = model.chat.tokens_of(model.chat.image_token, (image,)).ids
        theirs = tuple(case.own_inputs([image])["input_ids"][0].tolist())
        if ours != theirs:
            wrong.append(f"{name}: {len(ours)} ids, of the processor {len(theirs)}")
    more = f"; and {len(wrong) - 5} more" if wrong[5:] else ""
    assert not wrong, "; ".join(wrong[:5]) + more
    counts = [model.view.token_count(image) for image in pictures.values()]
    return f"{len(counts)} pictures of {min(counts)} to {max(counts)} tokens"


def _check_view(view: ViewRule, image: ImageRef, name: str) -> None:
    """AssertionError unless the methods of a rule fit each other."""
    count, (width, height) = view.token_count(image), view.view_size(image.width, image.height)
    laid = {
        "token_grid": prod(view.token_grid(image)),
        "token_blocks": sum(block.rows * block.columns for block in view.token_blocks(image)),
    }
    other = [f"{method} has {tokens}" for method, tokens in laid.items() if tokens != count]
    assert not other, f"{name}: token_count is {count}, but {' and '.join(other)}"
    fits = min(width, height) > 0 and width * height <= view.largest_pixels
    assert fits, f"{name}: view_size is {width} x {height}, not 1 x 1 or more, or over largest_pixels"


@torch.no_grad()
def pixels(case: FamilyCase) -> str:
    """Our pixels are the processor's, and so are their features, as many as there are places in the text."""
    model, worst = case.model, 0.0
    for name, image in case.pictures.items():
        own = taken_by(model.hf.model.get_image_features, case.own_inputs([image]))
        [prepared] = model.patches.get([image])
        # Others hold what a still picture has once, where the processor repeats it for each frame.
        if prepared.values.numel() == own["pixel_values"].numel():
            assert torch.equal(prepared.values.flatten(), own["pixel_values"].flatten()), f"{name} has other pixels"
        output = model.hf.model.get_image_features(**own, return_dict=True).pooler_output
        theirs = torch.cat([part.flatten(0, -2) for part in (output if isinstance(output, list | tuple) else [output])])
        with quiet_transformers():
            [ours] = model.encode_images([image])
        count = model.view.token_count(image)
        assert len(ours.tokens) == len(theirs) == count, (
            f"{name}: {len(ours.tokens)} features for {count} places, transformers has {len(theirs)}"
        )
        worst = max(worst, _gap(ours.tokens, theirs))
        assert worst < BOUND, f"{name}: the features are {worst:.1e} from those of the processor's pixels"
    images = list(case.pictures.values())
    together = zip(images, model.encode_images(images), strict=True)
    worst = max(worst, *(_gap(features.tokens, model.encode_images([one])[0].tokens) for one, features in together))
    assert worst < BOUND, f"pictures encoded together are {worst:.1e} from each alone"
    return f"features {worst:.1e} apart"


def rendering(case: FamilyCase) -> str:
    """A conversation in pieces has the ids that the template and the processor give the whole."""
    behind, ends = case.whole_text.rpartition(SAID)[2].lstrip(), tuple(case.model.chat.ends)
    assert behind.startswith(ends), (
        f"the template ends a turn with {behind[:16]!r}, the family with {' or '.join(ends)}"
    )
    forgets = case.model.chat.history.forgets_after_questions
    theirs = tuple(case.own_inputs(case.shown, case.whole_text)["input_ids"][0].tolist())
    # A template that forgets thoughts writes turns otherwise than they were said: it is compared by what it writes.
    ours = case.written_again if forgets else case.in_pieces
    place = next((at for at, (one, other) in enumerate(zip(ours, theirs)) if one != other), min(len(ours), len(theirs)))
    here, there = (case.model.tokenizer.decode(list(ids[place : place + 8])) for ids in (ours, theirs))
    assert ours == theirs, f"from token {place} on it is {here!r}, of the template and the processor {there!r}"
    rule = ", old thoughts left out" if forgets else ""
    return f"{len(ours)} ids, observations as {case.model.chat.observation_role}{rule}"


def positions(case: FamilyCase) -> str:
    """Positions are those of ``get_rope_index``, or one further with each token, in whole and in chunks."""
    model, ids = case.model, case.in_pieces
    expected, how = torch.arange(len(ids)).expand(3, -1), "plain"
    if hasattr(model.hf.model, "get_rope_index"):
        own = case.own_inputs(case.shown, case.whole_text)
        found, _ = model.hf.model.get_rope_index(**taken_by(model.hf.model.get_rope_index, own))
        ids, expected, how = tuple(own["input_ids"][0].tolist()), found[:, 0], "get_rope_index"
    ours = model.positions(ids, case.shown)
    assert torch.equal(ours, expected), f"{int((ours != expected).any(0).sum())} tokens have other positions"
    places = [place for place, token in enumerate(ids) if token == model.image_token_id]
    cut = places[sum(map(model.view.token_count, case.shown[:2])) - 1] + 1
    head, end = model.positions_from(ids[:cut], case.shown[:2], start=0)
    tail, _ = model.positions_from(ids[cut:], case.shown[2:], start=end)
    assert torch.equal(torch.cat([head, tail], dim=1), ours), "chunks have other positions than the whole"
    return f"{how}, {len(ids)} tokens"


@torch.no_grad()
def forward(case: FamilyCase) -> str:
    """Log-probabilities of the model are those of transformers' whole class on the processor's inputs."""
    own = case.own_inputs(case.shown, case.whole_text)
    model = case.model
    theirs: Tensor = model.hf(**own).logits[0].float()
    theirs = theirs.index_fill(-1, model.forbidden_ids, float("-inf"))
    spoken = torch.isfinite(theirs[0])
    ours = plain_logits(model, tuple(own["input_ids"][0].tolist()), case.shown)
    gap = _gap(ours.log_softmax(-1)[:, spoken], theirs.log_softmax(-1)[:, spoken])
    assert gap < BOUND, f"{gap:.1e} nats from transformers' own forward"
    return f"{gap:.1e} nats"


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())
