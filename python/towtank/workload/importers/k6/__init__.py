"""Scripts of k6."""
