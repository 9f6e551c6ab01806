#!/usr/bin/env python3
"""A test double of a slow Python tool: it holds an exclusive `flock` until standard input ends.

    hold_flock.py --lock PATH

Says {"held":PATH} on standard output once it has the lock. Exit: 0 done, 2 wrong usage.
"""

import argparse
import fcntl
import json
import sys


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--lock", required=True)
    lock = parser.parse_args().lock
    with open(lock, "a", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        print(json.dumps({"held": lock}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
