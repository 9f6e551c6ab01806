//! A plain session of the real client in an empty home that `atm install claude` was run in.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::model::{Mark, ScriptedModel};
use super::super::patience::{comes_true, wait_for};
use super::super::request::Speaker;
use super::super::session::{KEY, QUIET, START};
use super::super::terminal::Terminal;
use super::report::Outcome;
use crate::clients::home::{self, Home};
use crate::repo;

/// Mail that comes by push is there in a second or two; this is for busy machines, and for mail that is offered again.
const ARRIVES: Duration = Duration::from_secs(90);
/// The client says by then whether the session has a socket.
const LISTED: Duration = Duration::from_secs(10);
/// A second copy would have come by then.
const SETTLES: Duration = Duration::from_secs(3);

/// What a session is started with.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) version: &'a str,
    pub(super) programs: &'a Path,
    pub(super) atm: &'a Path,
    /// Its home is left where it is.
    pub(super) keep: bool,
}

/// How it is started.
#[derive(Clone, Copy, Default)]
pub(super) struct Manner {
    /// Its tools ask first.
    pub(super) asks: bool,
    /// It bypasses permissions.
    pub(super) bypasses: bool,
    /// The permission mode that it is started in, if not by the settings.
    pub(super) mode: Option<&'static str>,
    /// Its user took our server out again.
    pub(super) hooks_alone: bool,
}

pub(super) struct Scene {
    pub(super) model: ScriptedModel,
    pub(super) terminal: Terminal,
    variables: Vec<(&'static str, OsString)>,
    words: Vec<OsString>,
    name: String,
    pushes: bool,
    /// What the model was sent before does not count.
    counts_from: Mark,
    pub(super) home: Home,
}

/// A message on its way.
pub(super) struct Sent {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) at: Instant,
}

impl Scene {
    pub(super) fn start(start: &Start<'_>, manner: Manner) -> Result<Self> {
        let mut home = Home::without_team(start.atm, start.programs)?;
        if start.keep {
            eprintln!("clients: session {}: in {}", start.version, home.keep().display());
        }
        let said = home::run(home.command("claude").arg("--version"))?;
        ensure!(said.starts_with(start.version), "says that it is {}", said.trim());
        let model = ScriptedModel::start(&home.file("work"))?;
        prepare(&home, start.version, manner)?;
        home.atm_plain(&["install", "claude"])?;
        if manner.hooks_alone {
            home::run(home.command("claude").args(["mcp", "remove", "atm", "--scope", "user"]))?;
        }
        let mut variables = vec![
            ("HOME", home.folder().into()),
            ("PATH", repo::path_with([start.atm, start.programs])?),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("ANTHROPIC_BASE_URL", model.url.clone().into()),
            ("ANTHROPIC_API_KEY", KEY.into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            // Nobody listens there: whatever is not on this machine cannot be reached.
            ("HTTPS_PROXY", "http://127.0.0.1:9".into()),
            ("NO_PROXY", "127.0.0.1".into()),
        ];
        let mut words = vec![start.programs.join("claude").into_os_string()];
        if manner.bypasses {
            variables.push(("IS_SANDBOX", "1".into()));
            words.push("--dangerously-skip-permissions".into());
        }
        if let Some(mode) = manner.mode {
            words.extend(["--permission-mode".into(), mode.into()]);
        }
        let name = format!("{}-session-{}", start.version.replace('.', "-"), unique());
        let first = [words.as_slice(), &["Good morning.".into()]].concat();
        let terminal = Terminal::start(&name, &home.file("work"), &variables, &first)?;
        let mut scene = Self {
            model,
            terminal,
            variables,
            words,
            name,
            pushes: false,
            counts_from: Mark::default(),
            home,
        };
        scene.await_rest().with_context(|| scene.terminal.screen())?;
        // Our server makes nothing before the first letter: that it can push is known by the socket that it is handed.
        scene.pushes = !manner.hooks_alone && comes_true(LISTED, || scene.has_socket())?;
        Ok(scene)
    }

    /// Starts the client once more, in its last conversation.
    pub(super) fn resume(&mut self) -> Result<()> {
        let name = format!("{}-{}", self.name, unique());
        let words = [self.words.as_slice(), &["--continue".into()]].concat();
        self.terminal = Terminal::start(&name, &self.home.file("work"), &self.variables, &words)?;
        Ok(())
    }

    /// Counts only what the model is sent from now on.
    pub(super) fn count_anew(&mut self) {
        self.counts_from = self.model.mark();
    }

    /// Waits until the client is between two turns.
    pub(super) fn await_rest(&self) -> Result<()> {
        wait_for("the session rests", START, || {
            ensure!(self.terminal.is_running(), "the client ended: {}", self.terminal.screen());
            Ok(self.model.is_quiet(Speaker::Main, QUIET))
        })
    }

    pub(super) fn send(&self, text: &str) -> Result<Sent> {
        let at = Instant::now();
        let sent = self.home.atm_plain(&["send", "work", text])?;
        let id = sent["id"].as_str().context("a message has an id")?.to_owned();
        Ok(Sent { id, text: text.to_owned(), at })
    }

    pub(super) fn shown(&self, words: &str) -> usize {
        self.model.count_since(&self.counts_from, Speaker::Main, words)
    }

    /// Follows messages to the model and through atm's own account of them; `from` is when each could arrive, if that is not
    /// when it was sent.
    pub(super) fn account(&self, sent: &[Sent], from: Option<Instant>) -> Result<Outcome> {
        let mut outcome = Outcome { sent: sent.len(), ..Outcome::default() };
        for message in sent {
            let arrived = comes_true(ARRIVES, || Ok(self.shown(&message.text) > 0))?;
            if arrived {
                outcome.arrived += 1;
                outcome.times.push(from.unwrap_or(message.at).elapsed());
            }
        }
        for message in sent {
            let mut stages = String::new();
            comes_true(ARRIVES, || {
                let track = self.home.atm_plain(&["track", &message.id])?;
                stages = track["stages"].to_string();
                Ok(track["stage"] == "seen")
            })?;
            if stages.contains("in the recipient's conversation") {
                outcome.proved += 1;
            } else if stages.contains("handed over by atm hook") {
                outcome.by_hook += 1;
            }
        }
        std::thread::sleep(SETTLES);
        outcome.doubled = sent.iter().filter(|message| self.shown(&message.text) > 1).count();
        Ok(outcome)
    }

    /// Whether the session has a socket, by its client's registry.
    pub(super) fn has_socket(&self) -> Result<bool> {
        Ok(self.registered()?.iter().any(|entry| entry["messagingSocketPath"].is_string()))
    }

    /// What its client's registry says that it does.
    pub(super) fn registered_status(&self) -> Result<String> {
        let entries = self.registered()?;
        Ok(entries.iter().find_map(|entry| entry["status"].as_str()).unwrap_or_default().to_owned())
    }

    pub(super) fn registered(&self) -> Result<Vec<Value>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.home.file(".claude/sessions"))? {
            let path = entry?.path();
            // The registry alone: what lies beside it is not ours to read.
            if path.extension().is_some_and(|extension| extension == "json") {
                entries.push(serde_json::from_str(&fs::read_to_string(path)?).unwrap_or_default());
            }
        }
        Ok(entries)
    }

    /// Whether the session handed our server a socket to push into.
    pub(super) fn pushes(&self) -> bool {
        self.pushes
    }
}

fn unique() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What the client asks its user at the first start, answered.
fn prepare(home: &Home, version: &str, manner: Manner) -> Result<()> {
    let work = home.file("work").canonicalize()?;
    let trusted = json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    let answers = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": version, "theme": "dark",
        "hasSeenAutoDefaultNudge": true, "hasSeenAutoDefaultNotice": true, "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
        "projects": { work.to_string_lossy(): trusted },
    });
    let allowed = if manner.asks { json!([]) } else { json!(["Bash", "ListAgents", "SendMessage"]) };
    let mode = if manner.asks { "default" } else { "acceptEdits" };
    let mut permissions = json!({ "defaultMode": mode, "allow": allowed });
    if manner.mode != Some("auto") {
        permissions["disableAutoMode"] = "disable".into();
    }
    let settings = json!({
        "permissions": permissions, "promptSuggestionEnabled": false, "skipDangerousModePermissionPrompt": true,
    });
    fs::create_dir_all(home.file(".claude"))?;
    fs::write(home.file(".claude.json"), answers.to_string())?;
    fs::write(home.file(".claude/settings.json"), settings.to_string())?;
    Ok(())
}
