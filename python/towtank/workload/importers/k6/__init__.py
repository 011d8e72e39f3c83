"""Import of scripts of k6."""
