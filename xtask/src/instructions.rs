//! `cargo xtask instructions`: how many instructions the commands that run most often take, held against a recorded number.
//!
//! Times on a shared machine say little; callgrind counts the same work as the same number. A count differs a little
//! between machines (the C library chooses its own copy routines), so there is a tolerance. Only more than that fails: less
//! is good news, and `--write` records it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::repo;

/// How much more than recorded a command may take.
const TOLERANCE_PERCENT: u64 = 15;

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Record the counts as what is allowed from now on
    #[arg(long)]
    write: bool,
    /// Measure this binary instead of a fresh release build
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// A command that is counted: its name in the record, its arguments, and what it reads.
struct Case {
    name: &'static str,
    args: &'static [&'static str],
    input: &'static str,
}

const HOOK_INPUT: &str = r#"{"session_id":"s","cwd":"/","hook_event_name":"UserPromptSubmit"}"#;
/// Of another session at each run: it has not seen the mail yet.
const NEW_SESSION: &str = r#"{"session_id":"SESSION","cwd":"/","hook_event_name":"UserPromptSubmit"}"#;

const CASES: [Case; 7] = [
    Case { name: "version", args: &["--version"], input: "" },
    Case { name: "send", args: &["--as", "team-lead", "send", "bob", "please look at the build"], input: "" },
    Case { name: "status", args: &["status"], input: "" },
    Case { name: "members", args: &["members"], input: "" },
    Case { name: "read", args: &["--as", "bob", "read"], input: "" },
    Case {
        name: "hook-nothing",
        args: &["hook", "UserPromptSubmit", "--client", "claude", "--as", "carol"],
        input: HOOK_INPUT,
    },
    Case {
        name: "hook-one",
        args: &["hook", "UserPromptSubmit", "--client", "claude", "--as", "dave"],
        input: NEW_SESSION,
    },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if !repo::has_program("valgrind") {
        eprintln!("instructions: valgrind is not here (it runs on Linux only); nothing was counted");
        return Ok(());
    }
    let atm = match &args.binary {
        Some(path) => path.canonicalize().with_context(|| format!("no binary at {}", path.display()))?,
        None => build()?,
    };
    let world = World::create(&atm)?;
    let mut counted = Vec::new();
    for case in &CASES {
        // Once before, so that what only a first run does is not counted.
        world.run(case, false)?;
        counted.push((case.name, world.run(case, true)?));
    }
    let record = repo::root()?.join("xtask").join("instructions.txt");
    if args.write {
        let mut text = String::new();
        for (name, count) in &counted {
            let _ = writeln!(text, "{name} {count}");
        }
        return fs::write(&record, text).with_context(|| format!("cannot write {}", record.display()));
    }
    let allowed = fs::read_to_string(&record).with_context(|| format!("cannot read {}", record.display()))?;
    let too_many = compare(&counted, &parse(&allowed)?);
    ensure!(
        too_many.is_empty(),
        "more than {TOLERANCE_PERCENT} % above the record: {}. If that is meant: cargo xtask instructions --write",
        too_many.join(", ")
    );
    Ok(())
}

fn build() -> Result<PathBuf> {
    repo::run(&mut repo::cargo(["build", "--quiet", "--release", "--locked", "--package", "atm"])?)?;
    Ok(repo::target()?.join("release").join("atm"))
}

/// A line for each count; the ones that are over their tolerance.
fn compare(counted: &[(&str, u64)], allowed: &[(String, u64)]) -> Vec<String> {
    let mut too_many = Vec::new();
    for (name, count) in counted {
        let Some((_, known)) = allowed.iter().find(|(known, _)| known == name) else {
            too_many.push(format!("{name} (not recorded)"));
            continue;
        };
        eprintln!("instructions: {name}: {count}, recorded {known}");
        if *count > known + known * TOLERANCE_PERCENT / 100 {
            too_many.push(format!("{name} ({count} instead of {known})"));
        }
    }
    too_many
}

fn parse(record: &str) -> Result<Vec<(String, u64)>> {
    record
        .lines()
        .map(|line| {
            let (name, count) =
                line.split_once(' ').with_context(|| format!("not a name and a count: {line}"))?;
            Ok((name.to_owned(), count.trim().parse().with_context(|| format!("not a count: {line}"))?))
        })
        .collect()
}

/// A small team with some mail.
struct World {
    atm: PathBuf,
    folder: tempfile::TempDir,
}

impl World {
    fn create(atm: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("instructions-").tempdir_in(repo::target()?)?;
        let world = Self { atm: atm.to_owned(), folder };
        let made: [&[&str]; 7] = [
            &["team", "create", "dev", "--description", "Counted", "--lead", "team-lead"],
            &["-t", "dev", "member", "add", "bob"],
            &["-t", "dev", "member", "add", "carol"],
            &["-t", "dev", "member", "add", "dave"],
            &["-t", "dev", "--as", "team-lead", "send", "bob", "welcome"],
            &["-t", "dev", "--as", "team-lead", "send", "dave", "welcome"],
            &["-t", "dev", "--as", "team-lead", "send", "carol", "welcome"],
        ];
        for args in made {
            world.must(world.command(Command::new(&world.atm)).args(args), "")?;
        }
        Ok(world)
    }

    fn run(&self, case: &Case, is_counted: bool) -> Result<u64> {
        let input = case.input.replace("SESSION", if is_counted { "counted" } else { "before" });
        if !is_counted {
            self.must(self.command(Command::new(&self.atm)).args(["-t", "dev"]).args(case.args), &input)?;
            return Ok(0);
        }
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&self.atm);
        let said = self.must(self.command(valgrind).args(["-t", "dev"]).args(case.args), &input)?;
        collected(&said).with_context(|| format!("callgrind gave no count for {}:\n{said}", case.name))
    }

    /// The command in this world, and with nothing of the user's.
    fn command(&self, mut command: Command) -> Command {
        let at = self.folder.path();
        for name in ["ATM_TEAM", "ATM_AS", "CLAUDE_CONFIG_DIR", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        command.env("HOME", at).env("XDG_CONFIG_HOME", at.join("config")).current_dir(at);
        command.env("ATM_ROOT", at.join("root")).env("ATM_STATE", at.join("state"));
        command
    }

    /// Runs it; what it said on its standard error.
    fn must(&self, command: &mut Command, input: &str) -> Result<String> {
        let file = self.folder.path().join("input");
        fs::write(&file, input)?;
        let output = command.stdin(fs::File::open(&file)?).stdout(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot start: {}", repo::shown(command)))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            bail!("{}: {}\n{said}", output.status, repo::shown(command));
        }
        Ok(said)
    }
}

/// `==123== Collected : 4567`
fn collected(said: &str) -> Option<u64> {
    let (_, rest) = said.rsplit_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_from_what_callgrind_says() {
        let said = "==1== Events    : Ir\n==1== Collected : 2417391\n==1== \n";
        assert_eq!(collected(said), Some(2_417_391));
        assert_eq!(collected("nothing"), None);
    }

    #[test]
    fn only_more_than_the_tolerance_is_too_many() {
        let allowed = parse("send 1000\nread 1000\n").unwrap();
        assert!(compare(&[("send", 1150), ("read", 400)], &allowed).is_empty());
        assert_eq!(compare(&[("send", 1151)], &allowed), ["send (1151 instead of 1000)"]);
        assert_eq!(compare(&[("status", 1)], &allowed), ["status (not recorded)"]);
        assert!(parse("send").is_err() && parse("send many").is_err());
    }
}
