"""The playground: somebody's own questions put to a policy, seen live in the viewer and kept as a run."""
