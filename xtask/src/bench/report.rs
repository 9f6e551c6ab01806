//! The table of results, and its place in the documents.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::measure::Cost;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

const METHOD: &str = "\
Each time is the median of several runs of the release binary, each run a process of its own; CPU is its user \
and system time. The limit is measured between the same runs, on the same disk:

- *durable copy*: read the inbox, write it to a file beside it, fsync, rename, fsync of the folder;
- *two fsyncs*: write one byte and fsync, twice;
- *process start*: `atm --version`;
- *bare commit*: mkdir, rename of a file that is already on the disk, rmdir.

A lock is timed from outside, by a thread that looks at it without a pause.

The comparisons with `jq` and Python use neither fsync nor lock.
";

/// One measured operation.
pub(super) struct Row {
    operation: String,
    measured: String,
    limit: Option<(String, f64)>,
    aim: Option<(String, bool)>,
}

impl Row {
    pub(super) fn new(operation: impl Into<String>, measured: Duration) -> Self {
        Self { operation: operation.into(), measured: ms(measured), limit: None, aim: None }
    }

    /// A child's run, with its CPU time.
    pub(super) fn of_run(operation: impl Into<String>, cost: Cost) -> Self {
        let measured = format!("{}, CPU {}", ms(cost.wall), ms(cost.cpu));
        Self { measured, ..Self::new(operation, cost.wall) }
    }

    pub(super) fn note(mut self, note: &str) -> Self {
        let _ = write!(self.measured, ", {note}");
        self
    }

    pub(super) fn against(mut self, what: &str, limit: Duration, measured: Duration) -> Self {
        let ratio = measured.as_secs_f64() / limit.as_secs_f64();
        self.limit = Some((format!("{what}: {}", ms(limit)), ratio));
        self
    }

    /// An aim in milliseconds.
    pub(super) fn aim_ms(mut self, aim: u64, measured: Duration) -> Self {
        self.aim = Some((format!("≤ {aim} ms"), measured <= Duration::from_millis(aim)));
        self
    }

    /// An aim as a multiple of the limit, which must be there.
    pub(super) fn aim_ratio(mut self, aim: f64) -> Self {
        self.aim = self.limit.as_ref().map(|(_, ratio)| (format!("≤ {aim} ×"), *ratio <= aim));
        self
    }
}

/// In milliseconds, or in seconds where these are many.
fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    if ms >= 1000.0 {
        return format!("{:.2} s", ms / 1000.0);
    }
    let digits = if ms < 10.0 { 2 } else { usize::from(ms < 100.0) };
    format!("{ms:.digits$} ms")
}

/// The rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| operation | measured | limit it is measured against | ratio | aim | met? |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let none = || "–".to_owned();
        let (limit, ratio) = match &row.limit {
            Some((limit, ratio)) => (limit.clone(), format!("{ratio:.2}")),
            None => (none(), none()),
        };
        let (aim, met) = match &row.aim {
            Some((aim, met)) => (aim.clone(), if *met { "yes" } else { "no" }.to_owned()),
            None => (none(), none()),
        };
        let _ =
            writeln!(table, "| {} | {} | {limit} | {ratio} | {aim} | {met} |", row.operation, row.measured);
    }
    table
}

/// Puts the table into the document, between the markers.
pub(super) fn write(document: &Path, rows: &[Row], scratch: &Path) -> Result<()> {
    let facts = machine(scratch);
    let results = format!("\nBy `cargo xtask bench --write`: {facts}.\n\n{}\n{METHOD}", table(rows));
    let old = fs::read_to_string(document)
        .unwrap_or_else(|_| format!("# What it costs, measured\n\n{BEGIN}\n{END}\n"));
    let new = between_markers(&old, &results)
        .with_context(|| format!("{} needs the lines {BEGIN} and {END}", document.display()))?;
    fs::write(document, new).with_context(|| format!("cannot write {}", document.display()))
}

fn between_markers(old: &str, results: &str) -> Option<String> {
    let (before, rest) = old.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{results}\n{END}{after}"))
}

/// What the results depend on; `folder` is on the disk that was used.
fn machine(folder: &Path) -> String {
    let cores = thread::available_parallelism().map_or_else(|_| "unknown".to_owned(), |n| n.to_string());
    let kernel = said("uname", &["-sr"]);
    let filesystem = said("df", &["-PT", &folder.to_string_lossy()]);
    let filesystem =
        filesystem.lines().last().and_then(|line| line.split_whitespace().nth(1)).unwrap_or("unknown");
    let date = said("date", &["-u", "+%Y-%m-%d"]);
    let rustc = said("rustc", &["--version"]);
    format!("{date}, {cores} cores, {kernel}, file system {filesystem}, {rustc}")
}

fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let said =
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if said.is_empty() { format!("unknown {program}") } else { said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_limit_ratio_and_aim() {
        let time = Duration::from_millis;
        let rows = [
            Row::new("send", time(3)).against("durable copy", time(2), time(3)).aim_ratio(2.0),
            Row::new("read", time(51)).note("CPU low").aim_ms(50, time(51)),
        ];
        let expected = "| send | 3.00 ms | durable copy: 2.00 ms | 1.50 | ≤ 2 × | yes |\n\
                        | read | 51.0 ms, CPU low | – | – | ≤ 50 ms | no |\n";
        assert!(table(&rows).ends_with(expected), "{}", table(&rows));
    }

    #[test]
    fn results_replace_results_and_nothing_else() {
        let old = format!("top\n{BEGIN}\nold\n{END}\nbottom\n");
        let new = between_markers(&old, "new").unwrap();
        assert_eq!(new, format!("top\n{BEGIN}\nnew\n{END}\nbottom\n"));
        assert_eq!(between_markers(&new, "new").unwrap(), new);
        assert!(between_markers("no markers", "new").is_none());
    }
}
