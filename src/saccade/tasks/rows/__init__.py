"""Rows of files: read from the files, in the layouts of this field, with one module per step from row to task."""
