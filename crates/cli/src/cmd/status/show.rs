//! A team in one look: what needs one, mail for you, then the members.

use atm_office::protocol::signed;
use atm_office::sessions::{TEAM, WaitingSession, is_team};
use atm_office::view::{Attention, Remedy, TeamPicture};

use crate::cmd::members;
use crate::context::Context;
use crate::failure::Failure;
use crate::hint::word;
use crate::output::paint::Paint;
use crate::output::table::{Cell, cut, whole};
use crate::output::times::age;
use crate::output::{Out, ids, safe};

/// So many of each are shown.
const MOST: usize = 5;

/// What a command has to repeat, so that it is about the same team and the same person.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Repeat {
    /// Which team: another one would be meant, or none.
    pub(crate) team: bool,
    /// Who asks: that was said for this command alone.
    pub(crate) who: bool,
}

impl Repeat {
    /// How commands about this team begin.
    fn atm(self, picture: &TeamPicture) -> String {
        let team = self.team.then(|| format!(" -t {}", word(picture.team.as_str(), "TEAM")));
        format!("atm{}", team.unwrap_or_default())
    }
}

/// Shows the whole picture.
pub(crate) fn picture(out: &mut Out, picture: &TeamPicture, repeat: Repeat) -> Result<(), Failure> {
    let found = picture.needs_a_look();
    let atm = repeat.atm(picture);
    let team = out.paint.bold(&format!("team {}", safe::line(picture.team.as_str())));
    out.hanging(&format!("{team}: "), &headline(picture, &found, &atm))?;
    if picture.lead_signs {
        out.line(signed::WARNING)?;
    }
    for warning in &picture.warnings {
        out.hanging(&format!("{} ", out.paint.attention("warning:")), warning)?;
    }
    let rows = found.iter().take(MOST).map(|attention| {
        let style = Paint::ATTENTION;
        vec![
            Cell::styled(&format!("  {}", remedy(&attention.remedy(), &atm)), style),
            out.times.in_words(&attention.because()).into(),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    if !rows.is_empty() {
        out.table(&[whole("  TRY"), cut("BECAUSE", 20)], rows)?;
    }
    out.more(found.len().saturating_sub(MOST), &format!("{atm} pending --all"))?;
    for_you(out, picture, repeat)?;
    out.line("")?;
    members::show(out, &picture.members, false)?;
    Ok(())
}

/// Mail for the one who looks.
fn for_you(out: &mut Out, picture: &TeamPicture, repeat: Repeat) -> Result<(), Failure> {
    let mail = &picture.for_you;
    let Some(first) = mail.first() else { return Ok(()) };
    out.line("")?;
    let to = safe::line(&first.to).into_owned();
    let who = repeat.who.then(|| format!(" --as {}", word(&to, "NAME")));
    let atm = format!("{}{}", repeat.atm(picture), who.unwrap_or_default());
    out.hanging("", &format!("{} unread for {to}: {atm} read", mail.len()))?;
    let rows: Vec<Vec<Cell>> = mail
        .iter()
        .rev()
        .take(MOST)
        .map(|one| {
            let text = one.words();
            let what = one.summary.as_deref().unwrap_or_else(|| text.lines().next().unwrap_or_default());
            vec![
                Cell::styled(&format!("  {}", one.from), Paint::of_member(one.color.as_deref())),
                out.times.moment_of(&one.timestamp).into(),
                what.into(),
                Cell::styled(&ids::short(&one.id), Paint::DIM),
            ]
        })
        .collect();
    out.table(&[cut("  FROM", 10), whole("SENT"), cut("WHAT", 16), whole("ID")], rows)?;
    out.more(mail.len().saturating_sub(MOST), &format!("{atm} inbox"))?;
    Ok(())
}

/// What needs a look, in one sentence.
fn headline(picture: &TeamPicture, found: &[&Attention], atm: &str) -> String {
    let names: Vec<String> = found.iter().take(MOST).map(|attention| reason(picture, attention)).collect();
    let more = if found.len() > MOST { format!(" and {} more", found.len() - MOST) } else { String::new() };
    let waiting = match picture.pending.len() {
        0 => String::new(),
        count => format!("; {count} waiting: {atm} pending"),
    };
    let waiting = match picture.muted.len() {
        0 => waiting,
        count => format!("{waiting}; {count} muted: {atm} mute"),
    };
    match found.len() {
        0 if picture.pending.is_empty() => format!("{}{waiting}", picture.looked.nothing()),
        0 if picture.is_deserted() => format!("nobody is there{waiting}"),
        0 => format!("nothing needs a look{waiting}"),
        1 => format!("1 needs a look: {}", names.join(", ")),
        count => format!("{count} need a look: {}{more}", names.join(", ")),
    }
}

/// Whom it is about, why, and for how long.
fn reason(picture: &TeamPicture, attention: &Attention) -> String {
    let since = attention.since.map(|since| picture.as_of.as_millis() - since.as_millis());
    let long = since.map(|since| format!(" {}", age(since))).unwrap_or_default();
    match &attention.who {
        Some(who) => format!("{who} ({}{long})", attention.reason.words()),
        None => format!("{}{long}", attention.reason.words()),
    }
}

/// The command that helps.
fn remedy(remedy: &Remedy, atm: &str) -> String {
    match remedy {
        Remedy::Wake(name) => format!("{atm} wake {}", word(name, "NAME")),
        Remedy::Peek(name) => format!("{atm} peek {}", word(name, "NAME")),
        Remedy::Why(name) => format!("{atm} status {} --why", word(name, "NAME")),
        Remedy::Track(id) => format!("atm track {}", word(&ids::short(id), "ID")),
        Remedy::ReleaseTask(id) => format!("{atm} task release {}", word(id, "ID")),
        Remedy::ListPending => format!("{atm} pending"),
        Remedy::RunDoctor => "atm doctor".to_owned(),
    }
}

/// Unread mail for the one who looks and what needs a look, of these teams and so many sessions together, in the few columns of a
/// status bar.
pub(super) fn marks(pictures: &[TeamPicture], sessions: usize) -> String {
    let mail: usize = pictures.iter().map(|picture| picture.for_you.len()).sum();
    let looks: usize = pictures.iter().map(|picture| picture.needs_a_look().len()).sum();
    format!("✉{mail} !{}", looks + sessions)
}

/// The same of each of several teams, a line each; sessions that none of them has are counted with their own team.
pub(super) fn lines(pictures: &[TeamPicture], sessions: usize) -> Vec<String> {
    let marks_of = |picture: &TeamPicture| {
        let own = if is_team(&picture.team) { sessions } else { 0 };
        format!("{} {}", safe::line(picture.team.as_str()), marks(std::slice::from_ref(picture), own))
    };
    let mut lines: Vec<String> = pictures.iter().map(marks_of).collect();
    if sessions > 0 && !pictures.iter().any(|picture| is_team(&picture.team)) {
        lines.push(format!("{TEAM} {}", marks(&[], sessions)));
    }
    lines
}

/// Sessions that wait for their user, a line each.
pub(super) fn sessions(out: &mut Out, waiting: &[&WaitingSession]) -> Result<(), Failure> {
    for session in waiting.iter().take(MOST) {
        let rest = format!("{}: {}", session.what, remedy(&session.remedy(), "atm"));
        out.hanging(&format!("{} ", out.paint.attention("needs you:")), &rest)?;
    }
    out.more(waiting.len().saturating_sub(MOST), "atm sessions")?;
    Ok(())
}

/// What to do where there is no team.
pub(super) fn how_to_begin(context: &mut Context) -> Result<(), Failure> {
    let root = context.office.root().path().display().to_string();
    let out = &mut context.out;
    out.hanging("", &format!("no team in {root} yet"))?;
    out.hanging("  atm demo              ", "plays a team's day in a throw-away folder, in a few seconds")?;
    out.hanging("  atm team create NAME  ", "makes a team; `atm member add NAME` adds who is in it")?;
    out.hanging(
        "  atm install claude    ",
        "makes every session of Claude Code a mailbox, without a team: `atm sessions` lists them",
    )?;
    out.hanging(
        "  atm                   ",
        "shows a team that Claude Code runs, as soon as it has started one there",
    )?;
    Ok(())
}
