"""What runs in other processes and other interpreters: standard library only, Python 3.8 or newer.

It is loaded there as the package `faultless_target`, without a change to `sys.path`, and knows nothing
else of faultless.

    server ── warden ─┬─ supervisor ── the command's whole tree
                      └─ supervisor ── another command's tree

    server ── warm parent (target's interpreter, engine loaded) ── supervisor ── the run, a fork of the parent

Every supervisor is a child subreaper: whatever its command leaves behind, in any session, becomes its own
child. So "no children left" is the kernel's word that the tree is gone, and nobody else's can be touched.
The warden is a subreaper too, for the trees of supervisors that were killed. Both watch a socket of the
server and clear up at its end, whatever ended it. A warm parent is a warden that forks itself into its runs.

`supervisor` is where a deadline ends a command and its tree is killed.
"""
