"""What a model may do to an image: typed functions, described and checked."""
