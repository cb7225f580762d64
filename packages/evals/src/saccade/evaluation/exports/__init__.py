"""Evaluations and questions for other programs, and the runs of others read here.

``vlmevalkit`` and ``lmms_eval`` write and read what these harnesses leave behind, so that each can score the other's
run again; ``inspect_log`` writes logs of inspect_ai; ``tables`` writes CSV, Parquet, LaTeX and Markdown;
``harness_tasks`` writes questions as the data sets of both harnesses.
"""
