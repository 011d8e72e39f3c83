"""Contains the kinds of services that Towtank can start, one module for each kind."""
