"""Tools over the Model Context Protocol, in both directions."""
