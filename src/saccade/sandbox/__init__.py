"""Where code that a model wrote runs: isolated by the kernel, each run a transaction."""
