"""Our environments for TRL's trainers."""
