"""The slot cache: what is written stays with its slot, wherever that is moved."""

import random

import pytest
import torch

from saccade.engines.slot import Prompt, PromptKey
from saccade.engines.slots import SlotCache

LAYERS, HEADS, DIM = 2, 3, 4


@pytest.fixture(params=["rows", "pages"], autouse=True)
def kind(request):
    """Each test meets both kinds of memory."""
    global PAGED
    PAGED = request.param == "pages"
    return request.param


PAGED = False


def empty_cache():
    return SlotCache(
        layer_count=LAYERS, kv_heads=HEADS, head_dim=DIM, dtype=torch.float32, device=torch.device("cpu"), paged=PAGED
    )


def write(cache, slots, width, marks):
    """Appends ``width`` tokens to neighbouring slots; the row of slot i holds the value marks[i]."""
    window = cache.window(slots[0].index, [slot.length for slot in slots], width)
    new = torch.tensor(marks, dtype=torch.float32)[:, None, None, None].expand(-1, HEADS, width, DIM)
    for layer in range(LAYERS):
        keys, values = window.update(new + layer, -new - layer, layer)
    for slot in slots:
        slot.length += width
    return keys, values


def content(cache, slot):
    """The marks in a slot, as keys of layer 0 and values of layer 1 tell them."""
    window = cache.window(slot.index, [slot.length], 0)
    nothing = torch.empty(1, HEADS, 0, DIM)
    keys = window.update(nothing, nothing, 0)[0][0, 0, :, 0].tolist()
    values = window.update(nothing, nothing, 1)[1][0, -1, :, -1].tolist()
    assert keys == [-value - 1 for value in values]
    return keys


def test_each_row_is_written_at_its_own_length():
    cache = empty_cache()
    a, b = cache.take(()), cache.take(())
    write(cache, [a], 3, [1])
    keys, _ = write(cache, [a, b], 2, [5, 7])
    assert keys.shape == (2, HEADS, 5, DIM)
    assert content(cache, a) == [1, 1, 1, 5, 5]
    assert content(cache, b) == [7, 7]


def test_a_new_token_looks_at_its_own_row_up_to_itself():
    window = empty_cache_with_two_rows().window(0, [3, 0], 2)
    assert window.mask[:, 0].int().tolist() == [[[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]]


def empty_cache_with_two_rows():
    cache = empty_cache()
    cache.take(())
    cache.take(())
    return cache


def test_growing_keeps_what_was_written():
    cache = empty_cache()
    slot = cache.take(())
    write(cache, [slot], 60, [2])
    write(cache, [slot], 100, [3])
    others = [cache.take(()) for _ in range(9)]
    write(cache, others, 1, [9] * 9)
    assert content(cache, slot) == [2] * 60 + [3] * 100


def test_any_order_of_active_rows_keeps_every_row_intact():
    chance = random.Random(0)
    cache = empty_cache()
    slots = [cache.take(()) for _ in range(7)]
    for mark, slot in enumerate(slots):
        write(cache, [slot], 1 + mark, [mark])
    for _ in range(50):
        active = chance.sample(slots, chance.randint(0, 7))
        cut = chance.randint(0, len(active))
        decoding, joining = active[:cut], active[cut:]
        cache.arrange(decoding, joining)
        assert sorted(slot.index for slot in decoding) == list(range(cut))
        assert [slot.index for slot in joining] == list(range(cut, len(active)))
        assert [cache.slots[slot.index] for slot in slots] == slots
        assert [content(cache, slot) for slot in slots] == [[mark] * (1 + mark) for mark in range(7)]


def test_slots_that_need_not_lie_together_stay_where_they_are():
    cache = empty_cache()
    cache.moves = False
    slots = [cache.take(()) for _ in range(3)]
    for mark, slot in enumerate(slots):
        write(cache, [slot], 1 + mark, [mark])
    before = [] if PAGED else [cache.reserve(0).clone()]
    cache.arrange([slots[2]], [slots[0]])
    assert [slot.index for slot in slots] == [1, 2, 0]
    assert [slot.place for slot in slots] == [0, 1, 2]
    assert all(torch.equal(cache.reserve(0), storage) for storage in before)


def test_a_prompt_is_copied_to_its_siblings():
    cache = empty_cache()
    leader, first, second = cache.take(()), cache.take(()), cache.take(())
    write(cache, [leader], 2, [4])
    leader.prompt = Prompt(key=PromptKey((8, 9), ()), hidden=torch.zeros(1), position=2)
    write(cache, [leader], 1, [6])
    cache.copy_prompt(leader, [first, second])
    assert [content(cache, slot) for slot in (first, second)] == [[4, 4], [4, 4]]
    assert first.prompt == leader.prompt


def test_a_slot_given_back_keeps_its_prompt_for_whoever_wants_it():
    cache = empty_cache()
    key = PromptKey((8, 9), ())
    slot = cache.take(())
    write(cache, [slot], 2, [4])
    slot.prompt = Prompt(key=key, hidden=torch.zeros(1), position=2)
    write(cache, [slot], 5, [6])
    cache.give_back(slot)
    other = cache.take({key})
    assert other is not slot
    assert cache.take_with_prompt(PromptKey((8, 7), ())) is None
    again = cache.take_with_prompt(key)
    assert again is slot
    assert content(cache, again) == [4, 4]


def test_a_slot_whose_prompt_nobody_wants_is_used_again():
    cache = empty_cache()
    slot = cache.take(())
    write(cache, [slot], 1, [4])
    slot.prompt = Prompt(key=PromptKey((8,), ()), hidden=torch.zeros(1), position=1)
    cache.give_back(slot)
    assert cache.take(()) is slot
    assert (slot.prompt, slot.length) == (None, 0)


def test_a_slot_without_a_prompt_cannot_be_copied():
    cache = empty_cache()
    with pytest.raises(ValueError, match="holds no prompt"):
        cache.copy_prompt(cache.take(()), [])


def test_rows_with_one_prompt_share_its_whole_pages():
    cache = empty_cache()
    leader, *others = [cache.take(()) for _ in range(9)]
    write(cache, [leader], 200, [4])
    leader.prompt = Prompt(key=PromptKey((8,) * 200, ()), hidden=torch.zeros(1), position=200)
    cache.copy_prompt(leader, others)
    for mark, slot in enumerate(others):
        write(cache, [slot], 1, [mark])
    assert [content(cache, slot)[-2:] for slot in others] == [[4, mark] for mark in range(8)]
    assert content(cache, leader) == [4] * 200
    if PAGED:
        used = sum(uses > 0 for uses in cache.pages._uses)
        # Three whole pages that all have, and a fourth of its own for each.
        assert used == 3 + 9
        for slot in (leader, *others):
            slot.prompt = None
            cache.give_back(slot)
        assert not any(cache.pages._uses)


def test_a_pool_of_pages_that_is_full_grows_and_keeps_its_rows():
    cache = empty_cache()
    slots = [cache.take(()) for _ in range(3)]
    for mark, slot in enumerate(slots):
        write(cache, [slot], 8000, [mark])
    assert [content(cache, slot) for slot in slots] == [[mark] * 8000 for mark in range(3)]
    assert cache.page_count == (384 if PAGED else 0)
