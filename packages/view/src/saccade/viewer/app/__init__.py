"""The viewer's server: pages, pictures, JSON and events over a collection of runs."""
