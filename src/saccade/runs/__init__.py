"""A run on disk: its directory, records, metrics, checkpoints and progress."""
