// Written by `atm install`; `atm install opencode --uninstall` removes it.
// New mail for the agent becomes a part of the prompt, or of what a tool gave back, so that the conversation keeps it; what
// wants an answer starts another turn, once.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";

const ARGUMENTS = /* arguments */ [];
// Whether an edit of what somebody else has reserved is refused.
const RESERVATIONS = /* reservations */ false;
// Whether mail starts a turn in a session that waits for its user's words.
const WAKES = /* wakes */ false;

/** Asks `atm hook`; whatever goes wrong is no reason to stop the agent. */
function hook(event, session, cwd, more) {
  return new Promise((resolve) => {
    const atm = spawn("atm", ["hook", event, "--client", "opencode", ...ARGUMENTS], { stdio: ["pipe", "pipe", "ignore"] });
    let said = "";
    atm.on("error", () => resolve({}));
    atm.stdin.on("error", () => {});
    atm.stdout.on("data", (bytes) => (said += bytes));
    atm.on("close", () => {
      try {
        resolve(said ? JSON.parse(said) : {});
      } catch {
        resolve({});
      }
    });
    atm.stdin.end(JSON.stringify({ session_id: session, cwd, ...more }));
  });
}

// The process that waits for a session's mail, while that is idle.
const waits = new Map();

function stopWaiting(session) {
  const atm = waits.get(session);
  waits.delete(session);
  atm?.kill();
}

/** Waits for mail, and gives `told` the line for it, once. It keeps nobody from ending. */
function wait(session, cwd, told) {
  if (!WAKES) return;
  stopWaiting(session);
  const atm = spawn("atm", ["wake", "wait", ...ARGUMENTS], { stdio: ["pipe", "ignore", "pipe"] });
  waits.set(session, atm);
  let line = "";
  atm.on("error", () => {});
  atm.stdin.on("error", () => {});
  atm.stderr.on("data", (bytes) => (line += bytes));
  atm.on("close", (code) => {
    if (waits.get(session) !== atm) return;
    waits.delete(session);
    if (code === 2 && line.trim()) told(line.trim());
  });
  atm.stdin.end(JSON.stringify({ session_id: session, cwd }));
  for (const handle of [atm, atm.stdin, atm.stderr]) handle.unref?.();
}

/** A part's id: as the client makes them, the time first. */
function partId(parts) {
  const last = parts.at(-1)?.id;
  const time = last?.slice(0, 16) ?? `prt_${(BigInt(Date.now()) * 4096n).toString(16).slice(-12)}`;
  return time + randomUUID().replaceAll("-", "").slice(0, 14);
}

export const AtmPlugin = async ({ client, directory }) => {
  // Where tools of these sessions work. The process may be a server's, which serves several folders and was started in another;
  // and a session that was taken up here has another one in its own notes, where it was made.
  const folder = directory || process.cwd();
  // What found no other place: it is in the instructions until the turn ends, which are made anew for every step of it.
  const shown = new Map();
  const held = new Set();
  let current;

  // An agent inside the session does not get the session's mail.
  const inner = new Map();
  const isInner = async (session) => {
    if (!inner.has(session)) {
      const found = await client.session.get({ path: { id: session } }).catch(() => undefined);
      inner.set(session, Boolean(found?.data?.parentID));
    }
    return inner.get(session);
  };

  const look = async (event, session, show) => {
    if (await isInner(session)) return;
    const text = (await hook(event, session, folder)).hookSpecificOutput?.additionalContext;
    if (!text || show(text)) return;
    shown.set(session, [...(shown.get(session) ?? []), text]);
  };

  return {
    "chat.message": async (input, output) => {
      current = input.sessionID;
      stopWaiting(current);
      await look("user-prompt-submit", current, (text) => {
        const { message, parts } = output ?? {};
        if (!message?.id || !Array.isArray(parts)) return false;
        const ids = { id: partId(parts), sessionID: current, messageID: message.id };
        return parts.push({ ...ids, type: "text", text, synthetic: true });
      });
    },
    "tool.execute.before": async (input, output) => {
      if (!RESERVATIONS || !["write", "edit", "multiedit", "patch", "apply_patch"].includes(input.tool)) return;
      const call = { tool_name: input.tool, tool_input: output.args };
      const said = (await hook("pre-tool-use", input.sessionID, folder, call)).hookSpecificOutput;
      if (said?.permissionDecision === "deny") throw new Error(said.permissionDecisionReason);
    },
    "tool.execute.after": async (input, output) => {
      await look("post-tool-use", input.sessionID, (text) => {
        if (typeof output?.output === "string") return (output.output += `\n\n${text}`);
        return Array.isArray(output?.content) && output.content.push({ type: "text", text });
      });
    },
    "experimental.chat.system.transform": async (input, output) => {
      output.system.push(...(shown.get(input.sessionID ?? current) ?? []));
    },
    event: async ({ event }) => {
      if (!["session.idle", "permission.asked", "permission.replied"].includes(event.type)) return;
      const session = event.properties.sessionID;
      if (await isInner(session)) return;
      if (event.type === "permission.asked") return void (await hook("permission-request", session, folder));
      if (event.type === "permission.replied") {
        return void (await hook("permission-request", session, folder, { notification_type: "permission_answered" }));
      }
      shown.delete(session);
      const prompt = (text) =>
        client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text }] } });
      const { reason } = await hook("stop", session, folder, { stop_hook_active: held.delete(session) });
      if (!reason) return wait(session, folder, (line) => prompt(line).catch(() => {}));
      held.add(session);
      await prompt(reason);
    },
  };
};
