#!/usr/bin/env python3
"""Starts commands in turn and prints what each costs beside the first.

    pair.py TIMES 'COMMAND ARGUMENT...' 'COMMAND ARGUMENT...' ...

Each is a program by its path, with its arguments. In every second round the
order is reversed. Printed are the median of each, and the medians of its ratio
and of its difference to the first in the same round.
"""

import os
import statistics
import sys
import time

times, commands = int(sys.argv[1]), [c.split() for c in sys.argv[2:]]
taken = [[] for _ in commands]
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
for turn in range(times):
    order = range(len(commands))
    for i in order if turn % 2 else reversed(order):
        begin = time.perf_counter()
        pid = os.posix_spawn(commands[i][0], commands[i], environment, file_actions=actions)
        os.waitpid(pid, 0)
        taken[i].append((time.perf_counter() - begin) * 1e3)
for command, mine in zip(commands, taken):
    ratio = statistics.median(b / a for a, b in zip(taken[0], mine))
    more = statistics.median(b - a for a, b in zip(taken[0], mine))
    print(f"{statistics.median(mine):8.3f} ms  {ratio:6.3f}x  {more:+7.3f} ms  {' '.join(command)}")
