"""Settings of a run: dataclasses, overrides by name, and what the command line gives a recipe."""
