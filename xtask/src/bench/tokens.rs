//! What mail costs in tokens: a scripted day of five agents, with everything that mail puts before a model, or makes one
//! write, counted. What the agents' own work costs is an assumption, from a published figure (docs/BENCHMARKS.md).

use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::mcp::Client;
use super::measure;
use super::report::{Row, grouped};
use super::world::{self, World};

const LEAD: &str = "team-lead";
const MEMBERS: [&str; 4] = ["bob", "carol", "dave", "eve"];
/// Of each member, a day.
const TASKS: u32 = 6;
/// Conversations that an agent begins, a day.
const SESSIONS: u32 = 3;
/// What an agent's own work brings into its conversations, a day: read, and written.
const OWN_INPUT: u32 = 2_970_000;
const OWN_OUTPUT: u32 = 208_000;
/// Bytes of a token.
const TOKEN: u32 = 4;
/// Of a call, beside its arguments: its name, and the frame around it.
const CALL: u32 = 80;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut day = Day::new(bench)?;
    let mut number = 0;
    for session in 0..SESSIONS {
        day.begin_sessions(session)?;
        for _ in 0..TASKS / SESSIONS {
            for member in MEMBERS {
                number += 1;
                day.task(member, number)?;
            }
        }
    }
    day.ensure_all_is_read()?;
    let agents = 5;
    let (own, output) = (agents * (OWN_INPUT + OWN_OUTPUT), agents * OWN_OUTPUT);
    let (fixed, letters) = (day.fixed / TOKEN, day.mail / TOKEN);
    let mail = fixed + letters;
    let percent = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(part + whole);
    let share = percent(mail, own);
    let measured = format!(
        "{} tokens: {share:.2} % of all; {} are tools and instructions, {} mail and calls ({} letters)",
        grouped(mail.into()),
        grouped(fixed.into()),
        grouped(letters.into()),
        day.letters
    );
    Ok(vec![
        Row::of_words("a day of five agents and 24 tasks: what mail costs in tokens of 4 bytes", measured)
            .beside(
                format!("own work, assumed: {} tokens", grouped(own.into())),
                f64::from(mail) / f64::from(own),
            )
            .aim("≤ 1 %", share <= 1.0),
        Row::of_words(
            "the same, beside what the agents write alone",
            format!("{:.2} %", percent(mail, output)),
        )
        .beside(
            format!("own output, assumed: {} tokens", grouped(output.into())),
            f64::from(mail) / f64::from(output),
        ),
    ])
}

/// A day, and what mail has cost so far, in bytes.
struct Day {
    world: World,
    servers: Vec<(&'static str, Client)>,
    session: u32,
    /// Tools, instructions: the same in each conversation.
    fixed: u32,
    /// What comes in by hooks, and calls with their answers.
    mail: u32,
    letters: usize,
}

impl Day {
    fn new(bench: &Bench) -> Result<Self> {
        let world = bench.world("tokens")?;
        for member in MEMBERS.iter().filter(|name| **name != "bob") {
            measure::run(world.atm(LEAD).args(["member", "add", member]))?;
        }
        Ok(Self { world, servers: Vec::new(), session: 0, fixed: 0, mail: 0, letters: 0 })
    }

    /// Every agent begins a new conversation.
    fn begin_sessions(&mut self, session: u32) -> Result<()> {
        self.session = session;
        self.servers.clear();
        for name in [LEAD].into_iter().chain(MEMBERS) {
            let profile = if name == LEAD { "all" } else { "core" };
            let mut client = Client::of(self.world.atm(name).args(["mcp", "--tools", profile]))?;
            let greeting = client.greet()?;
            self.fixed += size(greeting["instructions"].as_str().context("instructions")?);
            self.fixed += size(&client.list_tools()?);
            self.servers.push((name, client));
            self.hook(name, "SessionStart")?;
        }
        Ok(())
    }

    /// A task from its making to its end: it is assigned and claimed, somebody is asked about it, it is worked on and
    /// reported.
    fn task(&mut self, member: &'static str, number: u32) -> Result<()> {
        let peer = MEMBERS[number as usize % MEMBERS.len()];
        let id = number.to_string();
        self.call(
            LEAD,
            "task_create",
            &json!({ "subject": subject(number), "description": world::text(number) }),
        )?;
        self.call(LEAD, "task_update", &json!({ "task_id": id, "owner": member }))?;
        self.letters += 1;
        self.hook(member, "UserPromptSubmit")?;
        self.call(member, "claim_task", &json!({ "task_id": id, "minutes": 60 }))?;
        // What the last one left, while others worked.
        self.hook(LEAD, "PostToolUse")?;
        if peer != member {
            let question = json!({
                "type": "message", "recipient": peer, "summary": subject(number), "content": world::text(number),
                "ack_by": "30m",
            });
            let asked = self.call(member, "send_message", &question)?;
            self.hook(peer, "PostToolUse")?;
            self.call(peer, "ack", &json!({ "message_id": asked["id"] }))?;
            let answer = json!({
                "type": "message", "reply_to": asked["id"], "summary": subject(number), "content": world::text(number),
            });
            self.call(peer, "send_message", &answer)?;
            self.letters += 3;
            self.hook(member, "PostToolUse")?;
        }
        for progress in [25, 50, 75] {
            self.call(member, "heartbeat", &json!({ "task_id": id, "progress": progress }))?;
            self.letters += 1;
        }
        self.call(member, "task_update", &json!({ "task_id": id, "status": "completed" }))?;
        let report = json!({
            "type": "message", "recipient": LEAD, "summary": subject(number), "content": world::text(number),
        });
        self.call(member, "send_message", &report)?;
        // Its client says that it is idle when its turn ends.
        let idle = json!({ "type": "idle_notification", "from": member, "idleReason": "available" });
        measure::run(self.world.atm(member).args(["send", LEAD, &idle.to_string()]))?;
        self.letters += 3;
        self.hook(member, "Stop")?;
        self.hook(LEAD, "UserPromptSubmit")
    }

    /// The model calls a tool.
    fn call(&mut self, name: &'static str, tool: &str, arguments: &Value) -> Result<Value> {
        let (_, client) = self
            .servers
            .iter_mut()
            .find(|(of, _)| *of == name)
            .with_context(|| format!("{name}'s server"))?;
        let answer = client.call(tool, arguments)?;
        let texts = answer["result"]["content"].as_array().context("an answer has content")?;
        let texts: Vec<&str> = texts.iter().filter_map(|block| block["text"].as_str()).collect();
        self.mail += CALL + size(&arguments.to_string()) + texts.iter().map(|text| size(text)).sum::<u32>();
        serde_json::from_str(texts.first().context("an answer has a text")?).context("and that is JSON")
    }

    /// The client calls a hook, and puts what it says before the model.
    fn hook(&mut self, name: &str, event: &str) -> Result<()> {
        let said =
            json!({ "session_id": format!("{name}-{}", self.session), "cwd": "/", "hook_event_name": event });
        let mut child = self
            .world
            .atm(name)
            .args(["hook", event, "--client", "claude"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the hook")?;
        child.stdin.take().context("the hook has an input")?.write_all(said.to_string().as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "the hook ended with {}", output.status);
        if output.stdout.is_empty() {
            return Ok(());
        }
        let said: Value = serde_json::from_slice(&output.stdout)?;
        let places = [&said["hookSpecificOutput"]["additionalContext"], &said["reason"]];
        let text = places.into_iter().find_map(Value::as_str).with_context(|| format!("no text: {said}"))?;
        self.mail += size(text);
        Ok(())
    }

    /// A day on which mail was not shown would be cheap.
    fn ensure_all_is_read(&mut self) -> Result<()> {
        for name in [LEAD].into_iter().chain(MEMBERS) {
            self.hook(name, "UserPromptSubmit")?;
            self.hook(name, "Stop")?;
            let output = self.world.atm(name).args(["inbox", name, "--unread", "--json"]).output()?;
            let unread: Vec<Value> = serde_json::from_slice(&output.stdout)?;
            ensure!(unread.is_empty(), "{} letters to {name} were never shown", unread.len());
        }
        Ok(())
    }
}

fn subject(number: u32) -> String {
    format!("Step {number} of the parser work")
}

fn size(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
