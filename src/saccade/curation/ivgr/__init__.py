"""iVGR's data: questions by pass rates, and grounded solutions told anew in plain words."""
