"""Python API: the names of the package `towtank`, one module for each kind of result.

The API is as thin as the command line: it calls the same functions, and converts their documents into typed results.
"""
