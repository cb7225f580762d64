"""What the viewer offers."""

OFFERS = {"saccade.reports": {"page": "saccade.viewer.report:write_report"}}
