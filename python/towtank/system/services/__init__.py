"""The kinds of services that Towtank can start, one file each."""
