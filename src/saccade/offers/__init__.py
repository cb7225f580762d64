"""What the parts of Saccade offer by name, as installed packages do by entry points: ``OFFERS`` of each module here.

Each module belongs to one part, which alone it names; ``saccade.entry_points`` finds those that are there.
"""
