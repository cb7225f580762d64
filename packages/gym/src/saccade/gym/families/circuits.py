"""Circuit diagrams (extra ``gym``)."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.circuits import CIRCUIT
from saccade.gym.looks.circuits import IEC, IEEE
from saccade.gym.programs.circuits import CIRCUIT_PROGRAMS

FAMILIES = (
    GymFamily(
        name="circuit",
        about="a circuit diagram: values, branches, switches, where current flows",
        domain="diagrams",
        grammar=CIRCUIT,
        renderers=(IEEE, IEC),
        programs=CIRCUIT_PROGRAMS,
        is_split_by_state=True,
    ),
)
