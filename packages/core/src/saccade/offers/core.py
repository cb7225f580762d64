"""What the core offers."""

OFFERS = {
    "saccade.protocols": {
        "tagged": "saccade.protocols.tagged:tagged_protocol",
        "direct": "saccade.protocols.tagged:direct_protocol",
        "bare": "saccade.protocols.bare:bare_protocol",
        "code": "saccade.protocols.code:code_protocol",
        "grounded": "saccade.protocols.two_streams:grounded_protocol",
        "textual": "saccade.protocols.two_streams:textual_protocol",
        "grounded_with_crop": "saccade.protocols.two_streams:grounded_with_crop_protocol",
        "pointed": "saccade.protocols.pointed:pointed_protocol",
        "pointed_with_tools": "saccade.protocols.pointed:pointed_with_tools_protocol",
        "described": "saccade.protocols.described:described_protocol",
        "vanilla": "saccade.protocols.baselines:baseline_protocol",
        "structured": "saccade.protocols.baselines:baseline_protocol",
        "tree_of_thoughts": "saccade.protocols.baselines:baseline_protocol",
        "graph_of_thoughts": "saccade.protocols.baselines:baseline_protocol",
        "evidence_first": "saccade.protocols.baselines:baseline_protocol",
    },
    "saccade.parts": {"recorded episodes": "saccade.runs.recorded_episodes:recorded_episodes"},
    "saccade.figures": {
        "grounding": "saccade.evaluation.grounding:FIGURE",
        "evidence": "saccade.evaluation.evidence:FIGURE",
        "necessary calls": "saccade.evaluation.necessary:FIGURE",
    },
}
