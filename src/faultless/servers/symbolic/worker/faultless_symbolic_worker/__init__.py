"""What runs behind the server: one supervisor for each request, and its sandboxed children.

The standard library and CrossHair only. User code runs in the children and nowhere else.
"""
