"""Models of a measured system: fitted to measurements, solved, and used to predict what was not measured."""
