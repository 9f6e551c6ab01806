//! `atm send`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use std::time::Duration;

use atm_ledger::Stage;
use atm_office::mail::send::{Letter, Sent};
use atm_office::sessions::Recipient;
use atm_office::trail::track::Track;
use atm_office::{OfficeError, mail::send::SendOptions};
use atm_wire::message::Priority;
use atm_wire::metadata::Metadata;
use atm_wire::{Address, MemberName, TeamName};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::duration::{duration, span_of};
use super::recipient;
use super::text::{Manner, Words, stdin};
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::{Failure, Told};
use crate::hint;
use crate::output::{Out, ids};

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// To whom: NAME or NAME@TEAM; or a session, by its name, its folder or an alias
    #[arg(value_name = "TO", required_unless_present = "batch")]
    to: Option<Recipient>,
    #[command(flatten)]
    words: Words,
    /// The id of the message that this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// The message's id, chosen by you: the same id to the same recipient is written once, however often it is sent
    #[arg(long, value_name = "ID", value_parser = own_id)]
    id: Option<String>,
    /// Wants to be acknowledged within this time: 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    ack_by: Option<Duration>,
    /// Wait until it came this far; exit 8 if it does not
    #[arg(long, value_enum, value_name = "STAGE")]
    wait: Option<Wanted>,
    /// How long to wait
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s", requires = "wait")]
    timeout: Duration,
    /// Read many messages from stdin: JSON Lines with to, text and, if you like, summary, priority, reply_to, id, metadata
    #[arg(long, conflicts_with_all = ["to", "text", "file", "reply_to", "summary", "ack_by", "wait", "id", "pairs"])]
    batch: bool,
    #[command(flatten)]
    manner: Manner,
}

/// How far to wait for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Wanted {
    /// The client consumed it
    Taken,
    /// It is in the recipient's conversation
    Seen,
    /// It was acknowledged
    Acked,
    /// It was answered
    Done,
}

impl From<Wanted> for Stage {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Taken => Self::Taken,
            Wanted::Seen => Self::Seen,
            Wanted::Acked => Self::Acked,
            Wanted::Done => Self::Done,
        }
    }
}

/// A line of `--batch`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchLine {
    to: String,
    text: String,
    summary: Option<String>,
    #[serde(default)]
    priority: Priority,
    reply_to: Option<String>,
    id: Option<String>,
    #[serde(default)]
    metadata: Metadata,
}

/// One answer of many.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Sent(&'a Sent),
    Failed(crate::failure::ErrorDocument<'a>),
}

impl Send {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let options = SendOptions::from(&self.manner);
        let Some(to) = self.to else {
            return send_batch(context, &context.team()?, &context.sender()?, options);
        };
        if self.words.is_missing() {
            return Err(Failure::usage(format!("there is no text to send to {to}"))
                .hint("give the text as an argument, `-` for stdin, or --file FILE"));
        }
        let (route, from) = recipient::route(&context.office, context, to, options.create)?;
        let mut letter = self.words.letter(route.to.clone())?;
        letter.session.clone_from(&route.session);
        letter.reply_to = self.reply_to;
        letter.ack_by = self.ack_by;
        letter.id = self.id;
        letter.metadata = self.manner.metadata.to_map();
        let mut sent =
            route.team.send(&from, &letter, options).map_err(|error| Failure::sending(error, options))?;
        let office = &context.office;
        let wait = |wanted: Wanted| office.wait_for_stage(&sent.team, &sent.id, wanted.into(), self.timeout);
        let waiting = self.wait.map(|_| {
            context.out.waiting(&format!("sent; waiting for {}, at most {}", sent.to, span_of(self.timeout)))
        });
        let waited = self.wait.map(wait);
        drop(waiting);
        if let Some(Ok(Track { stage, .. }) | Err(OfficeError::NotInTime { stage, .. })) = &waited {
            sent.reach(*stage);
        }
        tell(context, &sent)?;
        if let Some(Err(error)) = waited {
            return Err(error.into());
        }
        Ok(0)
    }
}

/// An id that a caller may choose: one that every command finds again.
fn own_id(text: &str) -> Result<String, String> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    if !(6..=128).contains(&text.len()) || !text.chars().all(is_fit) {
        return Err("6 to 128 letters, digits and - _ . :".to_owned());
    }
    Ok(text.to_owned())
}

fn send_batch(
    context: &mut Context,
    team: &TeamName,
    from: &MemberName,
    options: SendOptions,
) -> Result<i32, Failure> {
    let bytes =
        stdin().map_err(|error| Failure::new(ExitCode::Io, "io", format!("cannot read stdin: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            ExitCode::BadData,
            "bad_data",
            format!("stdin is not UTF-8 at byte {at}; nothing was sent"),
        )
    })?;
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .filter(|(_, line)| !line.trim().is_empty())
        .collect();
    let place = |at: usize| format!("line {at} of the batch; nothing was sent");
    let mut letters = Vec::new();
    for (at, line) in &lines {
        let letter = parse_line(*at, line)?;
        let to = context.resolve(letter.to.clone()).map_err(|failure| failure.within(&place(*at)))?;
        letters.push(Letter { to, ..letter });
    }
    let team = context.office.team(team)?;
    let answers = team.send_all(from, &letters, options).map_err(|(index, error)| {
        let at = lines.get(index).map_or(0, |(at, _)| *at);
        Failure::sending(error, options).within(&place(at))
    })?;
    tell_all(context, answers, options)
}

fn parse_line(at: usize, line: &str) -> Result<Letter, Failure> {
    let bad = |why: String| {
        Failure::new(
            ExitCode::BadData,
            "bad_data",
            format!("line {at} of the batch: {why}; nothing was sent"),
        )
        .hint("each line is one object with \"to\" and \"text\"")
    };
    if !line.trim_start().starts_with('{') {
        return Err(bad("is not an object".to_owned()));
    }
    // The parser only knows this one line, and would call it the first.
    let line: BatchLine = serde_json::from_str(line)
        .map_err(|error| bad(error.to_string().replace(" at line 1 column ", " at column ")))?;
    let to: Address = line.to.parse().map_err(|error: atm_wire::NameError| bad(error.to_string()))?;
    Ok(Letter {
        summary: line.summary,
        priority: line.priority,
        reply_to: line.reply_to,
        id: line.id,
        metadata: line.metadata,
        ..Letter::new(to, line.text)
    })
}

/// With what its sender might do better, as a warning.
pub(super) fn advised(mut sent: Sent) -> Sent {
    sent.warnings.extend(sent.hint.take().as_ref().map(hint::words));
    sent
}

/// Tells what became of one letter.
pub(super) fn tell(context: &mut Context, sent: &Sent) -> Result<(), Failure> {
    tell_in(&mut context.out, sent)
}

pub(super) fn tell_in(out: &mut Out, sent: &Sent) -> Result<(), Failure> {
    let sent = &advised(sent.clone());
    for warning in &sent.warnings {
        out.warn(warning)?;
    }
    if out.json {
        out.document(sent)?;
    } else if out.is_quiet() {
        out.line(&sent.id)?;
    } else {
        let id = ids::short(&sent.id);
        let line = format!("{} for {}@{}, id {id}", sent.stage_words(), sent.to, sent.team);
        let more = format!("; not written yet, `atm track {id}` follows it");
        out.note(if sent.is_only_accepted() { line + &more } else { line })?;
    }
    Ok(())
}

/// Tells what became of many; the exit code is that of the first that failed.
pub(super) fn tell_all(
    context: &mut Context,
    answers: Vec<Result<Sent, OfficeError>>,
    options: SendOptions,
) -> Result<i32, Failure> {
    let mut code = 0;
    let mut failed: Vec<Told> = Vec::new();
    let mut sent: Vec<Result<Sent, usize>> = Vec::new();
    for answer in answers {
        match answer {
            Ok(answer) if context.out.json => sent.push(Ok(advised(answer))),
            Ok(answer) => sent.push(Ok(answer)),
            Err(error) => {
                if let Failure::Told(told) = Failure::sending(error, options) {
                    sent.push(Err(failed.len()));
                    failed.push(told);
                }
            }
        }
    }
    if let Some(first) = failed.first() {
        code = first.exit_code();
    }
    if context.out.json {
        let answers: Vec<Answer> = sent
            .iter()
            .map(|answer| match answer {
                Ok(sent) => Answer::Sent(sent),
                Err(index) => Answer::Failed(failed[*index].document()),
            })
            .collect();
        for warning in sent.iter().flatten().flat_map(|sent| &sent.warnings) {
            context.out.warn(warning)?;
        }
        context.out.document(&answers)?;
        return Ok(code);
    }
    for answer in &sent {
        match answer {
            Ok(sent) => tell(context, sent)?,
            Err(index) => context.out.warn(&format!("not sent: {}", failed[*index].message))?,
        }
    }
    Ok(code)
}
