//! What needs a person, each with its reason and what helps; then what waits as it should, and what is muted.

use atm_office::view::mute::{Mute, Muted};
use atm_office::view::{Reason, Remedy};
use atm_wire::brief::short_id;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::Clock;
use super::frame::{Cell, labelled, lines, list, open, paragraph, row};
use crate::command::short;
use crate::keys::Place;
use crate::need::Need;
use crate::state::State;
use crate::text::age;

pub(super) fn draw(state: &State, area: Rect, frame: &mut Frame) {
    let needs = state.needs();
    let team = state.team.as_ref().map(|team| format!(" in {team}")).unwrap_or_default();
    let inner = open(state, area, &format!("Needs you{team}"), state.place() == Place::Needs, frame);
    let columns = usize::from(inner.width);
    let rows: Vec<Line> = needs.iter().map(|need| row(&cells(state, need, columns))).collect();
    list(state, inner, (rows, Some(state.need)), true, &nothing(state), frame);
}

/// That nothing waits, what was looked at, and when.
fn nothing(state: &State) -> String {
    let trouble = state.team_row().and_then(|row| row.trouble.as_ref());
    match (state.known(), trouble) {
        (_, Some(trouble)) => format!("what needs you is not known: {}", trouble.what),
        (Some(known), None) => {
            let looked = age(state.now, known.picture.as_of);
            let looked = if looked == "now" { "just now".to_owned() } else { format!("{looked} ago") };
            format!("Nothing needs you. {} — looked {looked}.", known.picture.looked.nothing())
        }
        (None, None) if state.teams.as_ref().is_some_and(Vec::is_empty) => "there is no team".to_owned(),
        (None, None) => "looking…".to_owned(),
    }
}

fn cells(state: &State, need: &Need, columns: usize) -> Vec<Cell> {
    let theme = state.theme;
    let (reason, style, since, what, helps) = match need {
        Need::Plan(plan) => {
            let what = plan.summary.clone().unwrap_or_else(|| plan.plan.clone().unwrap_or_default());
            ("plan", theme.attention(), Some(plan.timestamp), what, "a approve, x reject".to_owned())
        }
        Need::ForYou(message) => {
            let at = atm_wire::Stamp::parse(&message.timestamp).ok();
            ("for you", theme.bold(), at, message.gist().to_owned(), "r reply, m read".to_owned())
        }
        Need::Look(attention) => {
            let helps = remedy(&attention.remedy());
            (attention.reason.words(), theme.attention(), attention.since, attention.because(), helps)
        }
        Need::Session(session) => {
            let reason = Reason::WaitsForUser.words();
            (reason, theme.attention(), session.since, session.what.clone(), remedy(&session.remedy()))
        }
        Need::Waits(waiting) => {
            let what = format!("{}: {}", waiting.why.words(None), waiting.message.gist());
            ("waits", theme.dim(), Some(waiting.message.timestamp), what, String::new())
        }
        Need::Muted(mute) => ("muted", theme.dim(), Some(mute.since), subject(mute), "M unmute".to_owned()),
    };
    let ago = since.map(|at| age(state.now, at)).unwrap_or_default();
    let (reasons, names, help) = if columns < 70 { (12, 9, 0) } else { (22, 12, 22) };
    let fixed = reasons + 6 + names + help + 3 + usize::from(help > 0);
    vec![
        (reason.to_owned(), reasons, style),
        (format!("{ago:>6}"), 6, theme.dim()),
        (need.who().unwrap_or_default().to_owned(), names, theme.bold()),
        (what, columns.saturating_sub(fixed), Style::new()),
        (helps, help, theme.key()),
    ]
}

/// What is muted, in words.
fn subject(mute: &Mute) -> String {
    match mute.kind {
        Muted::Member => format!("everything about {}", mute.what),
        Muted::Task => format!("task {}", mute.what),
        Muted::Message => format!("message {}", short_id(&mute.what)),
    }
}

/// What helps: a key of this screen where there is one.
fn remedy(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Wake(_) => "w wake".to_owned(),
        Remedy::Peek(_) => "p peek".to_owned(),
        Remedy::Why(_) => "atm status --why".to_owned(),
        Remedy::Track(_) => "Enter open".to_owned(),
        Remedy::ReleaseTask(_) => "R release".to_owned(),
        Remedy::ListPending => "atm pending".to_owned(),
        Remedy::RunDoctor => "atm doctor".to_owned(),
    }
}

/// All that is known of the one that is meant.
pub(super) fn draw_detail(state: &State, clock: Clock, area: Rect, frame: &mut Frame) {
    let theme = state.theme;
    let inner = open(state, area, "What it is", false, frame);
    let needs = state.needs();
    let content = match needs.get(state.need) {
        None => Vec::new(),
        Some(Need::Plan(plan)) => {
            let head = format!("{} asks {}, {}", plan.from, plan.to, clock(plan.timestamp));
            let mut content = vec![labelled("Plan ", &head, (theme.bold(), theme.dim())), Line::default()];
            content.extend(lines(plan.plan.as_deref().unwrap_or_default(), inner.width, Style::new()));
            content
        }
        Some(Need::ForYou(message)) => {
            let head = format!("{} → {}, {}", message.from, message.to, message.timestamp);
            let mut content = vec![labelled("Mail ", &head, (theme.bold(), theme.dim())), Line::default()];
            content.extend(lines(&message.words(), inner.width, Style::new()));
            content
        }
        Some(Need::Look(attention)) => {
            let mut content = lines(&attention.because(), inner.width, Style::new());
            let since = attention.since.map(|at| format!("since {}", clock(at))).unwrap_or_default();
            content.extend(lines(&since, inner.width, theme.dim()));
            content
        }
        Some(Need::Session(session)) => {
            let mut content = lines(&session.what, inner.width, Style::new());
            let place = format!("{} in {}", session.client, session.folder.display());
            content.extend(lines(&place, inner.width, theme.dim()));
            content
        }
        Some(Need::Muted(mute)) => {
            let mut content = lines(&subject(mute), inner.width, Style::new());
            let until = format!("muted until {}", clock(mute.until));
            content.extend(lines(&until, inner.width, theme.dim()));
            content
        }
        Some(Need::Waits(waiting)) => {
            let message = &waiting.message;
            let head = format!("{} → {}, {}", message.from, message.to, clock(message.timestamp));
            let mut content =
                vec![labelled(&format!("Mail {} ", short(&message.id)), &head, (theme.bold(), theme.dim()))];
            content.extend(lines(&waiting.why.words(None), inner.width, theme.attention()));
            content.push(Line::default());
            content.extend(lines(&message.words(), inner.width, Style::new()));
            content
        }
    };
    paragraph(inner, content, 0, frame);
}
