//! The commands, one file each: parse, call the office, show.

mod ack;
mod archive;
mod artifacts;
mod asked;
mod attach;
mod bridge;
mod broadcast;
mod clean;
mod completions;
mod config;
pub(crate) mod daemon;
pub(crate) mod demo;
mod doctor;
mod duration;
mod each_inbox;
mod health;
mod heartbeat;
mod help;
mod holder;
pub(crate) mod hook;
mod idle;
mod inbox;
pub(crate) mod install;
mod kill;
mod lazy;
mod log;
mod man;
mod mcp;
mod member;
pub(crate) mod members;
mod metadata;
mod migrate;
mod mute;
mod notify;
mod peek;
mod pending;
mod period;
mod plan;
mod primer;
mod read;
mod recall;
mod recipient;
mod release;
mod reply;
mod request;
mod reservations;
mod reserve;
mod retry;
mod schema;
mod search;
mod send;
mod sessions;
mod several;
mod shutdown;
mod spawn;
mod stats;
pub(crate) mod status;
mod task;
mod team;
mod tend;
mod text;
mod thread;
mod track;
mod ui;
mod validate;
mod wake;
mod watch;
mod web;

use crate::context::Context;
use crate::failure::Failure;

pub(crate) use status::Status;

lazy::commands! {
    /// Play a team's day in a throw-away root, with real files
    Demo(demo::Demo),
    /// Make, list, show, join and delete teams
    #[command(subcommand)]
    Team(team::Team),
    /// Add, remove and change members
    #[command(subcommand)]
    Member(member::Member),
    /// Who is in the team, who is on, and what waits for whom
    Members(members::Members),
    /// Every session that runs: its client, its folder, what it does, and what waits for it
    Sessions(sessions::Sessions),
    /// The team in one look: who is on, and what waits for whom; or one member, with the evidence
    Status(status::Status),
    /// Send a message
    Send(send::Send),
    /// Send a message to everybody else
    Broadcast(broadcast::Broadcast),
    /// Answer a message
    Reply(reply::Reply),
    /// Look into an inbox; changes nothing
    Inbox(inbox::Inbox),
    /// Read your unread mail, and mark it as read once it is shown
    Read(read::Read),
    /// Show mail as it comes; changes nothing
    Watch(watch::Watch),
    /// Tell a message's sender that it arrived
    Ack(ack::Ack),
    /// Take a message back that nobody has read
    Recall(recall::Recall),
    /// Ask somebody, and wait for the answer
    Request(request::Request),
    /// Answer a request
    Respond(request::Respond),
    /// Plans: hand one in, approve, reject, list
    #[command(subcommand)]
    Plan(plan::Plan),
    /// Ask a member to end; approve or reject that
    #[command(subcommand)]
    Shutdown(shutdown::Shutdown),
    /// Tell your lead that you have nothing to do
    Idle(idle::Idle),
    /// Tell your lead that you are alive, and how far
    Heartbeat(heartbeat::Heartbeat),
    /// Ask a member whether it is alive
    Health(health::Health),
    /// The shared task list: who does what, and what waits for what
    #[command(subcommand)]
    Task(task::Task),
    /// What members left for others: reports, logs and files
    #[command(subcommand)]
    Artifacts(artifacts::Artifacts),
    /// Keep paths for you to edit, for a while
    Reserve(reserve::Reserve),
    /// Give back what you reserved
    Release(release::Release),
    /// Who keeps which paths of this working tree
    Reservations(reservations::Reservations),
    /// What became of a message: its stages, with the evidence
    Track(track::Track),
    /// What waits for whom: queued, not acknowledged, or lost by a client
    Pending(pending::Pending),
    /// Hear nothing of a member, a message or a task for a while
    Mute(mute::Mute),
    /// Offer queued mail again that nobody acted on, then escalate it
    Retry(retry::Retry),
    /// Do what is due by the clock: offer mail again, wake, check who is silent, archive
    Tend(tend::Tend),
    /// Have all that done as it comes, in the background
    #[command(subcommand)]
    Daemon(daemon::Daemon),
    /// Teams over several machines: run atm-bridge
    Bridge(bridge::Bridge),
    /// Notifications for people: try them
    #[command(subcommand)]
    Notify(notify::Notify),
    /// Search everything ever sent or seen
    Search(search::Search),
    /// Show a conversation
    Thread(thread::Thread),
    /// The trace: what was sent to whom, when, and how far it came
    Log(log::Log),
    /// Rates and waiting times
    Stats(stats::Stats),
    /// All of it in this terminal, full screen and live
    Ui(ui::Ui),
    /// Check files against the rules of their formats; changes nothing
    Validate(validate::Validate),
    /// Start a member in a tmux pane
    Spawn(spawn::Spawn),
    /// End a member: close its pane
    Kill(kill::Kill),
    /// Start a member again that is off, with its inbox
    Respawn(spawn::Respawn),
    /// Show a member's pane in this terminal
    Attach(attach::Attach),
    /// The last lines of a member's screen
    Peek(peek::Peek),
    /// Wake a member for which mail came, by its client's own way
    Wake(wake::Wake),
    /// Look for what is wrong with teams, files and the ledger, and mend it
    Doctor(doctor::Doctor),
    /// Move mail that was read out of the inboxes into the archive
    Archive(archive::Archive),
    /// Clear up: old mail that was read, old archives, what dead processes left
    Clean(clean::Clean),
    /// Serve the team's mail and tasks to an agent client (Model Context Protocol)
    Mcp(mcp::Mcp),
    /// Serve the dashboard: all of it in a browser, and for programs
    Web(web::Web),
    /// Bring a team's files to the current version of their format
    Migrate(migrate::Migrate),
    /// Show the settings and where each is from
    Config(config::Config),
    /// Set up in an agent's client, or take out again
    Install(install::Install),
    /// What an agent needs to know to use this
    Primer(primer::Primer),
    /// Called by agents' clients: new mail for the agent, in the client's own format
    Hook(hook::Hook),
    /// The JSON Schemas of the files and of every answer
    Schema(schema::Schema),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the manual page, or write all of them to a folder
    Man(man::Man),
    /// Show all commands, one command's help, or a topic
    Help(help::Help),
}

pub(crate) fn run(command: Command, context: &mut Context) -> Result<i32, Failure> {
    match command {
        Command::Demo(demo) => demo.run(context),
        Command::Team(team) => team.run(context),
        Command::Member(member) => member.run(context),
        Command::Members(members) => members.run(context),
        Command::Sessions(sessions) => sessions.run(context),
        Command::Status(status) => status.run(context),
        Command::Send(send) => send.run(context),
        Command::Broadcast(broadcast) => broadcast.run(context),
        Command::Reply(reply) => reply.run(context),
        Command::Inbox(inbox) => inbox.run(context),
        Command::Read(read) => read.run(context),
        Command::Watch(watch) => watch.run(context),
        Command::Ack(ack) => ack.run(context),
        Command::Recall(recall) => recall.run(context),
        Command::Request(request) => request.run(context),
        Command::Respond(respond) => respond.run(context),
        Command::Plan(plan) => plan.run(context),
        Command::Shutdown(shutdown) => shutdown.run(context),
        Command::Idle(idle) => idle.run(context),
        Command::Heartbeat(heartbeat) => heartbeat.run(context),
        Command::Health(health) => health.run(context),
        Command::Task(task) => task.run(context),
        Command::Artifacts(artifacts) => artifacts.run(context),
        Command::Reserve(reserve) => reserve.run(context),
        Command::Release(release) => release.run(context),
        Command::Reservations(reservations) => reservations.run(context),
        Command::Track(track) => track.run(context),
        Command::Pending(pending) => pending.run(context),
        Command::Mute(mute) => mute.run(context),
        Command::Retry(retry) => retry.run(context),
        Command::Tend(tend) => tend.run(context),
        Command::Daemon(daemon) => daemon.run(context),
        Command::Bridge(bridge) => bridge.run(context),
        Command::Notify(notify) => notify.run(context),
        Command::Search(search) => search.run(context),
        Command::Thread(thread) => thread.run(context),
        Command::Log(log) => log.run(context),
        Command::Stats(stats) => stats.run(context),
        Command::Ui(ui) => ui.run(context),
        Command::Validate(validate) => validate.run(context),
        Command::Spawn(spawn) => spawn.run(context),
        Command::Kill(kill) => kill.run(context),
        Command::Respawn(respawn) => respawn.run(context),
        Command::Attach(attach) => attach.run(context),
        Command::Peek(peek) => peek.run(context),
        Command::Wake(wake) => wake.run(context),
        Command::Doctor(doctor) => doctor.run(context),
        Command::Archive(archive) => archive.run(context),
        Command::Clean(clean) => clean.run(context),
        Command::Mcp(mcp) => mcp.run(context),
        Command::Web(web) => web.run(context),
        Command::Migrate(migrate) => migrate.run(context),
        Command::Config(config) => config.run(context),
        Command::Install(install) => install.run(context),
        Command::Primer(primer) => primer.run(context),
        Command::Hook(hook) => Ok(hook.run(context)),
        Command::Schema(schema) => schema.run(context),
        Command::Completions(completions) => completions.run(context),
        Command::Man(man) => man.run(context),
        // Answered by the parser.
        Command::Help(_) => Ok(0),
    }
}
