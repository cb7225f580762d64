"""What the papers offer."""

OFFERS = {"saccade.protocols": {"toolchain": "saccade.protocols.toolchain:named_toolchain"}}
