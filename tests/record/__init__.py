"""A record of what the library does: fits, signatures, transcripts of the command line, refusals and saved files.

Nothing in it says that a number is right. It says that a number was this one before a change.
"""
