#!/usr/bin/env python3
"""A test double of the Python tools that write the array layout under `flock`.

    flock_writer.py --inbox PATH [--verb send|mark-read] [--style inplace|rename] [--indent N]
                    [--from NAME] [--count N] [--prefix P] [--pause-ms M] [--tries K]

They lock the file `.lock` beside the inbox, know nothing of the clients' lock directory, and write the
whole array again in their own formatting: one line and ASCII escapes, unless --indent is given. An inbox
that does not parse makes them fail; they do not overwrite it.

Standard output is JSON Lines, each written as soon as it is true:
    {"text":…}    send: written; mark-read: was unread, is marked
    {"failed":…}  send: the inbox did not parse, the message is tried again

Exit: 0 all done, 1 gave up after --tries, 2 wrong usage.
"""

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import pathlib
import sys
import tempfile
import time


def main():
    options = read_options()
    verb = {"send": send, "mark-read": mark_read}[options.verb]
    for turn in range(options.count):
        if turn > 0:
            time.sleep(options.pause_ms / 1000)
        verb(options, f"{options.prefix}{turn}")


def send(options, text):
    for _ in range(options.tries):
        try:
            with locked(options.inbox):
                messages = read_messages(options.inbox)
                messages.append(new_message(options, text))
                write_messages(options, messages)
        except json.JSONDecodeError:
            say({"failed": text})
            time.sleep(0.01)
        else:
            say({"text": text})
            return
    sys.exit(f"{options.inbox} did not parse in {options.tries} tries")


def mark_read(options, _text):
    with locked(options.inbox):
        try:
            messages = read_messages(options.inbox)
        except json.JSONDecodeError:
            return
        unread = [message for message in messages if not message.get("read")]
        if unread:
            for message in unread:
                message["read"] = True
            write_messages(options, messages)
    for message in unread:
        say({"text": message.get("text")})


@contextlib.contextmanager
def locked(inbox):
    lock = inbox.parent / ".lock"
    lock.touch()
    with open(lock, encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def read_messages(inbox):
    try:
        return json.loads(inbox.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []


def write_messages(options, messages):
    data = json.dumps(messages, indent=options.indent)
    if options.style == "inplace":
        options.inbox.write_text(data, encoding="utf-8")
        return
    with tempfile.NamedTemporaryFile("w", dir=options.inbox.parent, suffix=".tmp", delete=False) as temp:
        temp.write(data)
    os.replace(temp.name, options.inbox)


def new_message(options, text):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "from": options.sender,
        "text": text,
        "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "read": False,
        "summary": f"note from {options.sender}",
        "color": "#FF6B6B",
    }


def say(line):
    print(json.dumps(line), flush=True)


def read_options():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--inbox", type=pathlib.Path, required=True)
    parser.add_argument("--verb", choices=["send", "mark-read"], default="send")
    parser.add_argument("--style", choices=["inplace", "rename"], default="inplace")
    parser.add_argument("--indent", type=int)
    parser.add_argument("--from", dest="sender", default="python")
    parser.add_argument("--prefix", default="message ")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--pause-ms", type=int, default=0)
    parser.add_argument("--tries", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
