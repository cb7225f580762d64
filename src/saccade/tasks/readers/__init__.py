"""Rows of files in the layouts of this field, one module per step from row to task."""
