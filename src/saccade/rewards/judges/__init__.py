"""Judges of texts: models, rules, and what guards them against texts that address them."""
