"""Methods in miniature: drawn tasks, experts with habits, and tiny models made from nothing.

Recipes' ``tiny`` functions take their material from here; nothing else in the package imports this room.
"""
