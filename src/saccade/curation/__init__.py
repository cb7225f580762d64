"""Turns questions and attempts into what a model is trained on: difficulty, trajectories with code, cross-checks."""
