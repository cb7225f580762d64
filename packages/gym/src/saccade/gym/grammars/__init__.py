"""Grammars: functions that draw states."""
