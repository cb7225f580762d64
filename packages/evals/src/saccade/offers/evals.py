"""What the evaluations offer."""

OFFERS = {"saccade.sections": {"published": "saccade.viewer.published_section:SECTION"}}
