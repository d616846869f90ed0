"""Runs in the target's interpreter: loads what runs will need, then becomes each run by a fork.

Standard library only, Python 3.8 or newer. Once loaded it is taken out of `sys.modules` and `sys.path`, so
that a run sees neither.
"""
