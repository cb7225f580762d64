"""Audit of task families: what a policy could answer without looking, and what an author may have done wrong.

Start in ``audit.py``: it draws a family's tasks (``drawn.py``) and runs the checks over them, each a ``Checked`` with
its figure, its bound, a verdict and an example. ``pages.py`` writes tables and a page for each family.
"""
