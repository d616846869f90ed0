"""A small interpreter that spawns a script and nothing else: what a call of a script cannot be quicker than.

For every line on standard input, a number of runs, it answers with the seconds one took.
"""

import os
import subprocess
import sys
import time

script = sys.argv[1]
env = {"ARG_WHO": "you", "PATH": os.environ["PATH"]}
for line in sys.stdin:
    runs = int(line)
    started = time.perf_counter()
    for _ in range(runs):
        subprocess.run([script], input=b'{"who":"you"}', env=env, capture_output=True, check=True)
    print((time.perf_counter() - started) / runs, flush=True)
