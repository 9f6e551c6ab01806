// Written by `atm install`; `atm install opencode --uninstall` removes it.
// New mail for the agent goes into the system prompt of the turn; what wants an answer starts another turn, once.
import { spawn } from "node:child_process";

const ARGUMENTS = /* arguments */ [];
// Whether an edit of what somebody else has reserved is refused.
const RESERVATIONS = /* reservations */ false;

/** Asks `atm hook`; whatever goes wrong is no reason to stop the agent. */
function hook(event, session, more) {
  return new Promise((resolve) => {
    const atm = spawn("atm", ["hook", event, "--client", "claude", ...ARGUMENTS], { stdio: ["pipe", "pipe", "ignore"] });
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
    atm.stdin.end(JSON.stringify({ session_id: session, cwd: process.cwd(), ...more }));
  });
}

export const AtmPlugin = async ({ client }) => {
  // What was handed over in this turn: the system prompt is made anew for every step of it.
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

  const look = async (event, session) => {
    if (await isInner(session)) return;
    const text = (await hook(event, session)).hookSpecificOutput?.additionalContext;
    if (text) shown.set(session, [...(shown.get(session) ?? []), text]);
  };

  return {
    "chat.message": async (input) => {
      current = input.sessionID;
      await look("user-prompt-submit", current);
    },
    "tool.execute.before": async (input, output) => {
      if (!RESERVATIONS || !["write", "edit", "multiedit", "patch", "apply_patch"].includes(input.tool)) return;
      const call = { tool_name: input.tool, tool_input: output.args };
      const said = (await hook("pre-tool-use", input.sessionID, call)).hookSpecificOutput;
      if (said?.permissionDecision === "deny") throw new Error(said.permissionDecisionReason);
    },
    "tool.execute.after": async (input) => {
      await look("post-tool-use", input.sessionID);
    },
    "experimental.chat.system.transform": async (input, output) => {
      output.system.push(...(shown.get(input.sessionID ?? current) ?? []));
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return;
      const session = event.properties.sessionID;
      if (await isInner(session)) return;
      shown.delete(session);
      const { reason } = await hook("stop", session, { stop_hook_active: held.delete(session) });
      if (!reason) return;
      held.add(session);
      await client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text: reason }] } });
    },
  };
};
