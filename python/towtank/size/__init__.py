"""Sizing: machines and their ratings, hardware for a load, rules of thumb."""
