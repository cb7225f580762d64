"""Our environments as OpenEnv servers, and a client for them."""
