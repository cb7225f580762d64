"""Text in pictures: one protocol, three engines, the tool ``read_text``."""
