"""Benchmarks: one reinforcement step beside a peer's, on the same model, the same tokens and the same rewards."""
