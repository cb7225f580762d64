"""Curation: questions and attempts made into data to train on, by paper in a room of its own.

``argos/``, ``codedance/``, ``ivgr/`` and ``vista/`` are the pipelines; ``linguistic_tools/`` makes Lang2Act's toolbox
out of trajectories. They share: ``rows.py`` (questions, pass rates), ``playing.py`` (a chat model plays in an
environment), ``examples.py`` (the file of examples), ``journal.py`` (what a stopped curation goes on from),
``reports.py`` (the counts in the end) and ``teachers.py`` (the chat models).
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.curation.examples import read_examples as read_examples
    from saccade.curation.journal import Journal as Journal
    from saccade.curation.rows import PassRates as PassRates
    from saccade.curation.rows import read_pass_rates as read_pass_rates
    from saccade.rollout.conversation import play as play
else:
    __getattr__, __dir__ = names_on_use(__name__)
