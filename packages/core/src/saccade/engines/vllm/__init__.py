"""vLLM as an engine: a server in an environment of its own, asked over HTTP for tokens that follow from tokens.

``engine`` is what trainer and evaluations see; ``replica`` one server; ``wire`` the texts that cross and ``pixels`` the
pictures in them; ``server`` starts vLLM and starts it again; ``settings`` are those of ``--set engine.kind=vllm``.
vLLM itself is never imported.
"""
