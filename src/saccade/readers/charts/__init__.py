"""Charts: what they hold as a value, a classical reader that works offline, and tools over what any reader read."""
