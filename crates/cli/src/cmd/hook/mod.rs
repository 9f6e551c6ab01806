//! `atm hook`: called by agents' clients at certain moments.
//!
//! Whatever goes wrong here is ours: the client gets nothing on stdout, exit 0, and the reason is in `hook.log`.

mod guard;
mod input;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_clients::claude::socket::{SESSION_VARIABLE, SOCKET_VARIABLE};
use atm_clients::conversations::ConversationFormat;
use atm_clients::hook::{self, HookEvent, HookInput};
use atm_clients::{AgentClient, Folders};
use atm_office::Office;
use atm_office::mail::hook::{Caller, Moment, Whose};
use atm_office::mail::push::Push;
use atm_office::sessions::Arrival;
use atm_store::{LockTimes, State, bounded_log};
use atm_wire::brief::OPENING;
use clap::Args;
use etcetera::base_strategy::{BaseStrategy, Xdg};

use crate::args::Global;
use crate::client_arg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::brief::{Brief, Budget, brief};
use crate::output::{outlet, safe};

/// Clients give hooks ten seconds.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// session-start, user-prompt-submit, pre-tool-use, post-tool-use, stop, teammate-idle, session-end; in any client's spelling
    /// [default: what stdin says]
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// Whose hook this is [default: told from stdin]
    #[arg(long, value_parser = client_arg::which(|profile| profile.hooks.is_some()))]
    client: Option<AgentClient>,
    /// The most that it puts before the model, in tokens [default: context.budget of the settings, 2000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<Budget>,
}

impl Hook {
    /// Within a context that could be made.
    pub(crate) fn run(&self, context: &mut Context) -> i32 {
        self.serve(context).unwrap_or_else(|why| {
            context.out.discard();
            log(context.office.state(), self.event.as_deref(), &why);
            0
        })
    }

    fn serve(&self, context: &mut Context) -> Result<i32, String> {
        let input = input::read()?;
        let said = self.event.as_deref().or(input.hook_event_name.as_deref()).unwrap_or_default();
        let event = HookEvent::parse(said).ok_or_else(|| format!("no such event: {said:?}"))?;
        let client = self.client.unwrap_or_else(|| hook::sender(&input, said));
        let Some(format) = &client.profile().hooks else { return Ok(0) };
        match event {
            HookEvent::BeforeTool => return guard::before_tool(context, &input, format),
            // Mail goes on whatever becomes of it.
            HookEvent::SessionEnd => guard::session_ended(context, &input)
                .unwrap_or_else(|why| log(context.office.state(), self.event.as_deref(), &why)),
            _ => {}
        }
        let moment = format.moment(event, &input);
        let times = LockTimes { wait: PATIENCE, ..LockTimes::default() };
        let office = context.office.clone().with_lock_times(times);
        let conversation = conversation(client, &input);
        let who = |whose: Whose<'_>| {
            if let Some(path) = &conversation {
                let place = (path.as_path(), u64::from(parent_id()));
                office.tie_conversation(whose.team.name(), &whose.who, client, input.session(), place);
            }
            let is_lead = !whose.is_claimed && whose.team.is_led_by(&whose.who);
            (moment.map(|moment| whose.team.hook(&whose.who, input.session(), moment)), is_lead)
        };
        let (member, is_lead) = whose(context, &office, &input, who)?.unzip();
        let Some(moment) = moment else { return Ok(0) };
        // A session that is nobody's, or a lead's, is written to by its folder, too.
        let arrival = arrival(context, &input, (client, conversation.as_deref()), moment);
        let arrival = arrival.filter(|_| is_lead.unwrap_or(true));
        let session = arrival.map(|arrival| office.hook_session(&arrival, moment));
        let mut handovers = Vec::new();
        let mut leaves_mail = false;
        for (hooked, is_sessions) in [(member.flatten(), false), (session, true)] {
            let Some(hooked) = hooked.transpose().map_err(|error| error.to_string())? else { continue };
            for warning in &hooked.warnings {
                log(context.office.state(), self.event.as_deref(), warning);
            }
            leaves_mail |= is_sessions && hooked.leaves_mail;
            handovers.extend(hooked.handover);
        }
        let budget = self.budget.unwrap_or(context.settings.budget.value);
        if handovers.is_empty() {
            if leaves_mail && let Some(push) = push(context, arrival.as_ref(), budget) {
                push.once(&office).map_err(|error| error.to_string())?;
            }
            return Ok(0);
        }
        // Bytes are no fewer than characters, however a client counts those.
        let limit = budget.bytes().min(format.largest_text);
        let mut words = OPENING.to_owned();
        let mut presented = Vec::new();
        for handover in handovers {
            let room = limit.saturating_sub(words.len());
            let Brief { text, shown } =
                brief(handover.messages(), handover.left_out(), room, context.office.now());
            if presented.is_empty() || text.len() < room {
                words.push_str(&text);
                words.push('\n');
                presented.push((handover, shown));
            }
        }
        let answer = (format.answer)(event, words.trim_end());
        let out = &mut context.out;
        // What nobody can hear is not presented: the next hook that somebody listens to says it.
        let unheard = |error: io::Error| format!("nothing was presented: {error}");
        if let Some(document) = answer.stdout {
            out.check_open().map_err(unheard)?;
            out.json_line(&document).map_err(unheard)?;
        }
        if let Some(text) = answer.stderr {
            outlet::check(io::stderr(), "stderr").map_err(unheard)?;
            writeln!(io::stderr(), "{}", safe::lines(&text)).map_err(unheard)?;
        }
        // Said first, remembered then: whatever stops us in between, nothing counts as presented that was not.
        for (handover, shown) in presented {
            handover.said_as(&words).presented(&shown).map_err(|error| error.to_string())?;
        }
        Ok(answer.code)
    }
}

/// Where the client keeps the conversation; not that of an agent inside it.
fn conversation(client: AgentClient, input: &HookInput) -> Option<PathBuf> {
    if input.is_inside() {
        return None;
    }
    input.transcript_path.as_ref().map(PathBuf::from).or_else(|| {
        let conversations = client.profile().conversations.as_ref()?;
        let home = etcetera::home_dir().ok()?;
        let folders = Folders::new(home, PathBuf::new(), |name| env::var_os(name));
        // A folder of files does not say which of them it is.
        matches!(conversations.format, ConversationFormat::Database { .. })
            .then(|| (conversations.place)(&folders))
    })
}

/// The session that the client's words are about, if it is one of its own: nobody is named by settings, and it is about no
/// member inside it.
fn arrival<'a>(
    context: &'a Context,
    input: &'a HookInput,
    (client, conversation): (AgentClient, Option<&'a Path>),
    moment: Moment,
) -> Option<Arrival<'a>> {
    let is_named = context.settings.taker().ok()?.is_some();
    let session = input.session();
    if is_named || session.is_empty() || input.member_inside().is_some() {
        return None;
    }
    let transcript = conversation.filter(|path| path.is_absolute());
    let (cwd, begins) = (context.cwd.as_path(), matches!(moment, Moment::Begins { .. }));
    let has_socket = socket(context, client).is_some();
    Some(Arrival { client, session, cwd, transcript, parent: u64::from(parent_id()), begins, has_socket })
}

/// The session's socket, if its client handed us one, and not the client that it runs in.
fn socket(context: &Context, client: AgentClient) -> Option<PathBuf> {
    let path = env::var_os(SOCKET_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute())?;
    let session = env::var(SESSION_VARIABLE).unwrap_or_default();
    let is_own = client == AgentClient::Claude
        && (session.is_empty() || context.office.is_started_by(&session, u64::from(parent_id())));
    is_own.then_some(path)
}

/// The session that a turn ends in: what waits there begins another one, if no server does that.
fn push(context: &Context, arrival: Option<&Arrival<'_>>, budget: Budget) -> Option<Push> {
    let arrival = arrival?;
    Some(Push {
        socket: socket(context, arrival.client)?,
        session: arrival.session.to_owned(),
        cwd: arrival.cwd.to_owned(),
        parent: arrival.parent,
        budget: budget.bytes(),
    })
}

/// What the client says on stdin.
pub(crate) fn input() -> Result<HookInput, String> {
    input::read()
}

/// Does what is to be done for the one whose conversation a client's words are about.
pub(crate) fn whose<T>(
    context: &mut Context,
    office: &Office,
    input: &HookInput,
    work: impl FnOnce(Whose<'_>) -> T,
) -> Result<Option<T>, String> {
    if let Some(folder) = input.cwd.as_ref().map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        context.cwd = folder;
    }
    let words = |failure: Failure| match failure {
        Failure::Told(told) => told.message,
        Failure::ClosedPipe | Failure::Stopped => "stopped".to_owned(),
    };
    let claimed = match context.settings.taker().map_err(words)? {
        Some(address) => Some((context.team().map_err(words)?, address.name)),
        None => None,
    };
    let team = context.settings.named_team().map_err(words)?;
    let transcript = input.transcript_path.as_deref().map(Path::new);
    let caller = Caller {
        session: input.session(),
        agent: input.member_inside(),
        transcript: transcript.filter(|path| path.is_absolute()),
        parent: u64::from(parent_id()),
        claimed: claimed.as_ref().map(|(team, who)| (team, who)),
        team: team.as_ref(),
    };
    office.whose(&caller).map(|found| found.map(work)).map_err(|error| error.to_string())
}

/// Whether the command line is meant for a client's hook, however wrong the rest of it is: to clients exit 2 is an order
/// to go on, and a hook that fails in that way would wake its client for ever.
pub(crate) fn is_called(mut args: impl Iterator<Item = OsString>) -> bool {
    let takes_a_value = |arg: &OsString| {
        ["--root", "--state", "--team", "-t", "--as", "--color"].iter().any(|option| arg == option)
    };
    let mut words = Vec::new();
    while let Some(arg) = args.next() {
        if takes_a_value(&arg) {
            args.next();
        } else if !arg.as_encoded_bytes().starts_with(b"-") {
            words.push(arg);
        }
    }
    words.first().is_some_and(|word| word == "hook") || words.starts_with(&["wake".into(), "wait".into()])
}

/// Puts down why a hook could do nothing, before there was a context.
pub(crate) fn give_up(global: Option<&Global>, why: &str) -> i32 {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Xdg::new().ok().and_then(|xdg| xdg.state_dir()).map(|folder| folder.join("atm"));
    let state = global.and_then(|global| global.state.clone()).or_else(|| set("ATM_STATE")).or_else(home);
    if let Some(state) = state {
        log(&State::new(state), None, why);
    }
    input::drain();
    0
}

/// Puts a warning into the log that every call of a hook would repeat: once is enough.
pub(crate) fn note_once(context: &Context, warning: &str) {
    let log_file = context.office.state().hook_log();
    if !bounded_log::has(&log_file, warning) {
        log(context.office.state(), None, warning);
    }
}

fn log(state: &State, event: Option<&str>, why: &str) {
    let now = atm_office::clock::Clock::now(&atm_office::clock::SystemClock);
    let line = format!("{now} {} {why}", event.unwrap_or("hook"));
    // There is nobody left to tell.
    let _ = bounded_log::note(&state.hook_log(), &line);
}
