"""Papers that somebody wrote on by hand: questionnaires and invoices."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.invoices import INVOICE
from saccade.gym.grammars.questionnaires import QUESTIONNAIRE
from saccade.gym.looks.degraded import worn_looks
from saccade.gym.looks.invoices import BANDS, RULED
from saccade.gym.looks.questionnaires import BOXES, CIRCLES
from saccade.gym.programs.invoices import INVOICE_PROGRAMS
from saccade.gym.programs.questionnaires import QUESTIONNAIRE_PROGRAMS

FAMILIES = (
    GymFamily(
        name="questionnaire",
        about="a questionnaire filled in by hand: ticks, crosses and rings, some scribbled over",
        domain="documents",
        grammar=QUESTIONNAIRE,
        renderers=(BOXES, CIRCLES),
        more_renderers=worn_looks(BOXES, CIRCLES),
        programs=QUESTIONNAIRE_PROGRAMS,
        is_split_by_state=True,
    ),
    GymFamily(
        name="invoice",
        about="an invoice with quantities, prices and tax; lines ticked and struck out by hand",
        domain="documents",
        grammar=INVOICE,
        renderers=(RULED, BANDS),
        more_renderers=worn_looks(RULED, BANDS),
        programs=INVOICE_PROGRAMS,
        is_split_by_state=True,
    ),
)
