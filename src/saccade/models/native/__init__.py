"""Kernels in C++ for the CPU, compiled on first use; without a compiler, torch's own operations do the same work."""
