"""What the viewer offers."""

OFFERS = {"saccade.parts": {"the report": "saccade.viewer.report:write_report"}}
