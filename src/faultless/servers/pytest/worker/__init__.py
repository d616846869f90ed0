"""Lent to the project's interpreter: this folder goes on PYTHONPATH until its one package is imported.

Nothing else may ever lie in it: a module of that name in the project would be hidden.
"""
