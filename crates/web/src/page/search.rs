//! `/search`: all mail, with filters that stack and stay in the address.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use maud::{Markup, html};

use super::parts::{command, empty, encoded, line, message_row, word};
use super::render;
use crate::api::{Asked, History};
use crate::app::App;

pub(super) async fn show(State(app): State<App>, Asked(asked): Asked<History>) -> Response<Body> {
    render(&app, move |view| {
        let found = asked.find(view.settings)?;
        let title = if is_given(asked.q.as_deref()) { "Search" } else { "Mail" };
        let main = html! {
            (filters(&asked))
            (chips(&asked))
            p.note { "Newest first. " (command(&as_command(&asked))) }
            @if found.items.is_empty() {
                (empty("Nothing fits. Everything that was ever sent or seen was looked through, as of now."))
            }
            ul.rows { @for message in &found.items { (message_row(message, view.now)) } }
            @if let Some(next) = &found.next {
                nav.turn aria-label="More mail" { a href=(href(&History { cursor: Some(next.clone()), ..asked.clone() })) rel="next" { "Older" } }
            }
        };
        Ok(view.page("/search", title, None, &main))
    })
    .await
}

fn is_given(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.trim().is_empty())
}

/// The filters by name, as far as they are set.
fn fields(asked: &History) -> Vec<(&'static str, &str)> {
    let all = [
        ("q", &asked.q),
        ("team", &asked.team),
        ("from", &asked.from),
        ("to", &asked.to),
        ("type", &asked.r#type),
        ("since", &asked.since),
        ("until", &asked.until),
        ("cursor", &asked.cursor),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .filter(|(_, value)| !value.trim().is_empty())
        .collect()
}

fn href(asked: &History) -> String {
    let parts: Vec<String> =
        fields(asked).iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    format!("/search?{}", parts.join("&"))
}

fn without(asked: &History, name: &str) -> History {
    let mut rest = History { cursor: None, ..asked.clone() };
    match name {
        "q" => rest.q = None,
        "team" => rest.team = None,
        "from" => rest.from = None,
        "to" => rest.to = None,
        "type" => rest.r#type = None,
        "since" => rest.since = None,
        _ => rest.until = None,
    }
    rest
}

/// The filters that are set, each with a way to take it away.
fn chips(asked: &History) -> Markup {
    let set = fields(asked);
    html! { @if set.iter().any(|(name, _)| *name != "cursor") {
        ul.chips aria-label="Filters that are set" {
            @for (name, value) in set.iter().filter(|(name, _)| *name != "cursor") {
                li { a href=(href(&without(asked, name))) title="Take this filter away" { (name) ": " (line(value)) " ×" } }
            }
        }
    } }
}

fn filters(asked: &History) -> Markup {
    let field = |name: &'static str, label: &str, value: &Option<String>, hint: &str| {
        html! { label { (label) " " input name=(name) value=[value.as_deref()] placeholder=(hint) size="12"; } }
    };
    html! {
        form.filters action="/search" role="search" aria-label="Filters" {
            (field("q", "Words", &asked.q, "\"the build\""))
            (field("team", "Team", &asked.team, ""))
            (field("from", "From", &asked.from, ""))
            (field("to", "To", &asked.to, ""))
            (field("type", "Type", &asked.r#type, "message"))
            (field("since", "Since", &asked.since, "2h"))
            (field("until", "Until", &asked.until, ""))
            button { "Find" }
        }
    }
}

fn as_command(asked: &History) -> String {
    let mut words = vec!["atm".to_owned()];
    words.extend(
        asked.team.as_deref().filter(|team| !team.is_empty()).map(|team| format!("-t {}", word(team))),
    );
    match asked.q.as_deref().filter(|words| !words.trim().is_empty()) {
        Some(given) => words.push(format!("search {}", word(given))),
        None => words.push("log".to_owned()),
    }
    let options = fields(asked).into_iter().filter(|(name, _)| !["q", "team", "cursor"].contains(name));
    words.extend(options.map(|(name, value)| format!("--{name} {}", word(value))));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_stack_and_each_can_be_taken_away() {
        let given = |text: &str| Some(text.to_owned());
        let asked =
            History { q: given("the build"), from: given("bob"), since: given("2h"), ..History::default() };
        assert_eq!(href(&asked), "/search?q=the%20build&from=bob&since=2h");
        assert_eq!(href(&without(&asked, "from")), "/search?q=the%20build&since=2h");
        assert_eq!(as_command(&asked), "atm search 'the build' --from bob --since 2h");
        assert_eq!(as_command(&without(&asked, "q")), "atm log --from bob --since 2h");
    }
}
