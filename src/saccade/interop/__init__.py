"""Our environments for the trainers of others."""
