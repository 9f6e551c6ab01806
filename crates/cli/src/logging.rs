//! `ATM_LOG`: what happens inside, on stderr. Off unless it is set.
//!
//! A filter is a level (`error`, `warn`, `info`, `debug`, `trace`), or `part=level` for the parts whose path begins so,
//! or several of these with commas between them; the longest that fits counts: `info,atm_office::chores=debug`.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atm_daemon::journal::Journal;
use atm_office::clock::{Clock as _, SystemClock};
use tracing::field::{Field, Visit};
use tracing::metadata::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::output::safe;

/// Starts to log if the environment wants it; gives a warning if it wants something that is no filter.
pub(crate) fn start() -> Option<String> {
    let wanted = std::env::var("ATM_LOG").ok().filter(|wanted| !wanted.is_empty())?;
    match Filter::parse(&wanted) {
        Ok(filter) => {
            // Nobody else does: this is called once.
            let _ = tracing::subscriber::set_global_default(Log::new(filter));
            None
        }
        Err(why) => Some(format!("ATM_LOG: {why}; nothing is logged")),
    }
}

/// Starts to log into the daemon's journal, and on stderr as well if somebody looks there.
pub(crate) fn start_journal(journal: Journal, on_stderr: bool) {
    let wanted = std::env::var("ATM_LOG").ok().and_then(|wanted| Filter::parse(&wanted).ok());
    let filter = wanted.unwrap_or_else(|| Filter(vec![(String::new(), LevelFilter::INFO)]));
    let log = Log { journal: Some(journal), on_stderr, ..Log::new(filter) };
    let _ = tracing::subscriber::set_global_default(log);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tracing::error!(%panic, "panic");
        usual(panic);
    }));
}

/// What is logged.
#[derive(Debug, PartialEq, Eq)]
struct Filter(Vec<(String, LevelFilter)>);

impl Filter {
    fn parse(text: &str) -> Result<Self, String> {
        let level = |text: &str| {
            let parsed = text.parse::<LevelFilter>().ok().filter(|_| !text.is_empty());
            parsed.ok_or_else(|| format!("{text:?} is no level: error, warn, info, debug, trace or off"))
        };
        let rules = text.split(',').map(str::trim).filter(|rule| !rule.is_empty()).map(|rule| {
            match rule.split_once('=') {
                Some((part, wanted)) => Ok((part.trim().to_owned(), level(wanted.trim())?)),
                None => Ok((String::new(), level(rule)?)),
            }
        });
        let mut rules: Vec<_> = rules.collect::<Result<_, String>>()?;
        rules.sort_by_key(|(part, _)| std::cmp::Reverse(part.len()));
        Ok(Self(rules))
    }

    fn level_of(&self, target: &str) -> LevelFilter {
        let fits = |part: &str| {
            target
                .strip_prefix(part)
                .is_some_and(|rest| part.is_empty() || rest.is_empty() || rest.starts_with("::"))
        };
        self.0.iter().find(|(part, _)| fits(part)).map_or(LevelFilter::OFF, |(_, level)| *level)
    }
}

/// A span that is open.
#[derive(Debug)]
struct Open {
    words: String,
    target: &'static str,
    begun: Instant,
    handles: usize,
}

#[derive(Debug)]
struct Log {
    filter: Filter,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
    journal: Option<Journal>,
    on_stderr: bool,
}

impl Log {
    fn new(filter: Filter) -> Self {
        Self { filter, next: AtomicU64::new(1), open: Mutex::default(), journal: None, on_stderr: true }
    }

    fn say(&self, level: tracing::Level, target: &str, words: &str) {
        if let Some(journal) = &self.journal {
            journal.note(SystemClock.now(), level.as_str(), &format!("{target}: {words}"));
        }
        if self.on_stderr {
            // If nobody listens there, the answer still counts.
            let _ = writeln!(io::stderr(), "{level} {target}: {}", safe::line(words));
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fields in words. What they hold may be anybody's text.
#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        let _ = match field.name() {
            "message" => write!(self.0, "{space}{value:?}"),
            name => write!(self.0, "{space}{name}={value:?}"),
        };
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.filter.level_of(metadata.target())
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut words = Words(span.metadata().name().to_owned());
        span.record(&mut words);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let target = span.metadata().target();
        self.open().insert(id, Open { words: words.0, target, begun: Instant::now(), handles: 1 });
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(open) = self.open().get_mut(&span.into_u64()) {
            let mut words = Words(std::mem::take(&mut open.words));
            values.record(&mut words);
            open.words = words.0;
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut words = Words::default();
        event.record(&mut words);
        self.say(*event.metadata().level(), event.metadata().target(), &words.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(open) = self.open().get_mut(&span.into_u64()) {
            open.handles += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut all = self.open();
        let Some(open) = all.get_mut(&span.into_u64()) else { return false };
        open.handles -= 1;
        if open.handles > 0 {
            return false;
        }
        let closed = all.remove(&span.into_u64());
        drop(all);
        if let Some(closed) = closed {
            let took = closed.begun.elapsed();
            self.say(tracing::Level::DEBUG, closed.target, &format!("{} took {took:.1?}", closed.words));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_that_fits_decides() {
        let filter = Filter::parse("info, atm_office::chores=debug,atm_office=warn,atm_store=off").unwrap();
        for (target, level) in [
            ("atm_office::chores::runner", LevelFilter::DEBUG),
            ("atm_office::chores", LevelFilter::DEBUG),
            ("atm_office::choresome", LevelFilter::WARN),
            ("atm_store::watch", LevelFilter::OFF),
            ("rmcp", LevelFilter::INFO),
        ] {
            assert_eq!(filter.level_of(target), level, "{target}");
        }
        assert_eq!(Filter::parse("atm_office=debug").unwrap().level_of("rmcp"), LevelFilter::OFF);
        assert!(Filter::parse("loud").unwrap_err().contains("loud"));
        assert!(Filter::parse("atm_office=").is_err());
    }
}
