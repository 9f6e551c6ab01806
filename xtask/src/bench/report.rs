//! The table of results, and its place in the documents.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::before;
use super::measure::Cost;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";
/// Where there is nothing to say.
const NONE: &str = "–";

const METHOD: &str = "\
What `atm` costs, beside what the machine can do at best. `cargo xtask bench` prints the table; with `--write` it \
replaces the one below.

## How the numbers were got

Each time is the median of several runs of the release binary, each run a process of its own; CPU is its user \
and system time. The binary is a copy, as an installation makes one: the linker's own file lies in the page cache in \
small pieces, and a send from there took a quarter more CPU. Files are in the page cache. The limit is measured between the same runs, on the same disk:

- *durable copy*: read the inbox, write it to a file beside it, fsync, rename, fsync of the folder;
- *two fsyncs*: write one byte and fsync, twice;
- *process start*: `atm --version`;
- *bare commit*: mkdir, rename of a file that is already on the disk, rmdir;
- *no ledger*: the same sends, in turns, with a folder in the ledger's place, so that it cannot be opened;
- *read the whole file*: a gigabyte of archived mail, 1 MB at a time, with nothing made of it.

A lock is timed from outside, by a thread that looks at it without a pause.

A slow disk is simulated: a library that is loaded before the C library makes each fsync of `atm` 5 ms slower \
(Linux, with a C compiler). One at a time, 100 sends are timed, and their time counts four times.

The ledger's messages are made up: 20 words each, as unevenly frequent as in a language (of 8,191, the most frequent \
is in four of five messages, the rarest in a few hundred of a million), in 40 inboxes of 8 teams; 19 of 20 are seen, \
the others taken. *Before* is what was measured when the ledger kept stages in tables instead of events, on the same kind of machine. A search is for one to three words of some message, every fourth with its last word cut short. \
*In process* is the library, without the start of a process and without a look at the inboxes.

The comparisons with `jq` and Python use neither fsync nor lock.
";

/// One measured operation.
pub(super) struct Row {
    operation: String,
    measured: String,
    limit: Option<(String, f64)>,
    /// What was aimed at, and whether it was met.
    aims: Vec<(String, bool)>,
}

impl Row {
    pub(super) fn new(operation: impl Into<String>, measured: Duration) -> Self {
        Self { operation: operation.into(), measured: ms(measured), limit: None, aims: Vec::new() }
    }

    /// A child's run, with its CPU time.
    pub(super) fn of_run(operation: impl Into<String>, cost: Cost) -> Self {
        let measured = format!("{}, CPU {}", ms(cost.wall), ms(cost.cpu));
        Self { measured, ..Self::new(operation, cost.wall) }
    }

    pub(super) fn is_of(&self, operation: &str) -> bool {
        self.operation == operation
    }

    pub(super) fn measured(&self) -> &str {
        &self.measured
    }

    /// The aims, and whether each was met.
    pub(super) fn aims(&self) -> (String, String) {
        if self.aims.is_empty() {
            return (NONE.to_owned(), NONE.to_owned());
        }
        let aims: Vec<_> = self.aims.iter().map(|(aim, _)| aim.as_str()).collect();
        let met: Vec<_> = self.aims.iter().map(|(_, met)| if *met { "yes" } else { "no" }).collect();
        (aims.join("; "), met.join("; "))
    }

    /// What is no time.
    pub(super) fn of_words(operation: impl Into<String>, measured: String) -> Self {
        Self { measured, ..Self::new(operation, Duration::ZERO) }
    }

    /// A limit that is no time, and the part of it that was used.
    pub(super) fn beside(mut self, what: String, ratio: f64) -> Self {
        self.limit = Some((what, ratio));
        self
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

    /// One more aim.
    pub(super) fn aim(mut self, aim: impl Into<String>, met: bool) -> Self {
        self.aims.push((aim.into(), met));
        self
    }

    /// An aim in milliseconds.
    pub(super) fn aim_ms(self, aim: u64, measured: Duration) -> Self {
        self.aim(format!("≤ {aim} ms"), measured <= Duration::from_millis(aim))
    }

    /// An aim in milliseconds of CPU time.
    pub(super) fn aim_cpu_ms(self, aim: u64, measured: Cost) -> Self {
        self.aim(format!("CPU ≤ {aim} ms"), measured.cpu <= Duration::from_millis(aim))
    }

    /// An aim as a multiple of the limit, which must be there.
    pub(super) fn aim_ratio(self, aim: f64) -> Self {
        match self.limit {
            Some((_, ratio)) => self.aim(format!("≤ {aim} ×"), ratio <= aim),
            None => self,
        }
    }
}

/// In milliseconds, or in seconds where these are many.
pub(super) fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    if ms >= 1000.0 {
        return format!("{:.2} s", ms / 1000.0);
    }
    let digits = if ms < 10.0 { 2 } else { usize::from(ms < 100.0) };
    format!("{ms:.digits$} ms")
}

/// A number as people write it: 1,000,000.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| operation | measured | limit it is measured against | ratio | aim | met? |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let (limit, ratio) = match &row.limit {
            Some((limit, ratio)) => (limit.clone(), format!("{ratio:.2}")),
            None => (NONE.to_owned(), NONE.to_owned()),
        };
        let (aim, met) = row.aims();
        let _ =
            writeln!(table, "| {} | {} | {limit} | {ratio} | {aim} | {met} |", row.operation, row.measured);
    }
    table
}

/// Puts the table into the document, between the markers; a document that is not there is made.
pub(super) fn write(document: &Path, rows: &[Row], scratch: &Path) -> Result<()> {
    let facts = machine(scratch);
    let results = format!(
        "\nBy `cargo xtask bench --write`: {facts}.\n\n### Before and after\n\n{}\n### All\n\n{}",
        before::table(rows),
        table(rows)
    );
    let old = match fs::read_to_string(document) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => template(),
        read => read.with_context(|| format!("cannot read {}", document.display()))?,
    };
    let new = between_markers(&old, &results)
        .with_context(|| format!("{} needs the lines {BEGIN} and {END}", document.display()))?;
    fs::write(document, new).with_context(|| format!("cannot write {}", document.display()))
}

fn template() -> String {
    format!("# Benchmarks\n\n{METHOD}\n## Results\n\n{BEGIN}\n{END}\n")
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
            Row::of_run("send", Cost { wall: time(3), cpu: time(2) })
                .against("durable copy", time(2), time(3))
                .aim_ratio(1.3)
                .aim_cpu_ms(2, Cost { wall: time(3), cpu: time(2) }),
            Row::new("read", time(51)).note("CPU low").aim_ms(50, time(51)),
        ];
        let expected = "| send | 3.00 ms, CPU 2.00 ms | durable copy: 2.00 ms | 1.50 | ≤ 1.3 ×; CPU ≤ 2 ms | no; yes |\n\
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

    #[test]
    fn a_missing_document_is_made_and_one_without_markers_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let document = folder.path().join("BENCHMARKS.md");
        let rows = [Row::new("read", Duration::from_millis(51))];
        write(&document, &rows, folder.path()).unwrap();
        let made = fs::read_to_string(&document).unwrap();
        assert!(made.starts_with("# Benchmarks\n\n") && made.contains("\n| read | 51.0 ms |"), "{made}");
        write(&document, &rows, folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&document).unwrap(), made);

        fs::write(&document, "my own").unwrap();
        assert!(write(&document, &rows, folder.path()).is_err());
        assert_eq!(fs::read_to_string(&document).unwrap(), "my own");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_000_000].map(grouped), ["0", "999", "1,000", "1,000,000"]);
    }
}
