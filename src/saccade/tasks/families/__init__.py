"""Procedural families: each module draws one kind of task from a generator and a difficulty."""
