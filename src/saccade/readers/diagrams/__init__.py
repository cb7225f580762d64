"""Geometry diagrams and the words beside them, read into statements that the solver takes."""
