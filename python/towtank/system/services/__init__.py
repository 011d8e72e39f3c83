"""The kinds of services that Towtank can bring up, one file each."""
