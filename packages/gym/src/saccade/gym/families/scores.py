"""Musical scores (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.scores import SCORE
from saccade.gym.looks.scores import HANDWRITTEN, PRINTED
from saccade.gym.programs.scores import COUNT_PROGRAMS, NOTE_PROGRAMS, SIGNATURE_PROGRAMS

FAMILIES = (
    GymFamily(
        name="score",
        about="a melody on a staff: signatures, notes, rests, how it moves",
        domain="music",
        grammar=SCORE,
        renderers=(PRINTED, HANDWRITTEN),
        programs=(*SIGNATURE_PROGRAMS, *NOTE_PROGRAMS, *COUNT_PROGRAMS),
        is_split_by_state=True,
    ),
)
