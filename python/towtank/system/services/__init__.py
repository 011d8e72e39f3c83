"""Holds the kinds of services that Towtank can start, with one file for each kind."""
