//! Counters of the server itself.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::StatusCode;

/// How many requests were answered, by class; how many events were given out; how many streams are open.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    answers: [AtomicU64; 4],
    pub(crate) refused: AtomicU64,
    pub(crate) streams: AtomicU64,
    pub(crate) events: AtomicU64,
}

const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

impl Metrics {
    pub(crate) fn count(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(2, 5) - 2;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
    }

    /// In the text format of Prometheus.
    pub(crate) fn write(&self, out: &mut String) {
        head(out, "atm_web_requests_total", "counter", "Answered requests by class of status");
        for (class, count) in CLASSES.iter().zip(&self.answers) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "atm_web_requests_total{{class=\"{class}\"}} {count}");
        }
        for (name, kind, help, value) in [
            ("atm_web_refused_total", "counter", "Requests without a key, or from elsewhere", &self.refused),
            ("atm_web_event_streams", "gauge", "Open event streams", &self.streams),
            ("atm_web_events_total", "counter", "Events given out", &self.events),
        ] {
            head(out, name, kind, help);
            let _ = writeln!(out, "{name} {}", value.load(Ordering::Relaxed));
        }
    }
}

/// What stands before the values of a metric.
pub(crate) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
