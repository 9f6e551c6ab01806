//! `atm daemon logs`

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use atm_daemon::journal::Journal;
use atm_store::watch::FolderWatch;
use clap::Args;
use serde_json::Value;

use super::super::duration::duration;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Go on: show lines as they come, until you stop it
    #[arg(long, short)]
    follow: bool,
    /// With --follow: stop after this long: 30s, 10m
    #[arg(long = "for", value_name = "TIME", value_parser = duration, requires = "follow")]
    patience: Option<Duration>,
    /// So many of the last lines
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50)]
    lines: usize,
}

impl Logs {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let journal = Journal::of(context.office.state());
        // The end is noted before the lines are read: a line that comes in between is shown by one of the two.
        let mut place = Place::end_of(&journal);
        for line in journal.last(self.lines) {
            show(context, &line)?;
        }
        if !self.follow {
            if !journal.path().exists() {
                context.out.note("no daemon has run here")?;
            }
            return Ok(0);
        }
        context.out.finish()?;
        let folder = context.office.state().daemon();
        let mut watch = FolderWatch::new([folder]);
        let deadline = self.patience.map(|patience| Instant::now() + patience);
        loop {
            for line in place.read(&journal) {
                show(context, &line)?;
            }
            context.out.finish()?;
            if !watch.wait(deadline) {
                return Ok(0);
            }
        }
    }
}

fn show(context: &mut Context, line: &str) -> Result<(), Failure> {
    if context.out.json {
        return Ok(context.out.raw(format!("{}\n", safe::json_line(line)).as_bytes())?);
    }
    let parsed: Value = serde_json::from_str(line).unwrap_or_default();
    let text = |key: &str| parsed[key].as_str().unwrap_or_default().to_owned();
    let words = if parsed.is_object() {
        format!("{}  {:<5} {}", text("at"), text("level"), text("what"))
    } else {
        line.to_owned()
    };
    Ok(context.out.line(safe::line(&words))?)
}

/// How far the journal was shown.
#[derive(Debug, Default)]
struct Place {
    inode: u64,
    length: u64,
}

impl Place {
    fn end_of(journal: &Journal) -> Self {
        std::fs::metadata(journal.path())
            .map_or(Self::default(), |found| Self { inode: found.ino(), length: found.len() })
    }

    /// The lines that came since, also those that came before the journal was moved aside.
    fn read(&mut self, journal: &Journal) -> Vec<String> {
        let mut lines = Vec::new();
        let is_another =
            |found: &Metadata, place: &Self| found.ino() != place.inode || found.len() < place.length;
        let Ok(mut file) = File::open(journal.path()) else { return lines };
        let Ok(found) = file.metadata() else { return lines };
        if is_another(&found, self) {
            // Opened after the new one was seen: it is complete by now.
            if let Ok(mut old) = File::open(journal.old())
                && old.metadata().is_ok_and(|found| !is_another(&found, self))
            {
                lines = self.read_on(&mut old);
            }
            *self = Self { inode: found.ino(), length: 0 };
        }
        lines.append(&mut self.read_on(&mut file));
        lines
    }

    fn read_on(&mut self, file: &mut File) -> Vec<String> {
        let mut lines = Vec::new();
        if file.seek(SeekFrom::Start(self.length)).is_err() {
            return lines;
        }
        let mut reader = BufReader::new(file);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line.ends_with('\n') {
            self.length += line.len() as u64;
            lines.push(line.trim_end().to_owned());
            line.clear();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use atm_store::State;
    use atm_wire::Stamp;

    use super::*;

    #[test]
    fn no_line_is_lost_when_the_journal_is_moved_aside() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().to_owned());
        state.daemon_lock().unwrap();
        let journal = Journal::of(&state);
        let mut place = Place::end_of(&journal);
        let mut shown = Vec::new();
        let count = 4000;
        for number in 0..count {
            let words = format!("{number} {}", "x".repeat(800));
            journal.note(Stamp::from_millis(0), "INFO", &words);
            // Two looks for each time that it is moved aside.
            if number % 700 == 0 {
                shown.append(&mut place.read(&journal));
            }
        }
        shown.append(&mut place.read(&journal));
        let numbers: Vec<usize> = shown
            .iter()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["what"].as_str().unwrap().to_owned())
            .map(|what| what.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(numbers, (0..count).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_line_is_cut_where_it_is_still_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().to_owned());
        state.daemon_lock().unwrap();
        let journal = Journal::of(&state);
        journal.note(Stamp::from_millis(0), "WARN", &"\"é\u{202e}".repeat(3000));
        let line: Value = serde_json::from_str(&journal.last(1)[0]).unwrap();
        assert_eq!(line["level"], "warn");
    }
}
