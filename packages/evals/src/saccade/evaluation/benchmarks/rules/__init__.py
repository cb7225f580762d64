"""Rules by which public harnesses read replies, in our words, and our own strict one.

``vlmevalkit_*`` follow ms-vlmeval 0.0.20, ``lmms_*`` lmms-eval 0.7.3, quirks and all; where VLMEvalKit's repository of
18 August 2026 or lmms-eval 0.7.2 read otherwise, a reading of that name stands beside. Recorded calls of the real
functions pin them (``packages/evals/tests/evaluation/benchmarks/recorded_rules.json``). Do not mend them.
"""
