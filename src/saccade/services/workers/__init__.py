"""Processes in which a tool server runs its tools."""
