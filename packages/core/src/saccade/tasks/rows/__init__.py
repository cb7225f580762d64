"""Rows of files and their layouts: a module for each step from a file to a task."""
