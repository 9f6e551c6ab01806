"""Test doubles of agents that edit one working tree: real processes, each with the program's name of a client, which call the
client's real hook before every edit and edit only what they have reserved, by reading, changing and writing the whole file.

--atm PATH --root DIR --state DIR --home DIR    whom they call, and where
--tree DIR --team TEAM                          where they edit; the members agent-0, agent-1, ... are there
--agents N --files N --edits N                  how many of each; edits are of each agent
--deaths N                                      so many agents die at their last edit, holding what they reserved

At the end one line: how many edits there were, how many were lost, how many were refused, and how many of those while
nobody held the path.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

# The program, the hook that it calls, the event's name and the tool with which it edits.
CLIENTS = [
    ("claude", "claude", "PreToolUse", "Edit"),
    ("codex", "codex", "PreToolUse", "apply_patch"),
    ("gemini", "gemini", "BeforeTool", "replace"),
    ("opencode", "claude", "pre-tool-use", "write"),
]
# Nobody waits as long for a path.
PATIENCE = 300


def tool_input(tool, path):
    if tool == "apply_patch":
        return {"command": f"*** Begin Patch\n*** Update File: {path}\n@@\n+x\n*** End Patch\n"}
    key = "filePath" if tool == "write" else "file_path"
    return {key: path}


def holder_in(answer):
    """Whom a refusal names; None if it is none."""
    said = answer.get("hookSpecificOutput", {})
    if said.get("permissionDecision") == "deny":
        reason = said["permissionDecisionReason"]
    elif answer.get("decision") == "deny":
        reason = answer["reason"]
    else:
        return None
    return reason.split(" is reserved by ")[1].split("@")[0]


class Agent:
    def __init__(self, args):
        self.args = args
        self.client = CLIENTS[args.number % len(CLIENTS)]
        self.name = f"agent-{args.number}"
        self.random = random.Random(args.number)
        self.journal = open(args.journal, "w", buffering=1)

    def note(self, **what):
        self.journal.write(json.dumps(what) + "\n")

    def atm(self, *words, **more):
        command = [self.args.atm, "--as", self.name, "-t", self.args.team, *words]
        return subprocess.run(command, cwd=self.args.tree, capture_output=True, text=True, **more)

    def hook(self, path):
        """Whom the hook names as the holder; None if the edit may be made."""
        _, client, event, tool = self.client
        call = {"session_id": self.name, "cwd": self.args.tree, "hook_event_name": event, "tool_name": tool}
        call["tool_input"] = tool_input(tool, path)
        begun = time.monotonic()
        said = self.atm("hook", event, "--client", client, input=json.dumps(call))
        ended = time.monotonic()
        if said.returncode != 0 or said.stderr:
            raise RuntimeError(f"the hook failed: {said}")
        holder = holder_in(json.loads(said.stdout)) if said.stdout else None
        self.note(kind="asked", path=path, begun=begun, ended=ended, refused=holder)
        return holder

    def reserve(self, path):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            begun = time.monotonic()
            said = self.atm("reserve", path, "--for", "1h", "--reason", "counting", "-q")
            if said.returncode == 0:
                return begun
            if said.returncode != 4:
                raise RuntimeError(f"it cannot be reserved: {said}")
            time.sleep(self.random.uniform(0.05, 0.4))
        raise RuntimeError(f"{self.name} never got {path}")

    def edit(self, turn, dies):
        path = f"src/{self.random.randrange(self.args.files)}.txt"
        # As an agent that does not know of reservations would: asked, and not edited, since nobody may hold it.
        self.hook(path)
        begun = self.reserve(path)
        if self.hook(path) is not None:
            self.note(kind="kept out", path=path)
        file = os.path.join(self.args.tree, path)
        with open(file) as before:
            text = before.read()
        time.sleep(0.01)
        with open(file, "w") as after:
            after.write(f"{text}{self.name} {turn}\n")
        self.note(kind="edited", path=path, line=f"{self.name} {turn}")
        if dies:
            self.note(kind="held", path=path, begun=begun, ended=None)
            os.kill(os.getpid(), signal.SIGKILL)
        said = self.atm("release", path, "-q")
        if said.returncode != 0:
            raise RuntimeError(f"it cannot be released: {said}")
        self.note(kind="held", path=path, begun=begun, ended=time.monotonic())

    def run(self):
        for turn in range(self.args.edits):
            self.edit(turn, dies=turn == self.args.edits - 1 and self.args.number < self.args.deaths)


def start(args, folder, number):
    """Runs one agent to its end; gives its journal, with the time of its end."""
    program = os.path.join(folder, CLIENTS[number % len(CLIENTS)][0])
    journal = os.path.join(folder, f"journal-{number}")
    words = [sys.executable, program, "--number", str(number), "--journal", journal, *sys.argv[1:]]
    env = {"PATH": os.environ.get("PATH", ""), "HOME": args.home, "ATM_ROOT": args.root, "ATM_STATE": args.state}
    ran = subprocess.run(words, env=env, capture_output=True, text=True)
    ended = time.monotonic()
    died = number < args.deaths
    if ran.returncode != (-signal.SIGKILL if died else 0):
        raise RuntimeError(f"agent {number}: {ran.stderr}")
    with open(journal) as lines:
        notes = [json.loads(line) for line in lines]
    for note in notes:
        if note.get("ended", 0) is None:
            note["ended"] = ended
    return notes


def judge(args, journals):
    held, notes = {}, []
    for number, journal in enumerate(journals):
        notes += journal
        for note in journal:
            if note["kind"] == "held":
                held.setdefault((f"agent-{number}", note["path"]), []).append((note["begun"], note["ended"]))
    asked = [note for note in notes if note["kind"] == "asked"]
    refused = [note for note in asked if note["refused"]]

    def was_held(note):
        spans = held.get((note["refused"], note["path"]), [])
        return any(begun <= note["ended"] and note["begun"] <= ended for begun, ended in spans)

    edited = sorted(note["path"] + " " + note["line"] for note in notes if note["kind"] == "edited")
    there = []
    for number in range(args.files):
        with open(os.path.join(args.tree, f"src/{number}.txt")) as lines:
            there += [f"src/{number}.txt {line.strip()}" for line in lines]
    spent = sorted((note["ended"] - note["begun"]) * 1000 for note in asked)
    return {
        "edits": len(edited),
        "lost": len(set(edited) - set(there)),
        "doubled": len(there) - len(set(there)),
        "asked": len(asked),
        "refused": len(refused),
        "refused_without_holder": sum(not was_held(note) for note in refused),
        "holders_kept_out": sum(note["kind"] == "kept out" for note in notes),
        "hook_ms_median": round(spent[len(spent) // 2], 1),
        "hook_ms_p95": round(spent[len(spent) * 95 // 100], 1),
    }


def main():
    parser = argparse.ArgumentParser()
    for name in ["atm", "root", "state", "home", "tree", "team", "journal"]:
        parser.add_argument(f"--{name}")
    for name in ["agents", "files", "edits", "deaths", "number"]:
        parser.add_argument(f"--{name}", type=int, default=None if name == "number" else 0)
    args = parser.parse_args()
    if args.number is not None:
        return Agent(args).run()
    os.makedirs(os.path.join(args.tree, "src"), exist_ok=True)
    for number in range(args.files):
        open(os.path.join(args.tree, f"src/{number}.txt"), "w").close()
    with tempfile.TemporaryDirectory() as folder:
        for program, *_ in CLIENTS:
            os.symlink(os.path.abspath(__file__), os.path.join(folder, program))
        journals, failures = [None] * args.agents, []

        def run(number):
            try:
                journals[number] = start(args, folder, number)
            except Exception as failure:
                failures.append(str(failure))

        threads = [threading.Thread(target=run, args=[number]) for number in range(args.agents)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            sys.exit("\n".join(failures))
        print(json.dumps(judge(args, journals)))


main()
