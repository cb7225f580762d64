"""How a task is put to a model and how its turns are read back."""
