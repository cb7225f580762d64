"""The lessons in reading: digits at their places, and one word or number, each inside its picture."""

import pytest

from saccade.gym.drawn import READING_FAMILIES
from saccade.gym.drawn.finding import printed_word
from saccade.seeding import generator_for
from saccade.tasks.scene import PLACE_NAMES, SIZE_PX, Scene, place_of

DIFFICULTIES = (0.0, 0.5, 1.0)


def drawn(family: str, difficulty: float, count: int = 20) -> list[Scene]:
    return [READING_FAMILIES[family](generator_for(7, family, index), difficulty) for index in range(count)]


@pytest.mark.parametrize(("difficulty", "most"), [(0.0, 1), (0.5, 3), (1.0, 5)])
def test_each_place_is_said_with_its_digit_and_the_last_is_the_answer(difficulty: float, most: int) -> None:
    for scene in drawn("reading_digits", difficulty):
        places = scene.asked.question.split(": ", 1)[1].split(". W")[0].split(", ")
        assert 1 <= len(places) <= most
        assert len(places) == len(set(places))
        assert set(places) <= set(PLACE_NAMES)
        said = scene.asked.conclusion
        for place, following in zip(places, [*places[1:], ""]):
            assert said.startswith(f"{place} ")
            digit = said[len(place) + 1]
            assert digit.isdigit()
            said = said[len(place) + 3 :]
            assert said.startswith(following)
        assert digit == scene.asked.answer
        (target,) = scene.asked.targets
        assert target.label == scene.asked.answer


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("family", READING_FAMILIES)
def test_print_lies_inside_its_picture_and_shows_ink(family: str, difficulty: float) -> None:
    for scene in drawn(family, difficulty):
        box = scene.asked.targets[0].box
        assert 0 <= box.x1 < box.x2 <= SIZE_PX
        assert 0 <= box.y1 < box.y2 <= SIZE_PX
        cut = scene.images[0].crop((int(box.x1), int(box.y1), int(box.x2), int(box.y2)))
        assert len(cut.getcolors(1 << 16) or ()) > 1
        if family == "reading_digits":
            assert place_of(box.center).split()[0] in {name.split()[0] for name in PLACE_NAMES}


def test_words_numbers_and_prices_are_all_read() -> None:
    said = {scene.asked.answer for scene in drawn("reading_print", 0.5, 80)}
    words = {printed_word(generator_for(1, "w", index)) for index in range(400)}
    assert any(text.isalpha() for text in said)
    assert any(text.isdigit() for text in said)
    assert any("." in text for text in said)
    assert len(said) > 25
    assert len(words) > 60
