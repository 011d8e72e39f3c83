"""Python API: the public names of the package `towtank`, one module for each kind of result.

The API calls the same functions as the command line, and converts the resulting documents into typed results.
"""
