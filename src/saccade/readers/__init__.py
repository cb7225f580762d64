"""Programs that read text, charts and geometry diagrams from pixels; they need nothing of Saccade but its leaves."""
