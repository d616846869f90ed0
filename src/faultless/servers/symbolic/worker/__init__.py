"""What runs behind the server: the fork server, one supervisor a request, and its sandboxed children.

Standard library and CrossHair only. User code runs in the children and nowhere else.
"""
