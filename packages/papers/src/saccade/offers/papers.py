"""What the papers offer."""

OFFERS = {
    "saccade.protocols": {"toolchain": "saccade.protocols.toolchain:named_toolchain"},
    "saccade.figures": {
        "pointing": "saccade.evaluation.pointing:FIGURE",
        "chains": "saccade.evaluation.chains:FIGURE",
    },
    "saccade.faces": {
        "saccade.protocols.toolchain": "TOOLCHAIN Chain ChainError chain_thought read_chain toolchain_protocol",
        "saccade.rewards.ivgr": "IvgrReward",
        "saccade.rewards.lang2act": "Lang2ActReward lang2act_reward",
        "saccade.rewards.vista": "DifficultyAdaptiveReward VistaReward",
        "saccade.services.client.remote_regions": "RemoteRegions",
    },
    "saccade.parts": {
        "--judge": "saccade.cli.explanations:judge_run",
        "--evidence": "saccade.cli.explanations:evidence_run",
        "--stars": "saccade.cli.explanations:star_run",
        "--why": "saccade.cli.explanations:explain_pages",
        "--why of a search": "saccade.viewer.why_page:write_why_page",
        "a download of examples": "saccade.curation.examples:tool_example_row",
    },
    "saccade.sections": {
        "chains": "saccade.viewer.chain_views:SECTION",
        "toolboxes": "saccade.viewer.toolbox_section:SECTION",
        "stars": "saccade.viewer.star_record:SECTION",
        "two_streams": "saccade.viewer.ivgr_sections:SECTION",
    },
}
