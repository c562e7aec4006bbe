"""Plans and traces: frozen data, and the mappings between them that decide nothing."""
