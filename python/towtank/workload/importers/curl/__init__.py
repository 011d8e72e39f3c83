"""Import of command lines of curl."""
