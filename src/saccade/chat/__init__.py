"""Models that answer in texts: servers, checkpoints and scripts behind one shape."""
