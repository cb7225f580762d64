"""Tools of a server, called from another process or machine."""
