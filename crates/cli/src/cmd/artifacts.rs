//! `atm artifacts`

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atm_office::artifacts::MemberArtifacts;
use atm_wire::status::{News, State};
use atm_wire::{Address, ArtifactName, counted};
use clap::{Args, Subcommand, ValueEnum};

use super::duration::duration;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::table::{Cell, cut, whole};
use crate::output::{Out, safe};

#[derive(Debug, Subcommand)]
pub(crate) enum Artifacts {
    /// What members left: their report, their log, their files
    List {
        /// Whose [default: everybody's]
        name: Option<Address>,
    },
    /// Leave a file for others
    Put {
        /// The file, or `-` for stdin
        file: PathBuf,
        /// Under another name
        #[arg(long, value_name = "NAME")]
        as_name: Option<ArtifactName>,
    },
    /// Get a file that a member left
    Get {
        /// Whose
        name: Address,
        /// Which
        file: ArtifactName,
        /// Where to [default: stdout]
        #[arg(long, value_name = "PATH")]
        out: Option<PathBuf>,
    },
    /// The end of what a member's process wrote
    Tail(Tail),
    /// Say what you are doing, and what it cost
    Report(Report),
}

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// Whose
    name: Address,
    /// How many lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    lines: usize,
    /// Go on as it grows
    #[arg(long, short)]
    follow: bool,
    /// Stop after this long: 30s, 10m
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "follow")]
    r#for: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// What you are doing
    #[arg(value_enum, value_name = "STATE")]
    doing: StateArg,
    /// What went wrong, of an error
    #[arg(long, value_name = "TEXT")]
    detail: Option<String>,
    /// Tokens spent since your last report
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    tokens: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StateArg {
    /// You work
    Running,
    /// You wait
    Idle,
    /// You are done
    Complete,
    /// You failed
    Error,
}

impl From<StateArg> for State {
    fn from(state: StateArg) -> Self {
        match state {
            StateArg::Running => Self::Running,
            StateArg::Idle => Self::Idle,
            StateArg::Complete => Self::Complete,
            StateArg::Error => Self::Error,
        }
    }
}

impl Artifacts {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        match self {
            Self::List { name } => {
                let (team, name) = context.anyone(name)?;
                let left = context.office.artifacts(&team, name.as_ref())?;
                show(&mut context.out, &left)?;
            }
            Self::Put { file, as_name } => put(context, &file, as_name)?,
            Self::Get { name, file, out } => get(context, name, &file, out)?,
            Self::Tail(tail) => tail.run(context)?,
            Self::Report(report) => {
                let team = context.team()?;
                let who = context.member()?;
                let agent_id = format!("{who}@{team}");
                let news = News {
                    agent_id: &agent_id,
                    state: report.doing.into(),
                    at: context.office.now(),
                    detail: report.detail.as_deref(),
                    tokens: report.tokens,
                    tasks: 0,
                    response: None,
                };
                let status = context.office.team(&team)?.report(&who, &news)?;
                if context.out.json {
                    context.out.document(&status)?;
                } else {
                    context.out.note(format!("{who} is {}", news.state))?;
                }
            }
        }
        Ok(0)
    }
}

fn show(out: &mut Out, left: &[MemberArtifacts]) -> Result<(), Failure> {
    for warning in left.iter().flat_map(|member| &member.warnings) {
        out.warn(warning)?;
    }
    if out.json {
        return Ok(out.document(left)?);
    }
    if left.is_empty() {
        out.note("nobody left anything")?;
    }
    for member in left {
        let mut facts = Vec::new();
        if let Some(status) = &member.status {
            let state = status.status.as_ref().map_or("unknown", State::as_str);
            let at =
                status.last_active_at.map(|at| format!(", {}", out.times.moment(at))).unwrap_or_default();
            facts.push(format!("{state}{at}"));
            facts.extend(status.error_message.as_deref().map(|error| format!("error: {error}")));
            if let Some(metrics) = &status.metrics {
                facts.extend(metrics.tasks_completed.map(|tasks| format!("{tasks} done")));
                facts.extend(metrics.avg_response_time.map(|seconds| format!("answers in {seconds} s")));
                facts.extend(metrics.tokens_used.map(|tokens| counted(tokens, "token")));
            }
        }
        facts.extend(member.log.map(|size| format!("log of {}", counted(size, "byte"))));
        let facts = if facts.is_empty() { "nothing".to_owned() } else { facts.join(", ") };
        let name = out.paint.bold(&safe::line(member.name.as_str()));
        out.hanging(&format!("{name}  "), &facts)?;
    }
    let files = left.iter().flat_map(|member| member.files.iter().map(move |file| (member, file)));
    let rows: Vec<Vec<Cell>> = files
        .map(|(member, file)| {
            vec![
                member.name.as_str().into(),
                file.name.as_str().into(),
                file.size.to_string().into(),
                out.times.ago_or_never(file.modified).into(),
            ]
        })
        .collect();
    if !rows.is_empty() {
        out.line("")?;
        out.table(&[cut("FROM", 8), cut("FILE", 16), whole("BYTES"), whole("CHANGED")], rows)?;
    }
    Ok(())
}

fn put(context: &mut Context, file: &Path, as_name: Option<ArtifactName>) -> Result<(), Failure> {
    let team = &context.team()?;
    let who = context.member()?;
    let from_stdin = file == Path::new("-");
    let name = match (as_name, file.file_name().and_then(|name| name.to_str())) {
        (Some(name), _) => name,
        (None, Some(name)) if !from_stdin => ArtifactName::parse(name)?,
        _ => return Err(Failure::usage("what shall it be called?").hint("use --as-name NAME")),
    };
    let mut source: Box<dyn Read> = if from_stdin {
        Box::new(io::stdin())
    } else {
        let opened = File::open(file).and_then(|opened| {
            let plain = opened.metadata()?.is_file();
            if plain { Ok(opened) } else { Err(io::Error::other("is not a plain file")) }
        });
        Box::new(opened.map_err(|error| failed("read", file, &error))?)
    };
    let size = context.office.put_artifact(team, &who, &name, &mut source)?;
    if context.out.json {
        let document = serde_json::json!({ "team": team, "name": who, "file": name, "size": size });
        context.out.document(&document)?;
    } else {
        context.out.note(format!("left {name}, {}", counted(size, "byte")))?;
    }
    Ok(())
}

fn get(context: &mut Context, of: Address, name: &ArtifactName, to: Option<PathBuf>) -> Result<(), Failure> {
    let (team, of) = &context.whom(of)?;
    let Some(to) = to else {
        if context.out.json {
            return Err(Failure::usage("a file is not JSON").hint("say with --out where to write it"));
        }
        let mut file = context.office.open_artifact(team, of, name)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| failed("read", Path::new(name.as_str()), &error))?;
        if io::stdout().is_terminal() {
            context.out.raw(safe::lines(&String::from_utf8_lossy(&bytes)).as_bytes())?;
        } else {
            context.out.raw(&bytes)?;
        }
        return Ok(());
    };
    let mut file = context.office.open_artifact(team, of, name)?;
    let to = if to.is_dir() { to.join(name.as_str()) } else { to };
    let size = copy_to(&mut file, &to).map_err(|error| failed("write", &to, &error))?;
    if context.out.json {
        let document = serde_json::json!({ "team": team, "name": of, "file": name, "size": size, "out": to });
        context.out.document(&document)?;
    } else {
        context.out.note(format!(
            "wrote {}, {}",
            safe::line(&to.display().to_string()),
            counted(size, "byte")
        ))?;
    }
    Ok(())
}

/// All of it under that name, or nothing.
fn copy_to(file: &mut File, to: &Path) -> io::Result<u64> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temp = tempfile::NamedTempFile::new_in(folder)?;
    let size = io::copy(file, &mut temp)?;
    temp.persist(to)?;
    Ok(size)
}

impl Tail {
    fn run(self, context: &mut Context) -> Result<(), Failure> {
        let (team, name) = context.whom(self.name)?;
        let (text, mut stream) = context.office.output_log(&team, &name, self.lines)?;
        if text.is_none() && !self.follow {
            let message = format!("{name} has no output.log");
            return Err(Failure::new(ExitCode::NotFound, "no_such_log", message)
                .hint("it is written for members that `atm spawn` started"));
        }
        let text = text.unwrap_or_default();
        if context.out.json && !self.follow {
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.lines().collect();
            let document = serde_json::json!({ "team": team, "name": name, "lines": lines });
            return Ok(context.out.document(&document)?);
        }
        let mut lines = Lines::default();
        lines.show(&mut context.out, &text)?;
        if self.follow {
            let deadline = self.r#for.map(|time| Instant::now() + time);
            while let Some(more) = stream.next(deadline)? {
                if more.anew {
                    lines.end(&mut context.out)?;
                }
                lines.show(&mut context.out, &more.text)?;
            }
        }
        lines.end(&mut context.out)
    }
}

/// Whole lines of a log that comes in pieces.
#[derive(Debug, Default)]
struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    fn show(&mut self, out: &mut Out, bytes: &[u8]) -> Result<(), Failure> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(()) };
        let rest = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        for line in String::from_utf8_lossy(&whole).lines() {
            show_line(out, line)?;
        }
        Ok(out.finish()?)
    }

    /// There is no more to come of the last line.
    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let rest = std::mem::take(&mut self.rest);
        if rest.is_empty() { Ok(()) } else { show_line(out, &String::from_utf8_lossy(&rest)) }
    }
}

fn show_line(out: &mut Out, line: &str) -> Result<(), Failure> {
    if out.json {
        out.json_line(&serde_json::json!({ "line": line }))?;
    } else {
        out.line(safe::lines(line))?;
    }
    Ok(())
}

fn failed(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(ExitCode::Io, "io", format!("cannot {action} {}: {error}", path.display()))
}
