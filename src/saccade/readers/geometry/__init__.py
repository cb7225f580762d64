"""Plane geometry: its public languages, a numeric solver, theorems that explain, and the tools that offer them."""
