//! `atm spawn` and `atm respawn`

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use atm_clients::AgentClient;
use atm_office::people::members::MemberPlan;
use atm_panes::{Place, Server, SpawnPlan, Started};
use atm_wire::{Address, TeamName};
use clap::{Args, ValueEnum};

use crate::client_arg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::settings::Origin;

#[derive(Debug, Args)]
#[command(after_help = "\
The member's pane is on the tmux server that you are in, else on one of atm's own (`atm attach` shows it).
It gets ATM_AS, ATM_TEAM, ATM_ROOT and ATM_STATE, so that `atm read` and `atm send` are its own.
Its prompt is the first message in its inbox. Claude Code also gets the flags of a separate-process member.")]
pub(crate) struct Spawn {
    /// The name: lower-case letters, digits and hyphens, 3 to 64 characters
    name: String,
    #[command(flatten)]
    how: How,
    /// What kind of agent it is [default: general-purpose]
    #[arg(long = "type", value_name = "TYPE")]
    agent_type: Option<String>,
    /// blue, green, yellow, magenta, cyan, red, … or #rrggbb [default: the next in turn]
    #[arg(long = "member-color", value_name = "COLOR")]
    member_color: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The same name inherits the inbox. Unread mail of before is tagged, so that it is acted on; shutdown requests of
before are set aside. What is not said anew is as it was: command, client, model, permission mode, prompt, folder.
The prompt of before is told again only if no unread mail waits.")]
pub(crate) struct Respawn {
    /// Who
    name: Address,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, Args)]
struct How {
    /// What it is told first
    #[arg(long)]
    prompt: Option<String>,
    /// The agent client [default: by the command's name]
    #[arg(long, value_parser = client_arg::which(|profile| profile.launch.is_some()))]
    client: Option<AgentClient>,
    /// haiku, sonnet, opus, or a model's full id
    #[arg(long)]
    model: Option<String>,
    /// Where it works [default: here; of one that returns, where it did]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// It needs the lead's leave for its plans
    #[arg(long)]
    plan_mode: bool,
    /// What it may do without asking, in its client's own word; for Claude Code: acceptEdits, plan, …
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// Its client runs without a terminal UI: it does what its mail asks for, and ends. `respawn` starts it again
    #[arg(long)]
    headless: bool,
    /// Where its pane goes [default: window]
    #[arg(long, value_enum)]
    place: Option<PlaceArg>,
    /// What it runs in: tmux
    #[arg(long, value_name = "BACKEND", default_value = "tmux")]
    backend: String,
    /// The tmux server's socket [default: the server that you are in, else atm's own]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// What to run [default: the client's own program]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlaceArg {
    /// A window of its own
    Window,
    /// A part of your window, or of the team's
    Split,
}

impl Spawn {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let cwd = self.how.cwd.clone().unwrap_or_else(|| context.cwd.clone());
        let mut plan = self.how.plan(context, &team, &self.name)?;
        plan.member.agent_type = self.agent_type;
        plan.member.color = self.member_color;
        plan.member.cwd = Some(context.cwd.join(cwd));
        let started = atm_panes::spawn(&mut context.office.team(&team)?, &plan)?;
        tell(context, &started, "started")
    }
}

impl Respawn {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, name) = context.whom(self.name)?;
        let plan = self.how.plan(context, &team, name.as_str())?;
        let started = atm_panes::respawn(&mut context.office.team(&team)?, &plan)?;
        tell(context, &started, "started again")
    }
}

impl How {
    fn plan(self, context: &Context, team: &TeamName, name: &str) -> Result<SpawnPlan, Failure> {
        atm_panes::check_backend(&self.backend)?;
        Ok(SpawnPlan {
            member: MemberPlan {
                prompt: self.prompt,
                model: self.model,
                cwd: self.cwd.map(|cwd| context.cwd.join(cwd)),
                plan_mode: self.plan_mode.then_some(true),
                permission_mode: self.permission_mode,
                ..MemberPlan::new(name)
            },
            client: self.client,
            command: self.command,
            place: self.place.map(|place| match place {
                PlaceArg::Window => Place::Window,
                PlaceArg::Split => Place::Split,
            }),
            server: self.socket.map(|socket| Server::Socket(context.cwd.join(socket))).or_else(here),
            headless: self.headless.then_some(true),
            env: variables(context),
            on_exit: notice(context, team),
        })
    }
}

/// The tmux server that we are in.
pub(super) fn here() -> Option<Server> {
    Server::here(&env::var_os("TMUX")?, env::var("TMUX_PANE").ok().as_deref())
}

/// What it needs of our environment: where programs are, and which tree is meant.
pub(super) fn variables(context: &Context) -> Vec<(String, OsString)> {
    let path = env::var_os("PATH").map(|path| ("PATH".to_owned(), path));
    let root = &context.settings.root;
    let tree = (root.origin != Origin::Default)
        .then(|| ("CLAUDE_CONFIG_DIR".to_owned(), context.office.root().path().into()));
    path.into_iter().chain(tree).collect()
}

/// What tmux runs when the member has ended, so that it is noticed at once: any look at the members does.
fn notice(context: &Context, team: &TeamName) -> Vec<OsString> {
    let mut words = look_at_members(context);
    if !words.is_empty() {
        words.extend(["--team".into(), team.as_str().into()]);
    }
    words
}

/// A look at the members of the team whose name is added.
pub(super) fn look_at_members(context: &Context) -> Vec<OsString> {
    let Ok(atm) = env::current_exe() else { return Vec::new() };
    let words: [OsString; 6] = [
        atm.into(),
        "--root".into(),
        context.office.root().path().into(),
        "--state".into(),
        context.office.state().path().into(),
        "members".into(),
    ];
    words.into()
}

fn tell(context: &mut Context, started: &Started, what: &str) -> Result<i32, Failure> {
    let out = &mut context.out;
    for warning in &started.warnings {
        out.warn(warning)?;
    }
    if out.json {
        out.document(started)?;
        return Ok(0);
    }
    let Started { name, team, pane, pid, offered, .. } = started;
    out.note(format!("{what} {name}@{team} in pane {pane}, process {pid}"))?;
    if *offered > 0 {
        out.note(format!("unread mail of before: {offered}, tagged as pending"))?;
    }
    let socket = safe::line(&started.socket.display().to_string()).into_owned();
    out.note(format!("look: atm peek {name}, atm attach {name}, or tmux -S {socket} attach"))?;
    Ok(0)
}
