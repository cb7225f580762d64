"""Finding things in a picture and cutting them out, by whatever detector or segmenter is given."""
