"""The colours of drawn pictures, by name, on mid-grey: tiny models do not learn from bright backgrounds."""

Colour = tuple[int, int, int]

BACKGROUND: Colour = (128, 128, 128)
INK: Colour = (12, 12, 12)
PAPER: Colour = (245, 245, 245)
FAINT: Colour = (104, 104, 104)

COLOURS: dict[str, Colour] = {
    "red": (205, 48, 48),
    "green": (48, 165, 60),
    "blue": (56, 80, 210),
    "yellow": (210, 200, 48),
    "orange": (211, 120, 44),
    "purple": (140, 52, 180),
    "cyan": (50, 190, 200),
    "pink": (211, 120, 180),
}
"""Every channel lies in 44..211, so that a texture of +-44 never clips. The first four are easy to tell."""

COLOUR_NAMES = tuple(COLOURS)
