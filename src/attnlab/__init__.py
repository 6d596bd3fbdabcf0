"""attention from first principles."""
