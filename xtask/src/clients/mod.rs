//! `cargo xtask clients`: sets `atm` up in the real clients, each in an empty home, and sees whether it works: the
//! client's own check of the server, and a turn with a model of ours that has to be told of new mail. Its delivery part
//! compares what atm says about mail with what the model of a real Claude Code was sent; its states part does so for all
//! clients, in one turn after the other.

mod client;
mod delivery;
mod edits;
mod home;
mod model;
mod npm;
mod report;
mod vendors;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::client::{CLIENTS, Client};
use self::home::Home;
use self::model::Model;
use self::report::Row;
use crate::repo;

const MAIL: &str = "the build is red since noon";

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Put the results into docs/CLIENTS.md
    #[arg(long, conflicts_with_all = ["only", "version", "role"])]
    write: bool,
    /// This client only: claude, codex, gemini, qwen or opencode
    #[arg(long, value_name = "NAME", value_parser = CLIENTS.map(|client| client.name))]
    only: Option<String>,
    /// The newest versions, instead of those that were seen working
    #[arg(long)]
    newest: bool,
    /// Use this binary instead of a fresh build
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// The part that sets up only: each client's own check, a turn with mail, and that nothing is left of it
    #[arg(long, conflicts_with_all = ["delivery", "states", "reservations"])]
    set_up: bool,
    /// The delivery part only: what Claude Code's model was sent, beside what atm says
    #[arg(long, conflicts_with_all = ["only", "newest"])]
    delivery: bool,
    /// The reservations part only: each client edits a file that another member has reserved
    #[arg(long, conflicts_with_all = ["delivery"])]
    reservations: bool,
    /// The part with states only: mail for each client before a turn, in one, when it is killed and when it goes on
    #[arg(long, conflicts_with_all = ["delivery", "newest"])]
    states: bool,
    /// The part with other clients' plain sessions only: the same states, for all but Claude Code, without a team and a name
    #[arg(long, conflicts_with_all = ["delivery", "newest", "states", "reservations"])]
    other_sessions: bool,
    #[command(flatten)]
    choice: delivery::Choice,
    /// The sessions part only: mail for plain sessions of Claude Code, by push and by hooks, in each of their states
    #[arg(long, conflicts_with_all = ["only", "newest", "delivery"])]
    sessions: bool,
    /// The peers part only: members of another client and of another machine in Claude Code's own list of agents, and its own
    /// send tool
    #[arg(long, conflicts_with_all = ["only", "newest", "delivery", "sessions"])]
    peers: bool,
    #[command(flatten)]
    session_choice: delivery::sessions::SessionChoice,
    /// The bridge part only: two machines, a real Claude Code on each, mail between them by their own tools
    #[arg(long, conflicts_with_all = ["only", "newest", "delivery", "sessions", "peers"])]
    bridge: bool,
    #[command(flatten)]
    bridge_choice: delivery::bridge::BridgeChoice,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let atm = match &args.binary {
        Some(path) => path.canonicalize().with_context(|| format!("no binary at {}", path.display()))?,
        None => build()?,
    };
    let atm = atm.parent().context("a program is in a folder")?;
    let document = repo::root()?.join("docs").join("CLIENTS.md");
    if let Some(part) = single_part(args, atm)? {
        print!("{}", part.table);
        if args.write {
            let command = format!("cargo xtask clients --{} --write", part.name);
            report::write(&document, part.name, &command, &part.table)?;
        }
        ensure!(part.is_true, part.otherwise);
        return Ok(());
    }
    let has_states = args.delivery || args.newest || args.set_up || {
        let rows = vendors::run(args.only.as_deref(), atm)?;
        print!("{}", vendors::table(&rows));
        if args.write {
            let table = vendors::table(&rows);
            report::write(&document, "states", "cargo xtask clients --states --write", &table)?;
        }
        rows.iter().all(vendors::Row::is_true)
    };
    let works = args.delivery || args.states || {
        let rows = set_up(args, atm)?;
        print!("{}", report::table(&rows));
        if args.write {
            report::write(
                &document,
                "clients",
                "cargo xtask clients --set-up --write",
                &report::table(&rows),
            )?;
        }
        rows.iter().all(Row::works)
    };
    let delivers = args.only.is_some() || args.newest || args.states || args.set_up || {
        let report = delivery::run(&args.choice, atm)?;
        if args.choice.json {
            println!("{:#}", report.json());
        } else {
            print!("{}", report.table());
        }
        if args.write {
            report::write(&document, "delivery", "cargo xtask clients --delivery --write", &report.table())?;
        }
        report.is_true()
    };
    ensure!(has_states, "not all mail arrived and was proved");
    ensure!(works, "not everything works");
    ensure!(delivers, "a client did not run, or atm said something that is not so");
    Ok(())
}

/// A part that runs by itself, and what it found.
struct Part {
    /// Its option, and its place in the document.
    name: &'static str,
    table: String,
    is_true: bool,
    otherwise: &'static str,
}

fn single_part(args: &Args, atm: &Path) -> Result<Option<Part>> {
    let part = |name, otherwise, (table, is_true)| Ok(Some(Part { name, table, is_true, otherwise }));
    if args.sessions {
        let otherwise = "a client did not run, or a message did not arrive once and proved";
        return part(
            "sessions",
            otherwise,
            delivery::sessions::run(&args.session_choice, args.choice.keep, atm)?,
        );
    }
    if args.bridge {
        build_bridge(args)?;
        let otherwise = "a client did not run, or mail did not cross, was not shown or not proved";
        return part("bridge", otherwise, delivery::bridge::run(&args.bridge_choice, atm)?);
    }
    if args.peers {
        build_bridge(args)?;
        let otherwise = "a client did not run, or a peer was not listed, written to and heard";
        return part("peers", otherwise, delivery::sessions::run_peers(&args.session_choice, atm)?);
    }
    if args.other_sessions {
        let rows = vendors::run_sessions(args.only.as_deref(), atm)?;
        let is_true = rows.iter().all(vendors::Row::is_true);
        return part(
            "other-sessions",
            "not all mail arrived once and was proved",
            (vendors::table(&rows), is_true),
        );
    }
    if args.reservations {
        return part(
            "reservations",
            "not everything works",
            edits::run(args.only.as_deref(), args.newest, atm)?,
        );
    }
    Ok(None)
}

/// Sets atm up in all clients.
fn set_up(args: &Args, atm: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (client, programs) in npm::each(args.only.as_deref(), args.newest)? {
        eprintln!("clients: {} {}", client.title, client.version);
        rows.push(try_out(client, &Home::new(atm, &programs)?));
    }
    Ok(rows)
}

/// Beside atm, which runs it from there.
fn build_bridge(args: &Args) -> Result<()> {
    if args.binary.is_none() {
        repo::run(&mut repo::cargo(["build", "--locked", "--package", "atm-bridge"])?)?;
    }
    Ok(())
}

fn build() -> Result<PathBuf> {
    repo::run(&mut repo::cargo(["build", "--locked", "--package", "atm"])?)?;
    Ok(repo::target()?.join("debug").join("atm"))
}

/// All that is to be seen of one client; what does not work says why.
fn try_out(client: Client, home: &Home) -> Row {
    let version = version(client, home);
    let begun = Model::start().and_then(|model| {
        let (name, text) = client.file(&model);
        let file = home.file(name);
        fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
        fs::write(&file, &text)?;
        install(client, home)?;
        Ok((model, file, text))
    });
    let (model, file, text) = match begun {
        Ok(begun) => begun,
        Err(error) => return Row::failed(client.title, version, error),
    };
    Row {
        client: client.title,
        version,
        server: server(client, home),
        mail: turn(client, home, &model),
        plugin: (client.name == "claude").then(|| plugin(home)),
        undone: uninstall(client, home).and_then(|()| {
            ensure!(fs::read_to_string(&file)? == text, "{} is not what it was", file.display());
            Ok("same bytes".to_owned())
        }),
    }
}

fn version(client: Client, home: &Home) -> Result<String> {
    let said = home::run(home.command(client.name).arg("--version"))?;
    let number = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    number.map(ToOwned::to_owned).with_context(|| format!("says no version: {said}"))
}

/// Twice: the second time has nothing to do.
fn install(client: Client, home: &Home) -> Result<()> {
    let install = ["install", client.name];
    let changes = |answer: &Value| -> Vec<String> {
        let files = answer["files"].as_array().into_iter().flatten();
        let changed = files.filter(|file| file["change"] != "unchanged").map(|file| file["path"].to_string());
        changed.chain(answer["commands"].as_array().into_iter().flatten().map(Value::to_string)).collect()
    };
    ensure!(!changes(&home.atm(&install)?).is_empty(), "nothing was set up");
    let again = changes(&home.atm(&install)?);
    ensure!(again.is_empty(), "set up twice: {}", again.join(", "));
    Ok(())
}

/// What the client says of our server.
fn server(client: Client, home: &Home) -> Result<String> {
    let mut check = home.command("atm");
    let output =
        check.args(["install", client.name, "--check", "--json", "--as", "bob", "--team", "dev"]).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let said = [&answer[0]["said"], &answer[0]["hooks"]];
    let said: Vec<&str> =
        said.iter().filter_map(|said| said.as_str()).filter(|said| !said.is_empty()).collect();
    ensure!(answer[0]["state"] == "works", "{}", said.join("; "));
    Ok(said.join("; "))
}

/// A turn: the mail has to be before the model, and then be read.
fn turn(client: Client, home: &Home, model: &Model) -> Result<String> {
    home.atm(&["send", "bob", MAIL])?;
    let mut command = home.command(client.name);
    client.turn(&mut command, model);
    // Settings for all sessions name nobody: whose session this is, is said to this one alone.
    command.env("ATM_AS", "bob").env("ATM_TEAM", "dev");
    home::run(&mut command)?;
    ensure!(model.was_told(MAIL), "the model was not told of the mail");
    let unread = home.atm(&["inbox", "bob", "--unread"])?;
    ensure!(unread.as_array().is_some_and(Vec::is_empty), "the model was told, and the mail is still unread");
    Ok("told, then read".to_owned())
}

fn plugin(home: &Home) -> Result<String> {
    let folder = home.file("plugin");
    home::run(home.command("atm").args(["install", "claude", "--plugin"]).arg(&folder))?;
    let said = home::run(home.command("claude").args(["plugin", "validate"]).arg(&folder))?;
    ensure!(said.contains("Validation passed"), "{said}");
    Ok("valid".to_owned())
}

fn uninstall(client: Client, home: &Home) -> Result<()> {
    home.atm(&["install", client.name, "--uninstall"])?;
    let answer = home.atm(&["install", client.name, "--uninstall", "--dry-run"])?;
    let left = answer["files"].as_array().into_iter().flatten().any(|file| file["change"] != "unchanged");
    ensure!(!left && answer["commands"].as_array().is_some_and(Vec::is_empty), "something is left: {answer}");
    Ok(())
}
