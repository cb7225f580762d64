"""Families: each a grammar with its looks and programs. ``saccade.gym.registry`` lists them."""
