"""Runs the functions of one Python file, inside the interpreter its owner chose; standard library only."""
