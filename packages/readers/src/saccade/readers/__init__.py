"""Readers: programs that read text, charts and geometry diagrams from pixels, and solve plane geometry.

They need nothing of Saccade but its leaves, and can be used alone: ``text`` (character recognition), ``charts`` (a
drawn chart to its table), ``diagrams`` (a figure and its words to statements), ``geometry`` (statements to an answer
with its steps).
"""
