//! What all pages have: head, navigation, search, the state of the connection, dialogs.

use atm_wire::{Stamp, TeamName};
use axum::body::Body;
use axum::http::{Response, StatusCode};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::keys;
use super::parts::{age, team_href};
use crate::serve;

/// The pages about everything, and those of a team.
const PAGES: [(&str, &str); 4] =
    [("/", "All teams"), ("/search", "Mail"), ("/trouble", "Failed"), ("/stats", "Numbers")];
const PAGES_OF_TEAM: [(&str, &str); 4] =
    [("", "Overview"), ("/tasks", "Tasks"), ("/plans", "Plans"), ("/inboxes/user", "Your mail")];

/// A page of which all changes are shown as they come.
#[derive(Debug)]
pub(super) struct Shell<'a> {
    pub(super) title: &'a str,
    /// Where it stands among [`PAGES`], or among [`PAGES_OF_TEAM`].
    pub(super) at: &'a str,
    /// The team that it is about.
    pub(super) team: Option<&'a TeamName>,
    pub(super) teams: &'a [TeamName],
    /// Where in the log it was made, and when.
    pub(super) cursor: String,
    pub(super) as_of: Stamp,
    pub(super) read_only: bool,
}

impl Shell<'_> {
    pub(super) fn page(&self, main: &Markup) -> Response<Body> {
        serve::html(StatusCode::OK, self.markup(main).into_string())
    }

    fn markup(&self, main: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" data-read-only[self.read_only] {
                (head(self.title))
                body {
                    a.skip href="#main" { "To the content" }
                    header {
                        a.brand href="/" { img src="/assets/atm.svg" alt=""; "atm" }
                        (self.navigation())
                        form.find role="search" action="/search" {
                            input type="search" name="q" aria-label="Search all mail" placeholder="Search all mail ( / )";
                        }
                        div.state {
                            span #link role="status" data-state="static" { "not live: reload for news" }
                            @if !self.read_only {
                                label.switch hidden { input #acting type="checkbox" role="switch"; " Actions" }
                            } @else {
                                span.badge { "read-only" }
                            }
                        }
                    }
                    main #main tabindex="-1" data-cursor=(self.cursor) {
                        h1 { (self.title) }
                        p.as-of { "As of " (age(self.as_of, self.as_of)) "." }
                        (main)
                    }
                    div #said role="status" aria-live="polite" {}
                    footer {
                        a href="/keys" { "Keys ( ? )" } " · "
                        a href="/openapi.json" { "API" } " · "
                        "Looking changes nothing and marks nothing as read."
                    }
                    (keys::dialog())
                    dialog #palette aria-label="Commands" {
                        input type="text" aria-label="Go to, or do" placeholder="Go to, or do" autocomplete="off";
                        ul {}
                    }
                }
            }
        }
    }

    fn navigation(&self) -> Markup {
        html! {
            nav aria-label="Pages" {
                @for (href, name) in &PAGES { a href=(href) aria-current=[(self.at == *href).then_some("page")] { (name) } }
                @if !self.teams.is_empty() { span.teams aria-hidden="true" { "│" } }
                @for team in self.teams.iter().take(12) {
                    a href=(team_href(team, "")) aria-current=[self.is_of(team).then_some("true")] { (team) }
                }
            }
            @if let Some(team) = self.team {
                nav.below aria-label="Pages of the team" {
                    @for (below, name) in &PAGES_OF_TEAM {
                        a href=(team_href(team, below)) aria-current=[(self.at == *below).then_some("page")] { (name) }
                    }
                }
            }
        }
    }

    fn is_of(&self, team: &TeamName) -> bool {
        self.team == Some(team)
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · atm" }
            link rel="stylesheet" href="/assets/atm.css";
            link rel="icon" href="/assets/atm.svg" type="image/svg+xml";
            script src="/assets/atm.js" defer {}
        }
    }
}

/// A page that says what did not work.
pub(super) fn plain(status: StatusCode, title: &str, words: &str, hint: Option<&str>) -> Response<Body> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · atm" }
            }
            body {
                main {
                    h1 { (title) }
                    p { (words) }
                    @if let Some(hint) = hint { p { "Hint: " (hint) } }
                    @if status != StatusCode::UNAUTHORIZED { p { a href="/" { "All teams" } } }
                }
            }
        }
    };
    serve::html(status, page.into_string())
}

/// A picture that is drawn elsewhere, with all its texts escaped.
pub(super) fn picture(svg: String) -> Markup {
    html! { figure.chart tabindex="0" { (PreEscaped(svg)) } }
}
