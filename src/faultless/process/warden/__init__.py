"""The process between a server and the commands it runs; standard library only.

server ── warden ─┬─ supervisor ── the command's whole tree
                  └─ supervisor ── another command's tree

Every supervisor is a child subreaper: whatever its command leaves behind, in any session, becomes its own
child. So "no children left" is the kernel's word that the tree is gone, and nobody else's can be touched.
The warden is a subreaper too, for the trees of supervisors that were killed. Both watch a socket of the
server and clear up at its end, whatever ended it.
"""
