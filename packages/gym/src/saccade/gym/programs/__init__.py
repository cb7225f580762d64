"""Programs: questions about states, in tables by what they ask for."""
