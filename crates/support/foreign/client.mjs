// A test double of the agent clients that own the array layout: it locks, reads and writes an inbox the way
// they do, with the same lock library, and it loses mail the way they do.
//
//   node client.mjs --inbox PATH [--verb send|mark-read|drain] [--style inplace|rename] [--gen3]
//                   [--from NAME] [--count N] [--prefix P] [--pause-ms M] [--gap-ms G] [--tries K]
//
// ATM_TEST_NODE_MODULES names the node_modules folder that has proper-lockfile.
//
// Standard output is JSON Lines, each written as soon as it is true:
//   {"text":…}    send: written; mark-read: shown; drain: taken (then it is the whole entry)
//   {"failed":…}  send: no lock this time, the message is tried again
//   {"unseen":…}  mark-read: marked as read without having been shown
//
// Exit: 0 all done, 1 gave up after --tries, 2 wrong usage, 3 our lock was taken from us.

import { randomBytes, randomUUID } from "node:crypto";
import { lstat, readFile, rename, writeFile } from "node:fs/promises";
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const options = readOptions();
const lockfile = loadLockfile();
const lockPath = `${options.inbox}.lock`;

const verbs = { send, "mark-read": markRead, drain };
for (let round = 0; round < options.count; round += 1) {
  if (round > 0) await sleep(options.pauseMs);
  await verbs[options.verb](`${options.prefix}${round}`);
}

async function send(text) {
  await writeFile(options.inbox, "[]", { flag: "wx" }).catch(unless("EEXIST"));
  await locked({ failed: text }, async () => {
    const entries = (await readEntries()) ?? []; // a file that does not parse is overwritten
    entries.push(newEntry(text));
    await writeEntries(entries);
  });
  say({ text });
}

// What is shown comes from the unlocked read; what is marked is whatever is there once the lock is had.
async function markRead() {
  const shown = ((await readEntries()) ?? []).filter(isUnread);
  if (shown.length === 0) return;
  await sleep(options.gapMs);
  const unseen = await locked(null, async () => {
    const entries = await readEntries();
    if (entries === undefined) return [];
    const known = new Set(shown.map((entry) => JSON.stringify(entry)));
    const swallowed = entries.filter((entry) => isUnread(entry) && !known.has(JSON.stringify(entry)));
    for (const entry of entries) if (entry) entry.read = true;
    await writeEntries(entries);
    return swallowed;
  });
  for (const entry of shown) say({ text: entry.text });
  for (const entry of unseen) say({ unseen: entry.text });
}

async function drain() {
  const taken = await locked(null, async () => {
    const entries = await readEntries();
    if (entries === undefined || entries.length === 0) return [];
    await writeEntries([]);
    return entries;
  });
  for (const entry of taken) if (isWellTyped(entry)) say(entry);
}

// The clients' own tries: 11, with gaps of 5 10 20 40 80 and then 100 ms. `onBusy` is said each time they
// run out; a real client gives up there, this one starts over so that a test can count.
async function locked(onBusy, work) {
  for (let attempt = 0; attempt < options.tries; attempt += 1) {
    let release;
    try {
      release = await lockfile.lock(options.inbox, {
        lockfilePath: lockPath,
        realpath: false,
        stale: 10_000,
        retries: { retries: 10, minTimeout: 5, maxTimeout: 100 },
        onCompromised: (error) => quit(3, `the lock was changed by somebody else: ${error.message}`),
      });
    } catch (error) {
      if (error.code !== "ELOCKED") throw error;
      if (onBusy) say(onBusy);
      continue;
    }
    const result = await work();
    await lstat(lockPath).catch(() => quit(3, `somebody removed ${lockPath} while it was held`));
    await release();
    return result;
  }
  quit(1, `no lock at ${lockPath} after ${options.tries} rounds of tries`);
}

async function readEntries() {
  const bytes = await readFile(options.inbox, "utf8").catch(unless("ENOENT"));
  try {
    const value = JSON.parse(bytes);
    return Array.isArray(value) ? value : [];
  } catch {
    return undefined;
  }
}

async function writeEntries(entries) {
  const json = JSON.stringify(entries, null, 2);
  if (options.style === "inplace") {
    await writeFile(options.inbox, json); // truncates first: a reader can see nothing, or half of it
  } else {
    const temp = `${options.inbox}.tmp.${randomBytes(4).toString("hex")}`;
    await writeFile(temp, json);
    await rename(temp, options.inbox);
  }
}

function newEntry(text) {
  const entry = {
    from: options.from,
    text,
    summary: `note from ${options.from}`,
    timestamp: new Date().toISOString(),
    color: "blue",
  };
  if (options.gen3) Object.assign(entry, { msgV: 1, msg_id: randomUUID() });
  if (options.style === "rename") entry.type = "message";
  return { ...entry, read: false };
}

function isUnread(entry) {
  return entry !== null && entry.read !== true;
}

// New clients drop, without a word, what does not look like this.
function isWellTyped(entry) {
  const strings = [entry?.from, entry?.text, entry?.timestamp];
  return strings.every((value) => typeof value === "string") && !(entry.read === null || typeof entry.read === "string");
}

// Synchronous, so that what was said is out even if the process is killed in the next instant.
function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

function unless(code) {
  return (error) => {
    if (error.code !== code) throw error;
  };
}

function quit(code, message) {
  writeSync(2, `client.mjs: ${message}\n`);
  process.exit(code);
}

function loadLockfile() {
  const modules = process.env.ATM_TEST_NODE_MODULES;
  if (!modules) quit(2, "set ATM_TEST_NODE_MODULES to a node_modules folder with proper-lockfile (cargo xtask setup makes one)");
  return createRequire(import.meta.url)(resolve(modules, "proper-lockfile"));
}

function readOptions() {
  const string = (value) => ({ type: "string", default: value });
  try {
    const { values } = parseArgs({
      options: {
        inbox: { type: "string" },
        verb: string("send"),
        style: string("inplace"),
        gen3: { type: "boolean", default: false },
        from: string("client"),
        prefix: string("message "),
        count: string("1"),
        tries: string("20"),
        "pause-ms": string("0"),
        "gap-ms": string("0"),
      },
    });
    if (!values.inbox) throw new Error("--inbox is missing");
    if (!["send", "mark-read", "drain"].includes(values.verb)) throw new Error(`no such verb: ${values.verb}`);
    if (!["inplace", "rename"].includes(values.style)) throw new Error(`no such style: ${values.style}`);
    if (values.gen3 && values.style !== "rename") throw new Error("--gen3 needs --style rename");
    const number = (name) => {
      const value = Number(values[name]);
      if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} needs a number, not ${values[name]}`);
      return value;
    };
    return {
      ...values,
      inbox: resolve(values.inbox),
      count: number("count"),
      tries: number("tries"),
      pauseMs: number("pause-ms"),
      gapMs: number("gap-ms"),
    };
  } catch (error) {
    return quit(2, error.message);
  }
}
