"""Windows of one length together against transformers' own tower, which takes them one by one."""

import pytest
import torch
from PIL import Image

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.vision_windows import Windows, join_windows

SIZES = [(224, 224), (232, 120), (60, 300)]
"""With windows that are whole, and such as end at an edge."""


@pytest.fixture(scope="module", params=["qwen2_5_vl", "qwen3_vl"])
def models(request):
    plain, joined = (tiny_model(["look"], MediaStore(), family=request.param, vocab_size=300) for _ in range(2))
    join_windows(joined.hf)
    return plain, joined


def encoded(model, pictures):
    """Features, and the gradient of their sum of squares."""
    model.hf.zero_grad()
    features = model.encode_images([model.media.add(picture) for picture in pictures])
    tokens = torch.cat([one.tokens for one in features])
    tokens.square().sum().backward()
    gradients = {name: weight.grad for name, weight in model.hf.named_parameters() if weight.grad is not None}
    return tokens.detach(), gradients


def test_features_and_gradients_are_those_of_windows_one_by_one(models):
    pictures = [Image.effect_noise(size, 80).convert("RGB") for size in SIZES]
    (ours, our_gradients), (theirs, their_gradients) = (encoded(model, pictures) for model in reversed(models))
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    assert our_gradients.keys() == their_gradients.keys()
    for name, gradient in our_gradients.items():
        torch.testing.assert_close(gradient, their_gradients[name], atol=1e-3, rtol=1e-3)


def test_one_picture_after_another_keeps_its_own_windows(models):
    plain, joined = models
    for size in (*SIZES, SIZES[0]):
        picture = Image.effect_noise(size, 80).convert("RGB")
        torch.testing.assert_close(encoded(joined, [picture])[0], encoded(plain, [picture])[0], atol=1e-5, rtol=1e-5)


def test_windows_of_one_length_need_no_order_and_others_come_back_to_their_places():
    alike = Windows.of([4, 4, 4], torch.device("cpu"))
    assert (alike.runs, alike.order) == (((4, 3),), None)
    mixed = Windows.of([2, 4, 2, 4], torch.device("cpu"))
    assert mixed.runs == ((4, 2), (2, 2))
    assert mixed.order.tolist() == [2, 3, 4, 5, 8, 9, 10, 11, 0, 1, 6, 7]
    assert mixed.order[mixed.places].tolist() == list(range(12))
