//! A send while others hold its locks.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use super::Trial;
use super::case::Case;
use super::oracle::judge;
use super::report::Report;
use super::world::{self, World};

/// Holds an `flock` and a write transaction on each database of the state folder, each for its time.
const HOLDER: &str = r"
import fcntl, pathlib, sqlite3, sys, time
lock, state, lock_for, base_for = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
held = open(lock, 'a')
fcntl.flock(held, fcntl.LOCK_EX)
bases = []
for path in pathlib.Path(state).glob('*.db') if base_for else []:
    base = sqlite3.connect(path, isolation_level=None, timeout=30)
    base.execute('BEGIN IMMEDIATE')
    bases.append(base)
print('held', flush=True)
start = time.monotonic()
def wait(until):
    time.sleep(max(0, start + until - time.monotonic()))
for until, what in sorted([(lock_for, 'lock'), (base_for, 'base')]):
    wait(until)
    if what == 'lock':
        fcntl.flock(held, fcntl.LOCK_UN)
    else:
        for base in bases:
            base.execute('ROLLBACK')
";

pub(super) fn run(trial: &Trial) -> Result<Report> {
    // Seconds for which the flock and the ledger are held.
    let cases = [(40, 12), (12, 40), (2, 12), (40, 0), (4, 3)];
    let runs: Vec<_> = cases.iter().filter(|(lock, base)| trial.wants(&label(*lock, *base))).collect();
    let mut all = Report::default();
    // They only wait, so all at once.
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            runs.into_iter().map(|(lock, base)| scope.spawn(move || run_one(trial, *lock, *base))).collect();
        for run in runs {
            all.merge(run.join().map_err(|_| anyhow::anyhow!("a run panicked"))??);
        }
        Ok(all)
    })
}

fn label(lock: u32, base: u32) -> String {
    format!("flock for {lock} s and ledger for {base} s")
}

fn run_one(trial: &Trial, lock: u32, base: u32) -> Result<Report> {
    let world = World::create(trial.atm, &trial.scratch.join(format!("held-{lock}-{base}")))?;
    let mut holder = hold(&world, lock, base)?;
    let case = Case::send("sent beside held locks");
    let answer = world::finish(world.command(&[], case.who, &case.args()), None, |_| ());
    holder.kill()?;
    holder.wait()?;
    let answer = answer?;
    let mut report = Report::default();
    report.add(&label(lock, base), answer.code, judge(&world, &case, &answer)?);
    Ok(report)
}

fn hold(world: &World, lock: u32, base: u32) -> Result<Child> {
    let mut command = Command::new("python3");
    command.args(["-c", HOLDER]).arg(world.inboxes().join(".lock")).arg(world.state());
    command.args([lock.to_string(), base.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut holder = command.spawn().context("cannot start python3")?;
    let said = holder.stdout.take().context("a pipe")?;
    BufReader::new(said).read_line(&mut String::new())?;
    Ok(holder)
}
