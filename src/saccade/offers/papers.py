"""What the papers offer."""

OFFERS = {
    "saccade.protocols": {"toolchain": "saccade.protocols.toolchain:named_toolchain"},
    "saccade.figures": {
        "pointing": "saccade.evaluation.pointing:FIGURE",
        "chains": "saccade.evaluation.chains:FIGURE",
    },
    "saccade.sections": {
        "toolboxes": "saccade.viewer.toolbox_section:SECTION",
        "stars": "saccade.viewer.star_record:SECTION",
        "two_streams": "saccade.viewer.ivgr_sections:SECTION",
    },
}
