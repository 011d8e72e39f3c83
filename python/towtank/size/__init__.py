"""Sizing: machines and their ratings, what carries a load, rules of thumb."""
