//! How long a send holds the clients' lock on a large inbox: some of them lose mail if they cannot have it.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;

const RUNS: usize = 30;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("lock")?;
    world.fill(0..20_000, true)?;
    let lock = world.inbox().with_extension("json.lock");
    let (mut texts, mut limits, mut holds) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..RUNS {
        limits.extend(bare_commit(&world.inbox())?);
        let text = format!("locked send {run}");
        holds.extend(watched(&lock, || {
            measure::run(world.atm("team-lead").args(["send", "bob", &text])).map(drop)
        })?);
        texts.push(text);
    }
    world.must_have(&texts)?;
    ensure!(!holds.is_empty(), "{RUNS} sends, and {} was never seen: is it taken at all?", lock.display());

    let limit = median(&limits);
    let row = |what: &str, hold| {
        Row::new(format!("the clients' lock, held by a send into 20,000 messages: {what}"), hold)
            .against("bare commit", limit, hold)
            .aim_ms(1, hold)
    };
    let longest = holds.iter().max().copied().unwrap_or_default();
    Ok(vec![row("median", median(&holds)), row("longest of 30", longest)])
}

/// Runs `work` while a second thread looks at the lock without a pause; each time that it was held.
fn watched(lock: &Path, work: impl FnOnce() -> Result<()>) -> Result<Vec<Duration>> {
    let (watching, done) = (Barrier::new(2), AtomicBool::new(false));
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            watching.wait();
            watch(lock, &done)
        });
        watching.wait();
        let worked = work();
        done.store(true, Ordering::Relaxed);
        let holds = watcher.join().map_err(|_| anyhow!("the watcher panicked"))?;
        worked.map(|()| holds)
    })
}

fn watch(lock: &Path, done: &AtomicBool) -> Vec<Duration> {
    let mut holds = Vec::new();
    let mut since = None;
    while !done.load(Ordering::Relaxed) {
        let held = lock.symlink_metadata().is_ok();
        match since {
            None if held => since = Some(Instant::now()),
            Some(start) if !held => {
                holds.push(start.elapsed());
                since = None;
            }
            _ => {}
        }
    }
    holds
}

/// The least that has to be done under the lock. The replaced file is kept open until afterwards, so that
/// freeing its blocks is not part of it.
fn bare_commit(inbox: &Path) -> Result<Vec<Duration>> {
    let beside = |extension| inbox.with_extension(extension);
    let (copy, temp, lock) = (beside("copy"), beside("copy.tmp"), beside("copy.lock"));
    let bytes = fs::read(inbox)?;
    measure::write_synced(&copy, &bytes)?;
    measure::write_synced(&temp, &bytes)?;
    let _replaced = File::open(&copy)?;
    watched(&lock, || {
        fs::create_dir(&lock)?;
        fs::rename(&temp, &copy)?;
        fs::remove_dir(&lock)?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_seen_and_timed() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("bob.json.lock");
        let hold = Duration::from_millis(100);
        let holds = watched(&lock, || {
            fs::create_dir(&lock)?;
            thread::sleep(hold);
            fs::remove_dir(&lock)?;
            thread::sleep(hold);
            Ok(())
        });
        let holds = holds.unwrap();
        assert_eq!(holds.len(), 1);
        assert!(holds[0] <= hold * 10, "{holds:?}");
    }
}
