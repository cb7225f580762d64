"""The environment as Gymnasium knows it: spaces, pickling, rendering, its own checker."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image

import saccade.envs
from saccade.envs.spaces import RgbImages, UnicodeText
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.media.store import MediaStore


def test_a_pickled_environment_plays_the_same_episode() -> None:
    env = VisualReasoningEnv(family="counting", max_turns=3, seed=5)
    copy = pickle.loads(pickle.dumps(env))
    ours, theirs = env.reset(seed=1)[0], copy.reset(seed=1)[0]
    assert theirs["text"] == ours["text"]
    assert np.array_equal(theirs["images"][0], ours["images"][0])
    assert copy.max_turns == 3


def test_a_deep_copy_goes_on_with_the_episode() -> None:
    env = VisualReasoningEnv(family="counting", max_turns=3)
    env.reset(seed=1)
    env.step("nothing")
    assert copy.deepcopy(env).step("nothing")[4] == env.step("nothing")[4]


def test_shared_memory_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match="you can disable this feature with `shared_memory=False`"):
        gymnasium.make_vec(saccade.envs.VISUAL_REASONING_ID, num_envs=1, vectorization_mode="async", family="counting")


def test_a_pickled_store_holds_the_same_pictures() -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (9, 7), "red"))
    copy = pickle.loads(pickle.dumps(media))
    assert copy.get(image).tobytes() == media.get(image).tobytes()
    other = copy.add(Image.new("RGB", (9, 7), "blue"))
    assert other.hash not in media


def test_gymnasiums_checker_passes_with_the_render_mode() -> None:
    env = gymnasium.make(saccade.envs.VISUAL_REASONING_ID, family="counting", render_mode="rgb_array")
    check_env(env.unwrapped)
    observation, _ = env.reset(seed=3)
    assert np.array_equal(env.render(), observation["images"][-1])


def test_an_unknown_render_mode_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="render_mode='human'"):
        VisualReasoningEnv(family="counting", render_mode="human")


def test_text_is_any_unicode_up_to_the_bound() -> None:
    space = UnicodeText(5)
    assert all(text in space for text in ("", "abcde", "äöü", "\x00\n", "漢字🙂"))
    assert all(other not in space for other in ("abcdef", "\ud800", b"abc", 5, None, ["a"]))


def test_pictures_are_tuples_of_rgb_arrays_of_any_size_up_to_the_bound() -> None:
    space = RgbImages(2, 100)
    good = np.zeros((10, 10, 3), dtype=np.uint8)
    assert all(pictures in space for pictures in ((), (good,), (good, good[:1, :7])))
    bad = [
        (good, good, good),
        [good],
        (np.zeros((10, 11, 3), dtype=np.uint8),),
        (np.zeros((0, 5, 3), dtype=np.uint8),),
        (np.zeros((5, 5, 4), dtype=np.uint8),),
        (np.zeros((5, 5), dtype=np.uint8),),
        (good.astype(np.float32),),
        ("picture",),
        good,
    ]
    assert all(pictures not in space for pictures in bad)


@pytest.mark.parametrize("space", [UnicodeText(1), UnicodeText(1000), RgbImages(1, 1), RgbImages(9, 5000)])
def test_what_a_space_samples_it_contains(space: UnicodeText | RgbImages) -> None:
    space.seed(3)
    assert all(space.sample() in space for _ in range(50))


def test_the_same_seed_samples_the_same() -> None:
    first, second = UnicodeText(40, seed=7), UnicodeText(40, seed=7)
    texts = [first.sample() for _ in range(5)]
    assert texts == [second.sample() for _ in range(5)]
    assert len(set(texts)) > 1
    left, right = RgbImages(3, 50, seed=7), RgbImages(3, 50, seed=7)
    for _ in range(5):
        a, b = left.sample(), right.sample()
        assert len(a) == len(b)
        assert all(np.array_equal(x, y) for x, y in zip(a, b))


def test_spaces_compare_by_their_bounds() -> None:
    assert UnicodeText(4) == UnicodeText(4) != UnicodeText(5)
    assert RgbImages(1, 2) == RgbImages(1, 2) != RgbImages(2, 2)
    assert (repr(UnicodeText(4)), repr(RgbImages(1, 2))) == ("UnicodeText(4)", "RgbImages(1, 2)")


def test_bounds_that_hold_nothing_are_refused() -> None:
    with pytest.raises(UserError):
        UnicodeText(0)
    with pytest.raises(UserError):
        RgbImages(0, 1)
    with pytest.raises(UserError):
        RgbImages(1, 0)
