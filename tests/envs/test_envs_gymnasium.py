"""What Gymnasium's own programs do with our environment: pickle it, render it, check it."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from PIL import Image

import saccade.envs
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
