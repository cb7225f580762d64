"""A trajectory as the viewer's pages show it: what was looked at, where each mention is, and what became of it.

Start in ``scene.py``; ``regions.py`` finds places on pictures, ``findings.py`` says in sentences what happened.
"""
