"""Live sending of measurements to other programs during a run.

One thread follows the files of engine and probe (`following`), combines their lines into seconds (`gathering`), and
encodes the seconds in each format (`prometheus`, `otlp`). For each receiver, another thread sends the encoded requests
(`sender`). Sending can neither delay a run nor make it fail: queues are bounded, and lost points are counted and
reported to the user.

A new format needs a module with an `Encoder`, an entry in `live.FORMS`, and a test.
"""
