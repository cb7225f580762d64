"""Tools that put a request to another vision-language model; what it says may be wrong."""
