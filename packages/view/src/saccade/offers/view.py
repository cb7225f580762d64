"""What the viewer offers."""

OFFERS = {
    "saccade.parts": {"the report": "saccade.viewer.report:write_report"},
    "saccade.sections": {
        "evidence": "saccade.viewer.evidence_section:SECTION",
        "judged_evidence": "saccade.viewer.judged_evidence:SECTION",
    },
}
