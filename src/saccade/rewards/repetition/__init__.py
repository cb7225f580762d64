"""Loops in texts, found in linear time."""
