"""Boxes compared with ground truth."""
