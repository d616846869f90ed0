"""A process that keeps an interpreter and its imports warm; every run is a fresh fork of it.

server ── parent (target's interpreter, engine loaded) ── supervisor ── the run, a fork

The parent speaks the warden's protocol, so a run in a fork has the deadline, the capture and the clean-up of
any other. The parent never imports anything of the project.
"""

from faultless.process.warm.pool import Pool, Recipe

__all__ = ["Pool", "Recipe"]
