// A test double of the agent clients that own the task list: it makes and changes tasks the way they do, with the same
// lock library, and drops the keys that they do not know.
//
//   node tasks.mjs --folder PATH [--verb create|count|delete] [--id N] [--count N] [--prefix P] [--old]
//
// create makes tasks, count adds one to `metadata.counter` of task --id, delete removes it. --old: a client that does
// not know `.highwatermark`. ATM_TEST_NODE_MODULES names the node_modules folder that has proper-lockfile.
//
// Standard output is JSON Lines, each written as soon as it is true: {"id":…,"subject":…} made, {"counted":…}.
// Exit: 0 all done, 1 no lock, 2 wrong usage, 3 our lock was taken from us.

import { readFile, readdir, unlink, writeFile } from "node:fs/promises";
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const KNOWN = ["id", "subject", "description", "activeForm", "status", "blocks", "blockedBy", "owner", "metadata"];

const options = readOptions();
const lockfile = createRequire(import.meta.url)(resolve(process.env.ATM_TEST_NODE_MODULES ?? "", "proper-lockfile"));
const verbs = { create, count, delete: remove };
for (let round = 0; round < options.count; round += 1) await verbs[options.verb](`${options.prefix}${round}`);

async function create(subject) {
  const list = join(options.folder, ".lock");
  await writeFile(list, "", { flag: "wx" }).catch(unless("EEXIST"));
  const id = await locked(list, async () => {
    const id = String((await highest()) + 1);
    const task = { id, subject, description: "", status: "pending", blocks: [], blockedBy: [] };
    await writeFile(file(id), JSON.stringify(task, null, 2));
    return id;
  });
  say({ id, subject });
}

async function count(subject) {
  const counted = await locked(file(options.id), async () => {
    const task = JSON.parse(await readFile(file(options.id), "utf8"));
    const known = Object.fromEntries(Object.entries(task).filter(([key]) => KNOWN.includes(key)));
    const counter = (task.metadata?.counter ?? 0) + 1;
    const changed = { ...known, activeForm: subject, metadata: { ...task.metadata, counter } };
    await writeFile(file(options.id), JSON.stringify(changed, null, 2)); // in place: a reader can see half of it
    return counter;
  });
  say({ counted });
}

async function remove() {
  if (!options.old && Number(options.id) > (await marked())) await writeFile(mark(), String(options.id));
  await unlink(file(options.id));
  say({ id: options.id });
}

async function highest() {
  const names = (await readdir(options.folder)).filter((name) => name.endsWith(".json"));
  const numbers = names.map((name) => Number.parseInt(name, 10)).filter((number) => !Number.isNaN(number));
  return Math.max(0, ...numbers, options.old ? 0 : await marked());
}

async function marked() {
  const number = Number.parseInt((await readFile(mark(), "utf8").catch(unless("ENOENT"))) ?? "", 10);
  return Number.isNaN(number) ? 0 : number;
}

function mark() {
  return join(options.folder, ".highwatermark");
}

function file(id) {
  return join(options.folder, `${id}.json`);
}

// The clients' own patience with tasks: 30 tries.
async function locked(path, work) {
  const release = await lockfile
    .lock(path, {
      realpath: false,
      stale: 10_000,
      retries: { retries: 30, minTimeout: 5, maxTimeout: 100 },
      onCompromised: (error) => quit(3, `the lock was changed by somebody else: ${error.message}`),
    })
    .catch((error) => quit(1, `${path}: ${error.message}`));
  const result = await work();
  await release();
  return result;
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
  writeSync(2, `tasks.mjs: ${message}\n`);
  process.exit(code);
}

function readOptions() {
  const string = (value) => ({ type: "string", default: value });
  const { values } = parseArgs({
    options: {
      folder: { type: "string" },
      verb: string("create"),
      id: string("1"),
      count: string("1"),
      prefix: string("task "),
      old: { type: "boolean", default: false },
    },
  });
  if (!values.folder || !["create", "count", "delete"].includes(values.verb)) quit(2, "see the head of the script");
  return { ...values, folder: resolve(values.folder), count: Number(values.count) };
}
