"""Symbolic execution of Python: counterexamples that are real, proofs that are proofs."""
