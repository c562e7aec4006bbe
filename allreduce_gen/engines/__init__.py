"""Engines run programs: the simulator a trace, and the reference that judges them."""
