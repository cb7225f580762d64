"""Words and colours that rendered scenes carry: more than ``tasks/drawing.py`` has, for models that read."""

from numpy.random import Generator

GOODS = (
    "tea",
    "milk",
    "rice",
    "soap",
    "salt",
    "fish",
    "eggs",
    "corn",
    "bread",
    "cheese",
    "honey",
    "apples",
    "pears",
    "plums",
    "oats",
    "beans",
    "lemons",
    "nuts",
    "butter",
    "paper",
    "candles",
    "rope",
    "paint",
    "nails",
)
TOWNS = (
    "Oro",
    "Pim",
    "Vel",
    "Kas",
    "Lun",
    "Tor",
    "Mir",
    "Zed",
    "Arden",
    "Brook",
    "Calder",
    "Dunmore",
    "Elstow",
    "Farley",
    "Garth",
    "Holm",
    "Ivinghoe",
    "Jarrow",
    "Kelso",
    "Linton",
    "Marden",
    "Norby",
    "Oakham",
    "Penrith",
    "Quorn",
    "Ripley",
)
PEOPLE = (
    "Ann",
    "Bob",
    "Eva",
    "Ian",
    "Lea",
    "Max",
    "Tom",
    "Zoe",
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Finn",
    "Gus",
    "Hana",
    "Iris",
    "Jon",
    "Kim",
    "Lars",
    "Mona",
    "Nils",
    "Otto",
    "Pia",
    "Rosa",
)
SURNAMES = (
    "Abel",
    "Berg",
    "Cole",
    "Dorn",
    "Ek",
    "Frey",
    "Gold",
    "Hale",
    "Ives",
    "Juhl",
    "Kern",
    "Lund",
    "Moss",
    "North",
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
TEAMS = (
    "Lions",
    "Bears",
    "Hawks",
    "Wolves",
    "Foxes",
    "Otters",
    "Ravens",
    "Bulls",
    "Sharks",
    "Tigers",
    "Cranes",
    "Stags",
)
FIRMS = ("Alto", "Borea", "Cirro", "Delfi", "Enza", "Fjord", "Gamma", "Helio", "Indigo", "Juno", "Kappa", "Lumen")

PALETTE = {
    "red": (205, 48, 48),
    "green": (40, 150, 60),
    "blue": (56, 90, 210),
    "orange": (232, 130, 30),
    "purple": (140, 52, 180),
    "cyan": (40, 180, 195),
    "pink": (225, 110, 175),
    "brown": (130, 85, 50),
}
"""Colours that are told apart at a glance and named by everybody."""


def hex_of(colour: tuple[int, int, int]) -> str:
    """A colour as SVG and CSS write it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def some(rng: Generator, options: tuple[str, ...], count: int) -> tuple[str, ...]:
    """So many different options, in random order."""
    return tuple(options[int(i)] for i in rng.permutation(len(options))[:count])


def one(rng: Generator, options: tuple[str, ...]) -> str:
    """One of the options, each as likely."""
    return options[int(rng.integers(len(options)))]
