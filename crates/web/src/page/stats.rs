//! `/stats`: rates, waiting times, who talks to whom.

use std::collections::BTreeMap;

use atm_charts::{Bars, Circle, Distribution, Histogram, Style, Tick};
use atm_ledger::{Stats, Waits};
use atm_office::trail::history::Trace;
use atm_wire::{Stamp, TeamName, counted, visible};
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use maud::{Markup, html};

use super::home;
use super::layout::picture;
use super::parts::{command, empty, line, span, word};
use super::{View, render};
use crate::api::{Asked, Window};
use crate::app::{App, Fault};

/// From so many of the newest messages it is told who talks to whom.
const COUNTED: usize = 2_000;
/// More names than this are no picture any more.
const MOST_NAMES: usize = 16;

pub(super) async fn show(State(app): State<App>, Asked(asked): Asked<Window>) -> Response<Body> {
    render(&app, move |view| {
        let stats = asked.count(view.settings)?;
        let named = asked.team.as_deref().filter(|team| !team.is_empty());
        let team = named.map(|team| view.settings.team(Some(team))).transpose()?;
        let teams = team.clone().map_or_else(|| view.teams.clone(), |team| vec![team]);
        let since = asked.since.as_deref().filter(|since| !since.is_empty()).unwrap_or("1d");
        let main = html! {
            form.filters action="/stats" aria-label="Which numbers" {
                label { "Since " input name="since" value=(since) size="8"; }
                label { "Team " input name="team" value=[named] size="12"; }
                button { "Show" }
            }
            p.note { (stats.messages) " messages in " (span(stats.until - stats.since)) ", " (format!("{:.2}", stats.per_minute)) " a minute. " (command(&as_command(since, team.as_ref()))) }
            section aria-labelledby="rate-title" { h2 #rate-title { "Messages over time" } (picture(rates(&stats))) }
            section aria-labelledby="waits-title" { h2 #waits-title { "Time to taken, seen, acknowledged" } (waits(&stats)) }
            section aria-labelledby="talk-title" { h2 #talk-title { "Who talks to whom" } (talk(view, &teams)?) }
            (home::matrix(view, &teams)?)
        };
        Ok(view.page("/stats", "Numbers", team.as_ref(), &main))
    })
    .await
}

fn as_command(since: &str, team: Option<&TeamName>) -> String {
    let of = team.map_or_else(|| " --all-teams".to_owned(), |team| format!(" -t {}", word(team.as_str())));
    format!("atm stats{of} --since {}", word(since))
}

/// Messages in each part of the time.
fn rates(stats: &Stats) -> String {
    let length = (stats.until - stats.since).max(0);
    let parts = i64::try_from(stats.over_time.len()).unwrap_or(1).max(1);
    let title = format!("{} messages in {}, {:.2} a minute", stats.messages, span(length), stats.per_minute);
    let unit = format!("messages in {}", span(length / parts));
    // Of a longer time the days are told apart, not the minutes.
    let part = if length > 2 * 86_400_000 { 5..10 } else { 11..16 };
    let tick = |sixth: i64| {
        let stamp = Stamp::from_millis(stats.since + length * sixth / 6).to_string();
        Tick {
            at: u16::try_from(sixth * 1_000 / 6).unwrap_or(0),
            label: stamp.get(part.clone()).unwrap_or_default().to_owned(),
        }
    };
    let ticks: Vec<Tick> = (0..=6).map(tick).collect();
    let axis = "UTC";
    Bars { title: &title, unit: &unit, values: &stats.over_time, ticks: &ticks, axis }.draw(Style::OfPage)
}

fn waits(stats: &Stats) -> Markup {
    let reached: Vec<&Waits> = stats.waits.iter().filter(|wait| wait.messages > 0).collect();
    let Some(first) = reached.first() else {
        return empty("No message of this time reached one of these stages.");
    };
    let bounds: Vec<String> =
        first.distribution.iter().filter_map(|part| Some(in_words(part.below_ms?))).collect();
    let row = |wait: &&Waits| Distribution {
        label: format!("to {}", wait.stage.as_str()),
        note: format!("half within {}", in_words(wait.p50)),
        values: wait.distribution.iter().map(|part| part.messages).collect(),
    };
    let rows: Vec<Distribution> = reached.iter().map(row).collect();
    let drawn = Histogram {
        title: "How long messages took from sent to each stage",
        unit: "messages",
        axis: "time since it was sent; each part about three times the one before",
        bounds: &bounds,
        rows: &rows,
    };
    html! {
        (picture(drawn.draw(Style::OfPage)))
        div.scroll tabindex="0" role="group" aria-label="The same in numbers" { table {
            thead { tr { th scope="col" { "To" } th scope="col" { "Messages" } th scope="col" { "Half within" } th scope="col" { "90 % within" } th scope="col" { "99 % within" } } }
            tbody { @for wait in &reached { tr { th scope="row" { (wait.stage.as_str()) } td { (wait.messages) } td { (in_words(wait.p50)) } td { (in_words(wait.p90)) } td { (in_words(wait.p99)) } } } }
        } }
    }
}

/// A waiting time, down to milliseconds.
fn in_words(millis: i64) -> String {
    match millis {
        ..0 => "0 ms".to_owned(),
        0..1_000 => format!("{millis} ms"),
        60_000..3_600_000 => format!("{} min", millis / 60_000),
        3_600_000..86_400_000 => format!("{} h", millis / 3_600_000),
        _ => span(millis),
    }
}

fn talk(view: &View<'_>, teams: &[TeamName]) -> Result<Markup, Fault> {
    let found = view.office().trace(&Trace { teams: teams.to_vec(), limit: COUNTED, ..Trace::default() })?;
    let mut pairs: BTreeMap<(String, String), u64> = BTreeMap::new();
    for message in &found {
        *pairs.entry((message.from.clone(), message.to.clone())).or_default() += 1;
    }
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for ((from, to), count) in &pairs {
        *by_name.entry(from).or_default() += count;
        *by_name.entry(to).or_default() += count;
    }
    let mut names: Vec<(&str, u64)> = by_name.into_iter().collect();
    names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    names.truncate(MOST_NAMES);
    let names: Vec<String> = names.into_iter().map(|(name, _)| visible::line(name).into_owned()).collect();
    let place = |name: &str| names.iter().position(|known| *known == visible::line(name));
    let links: Vec<(usize, usize, u64)> =
        pairs.iter().filter_map(|((from, to), count)| Some((place(from)?, place(to)?, *count))).collect();
    let mut listed: Vec<(&(String, String), &u64)> = pairs.iter().collect();
    listed.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    Ok(html! {
        p.note { "The newest " (found.len()) " messages; the wider a line, the more." }
        @if found.is_empty() { (empty(&format!("No mail is on record; the inboxes of {} were looked at just now.", counted(teams.len(), "team")))) } @else {
            (picture(Circle { title: "Who talks to whom", names: &names, links: &links }.draw(Style::OfPage)))
            details { summary { "The same in numbers" }
                table { thead { tr { th scope="col" { "From" } th scope="col" { "To" } th scope="col" { "Messages" } } }
                    tbody { @for ((from, to), count) in listed.iter().take(40) { tr { td { (line(from)) } td { (line(to)) } td { (count) } } } } }
            }
        }
    })
}
