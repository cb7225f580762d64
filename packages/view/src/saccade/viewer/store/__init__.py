"""Runs on disk as the viewer reads them: an index in columns, records by their offset, files of other trainers."""
