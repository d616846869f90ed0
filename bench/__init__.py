"""Side-by-side figures: `python -m bench` runs all of them, `python -m bench kit` one."""
