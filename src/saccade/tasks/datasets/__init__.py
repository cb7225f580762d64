"""The data sets that VISTA-Gym trains on and is measured by, read from their published layouts."""
