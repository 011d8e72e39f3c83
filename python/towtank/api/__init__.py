"""The Python API: the names of the package `towtank`, one module for each kind of result.

It is as thin as the command line: it calls the same functions, and makes typed results of their documents.
"""
