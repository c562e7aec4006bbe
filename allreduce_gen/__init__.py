"""Generates, proves and runs specialised all-reduce kernels for pypto."""
