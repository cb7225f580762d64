"""Seeds: the same numbers everywhere and in every version, and no two uses of chance with the same one."""

from saccade.seeding import generator_for, seed_for


def test_labels_that_differ_in_any_way_have_seeds_of_their_own() -> None:
    labels: list[tuple[str | int, ...]] = [
        (),
        ("a", "b"),
        ("ab",),
        ("asb",),
        ("b", "a"),
        ("1",),
        (1,),
        ("a", ""),
        ("", "a"),
    ]
    assert len({seed_for(3, *of) for of in labels} | {seed_for(4)}) == len(labels) + 1


def test_seeds_and_their_streams_are_those_of_every_run_before() -> None:
    assert seed_for(7, "rl", "epoch", 3) == 7626415892038266097
    assert generator_for(7, "rl").integers(1000, size=3).tolist() == [281, 243, 299]
