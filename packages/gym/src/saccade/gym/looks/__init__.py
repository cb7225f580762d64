"""Looks: functions that draw pictures of states, with the region of every element."""
