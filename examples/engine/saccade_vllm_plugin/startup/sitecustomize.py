"""Runs at the start of each Python that has this folder in ``PYTHONPATH``: before vLLM imports transformers."""

from saccade_vllm_plugin import guard

guard.install()
