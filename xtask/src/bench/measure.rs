//! Measuring: what a child process costs, and what the machine needs at least.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::repo;

/// What one run took.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    pub(super) wall: Duration,
    /// User and system time of the process and its children.
    pub(super) cpu: Duration,
}

/// Runs a child to its end, whatever it answers.
pub(super) fn run_any(command: &mut Command) -> Result<Cost> {
    let cpu_before = cpu_of_children()?;
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let wall = start.elapsed();
    status.with_context(|| format!("cannot start: {}", repo::shown(command)))?;
    Ok(Cost { wall, cpu: cpu_of_children()?.saturating_sub(cpu_before) })
}

/// Runs a child to its end; it must succeed. Children are measured one at a time: the CPU time is what all
/// ended children of this process have used since.
pub(super) fn run(command: &mut Command) -> Result<Cost> {
    let cpu_before = cpu_of_children()?;
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let wall = start.elapsed();
    let output = output.with_context(|| format!("cannot start: {}", repo::shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}\n{said}", output.status, repo::shown(command));
    }
    Ok(Cost { wall, cpu: cpu_of_children()?.saturating_sub(cpu_before) })
}

/// Runs a child `runs` times; the medians, each for itself.
pub(super) fn run_often(runs: usize, mut command: impl FnMut() -> Command) -> Result<Cost> {
    let costs = (0..runs).map(|_| run(&mut command())).collect::<Result<Vec<_>>>()?;
    Ok(median_cost(&costs))
}

pub(super) fn median_cost(costs: &[Cost]) -> Cost {
    let median_of = |part: fn(&Cost) -> Duration| median(&costs.iter().map(part).collect::<Vec<_>>());
    Cost { wall: median_of(|cost| cost.wall), cpu: median_of(|cost| cost.cpu) }
}

/// The middle one; of an even number, the upper of the two in the middle. Nothing took no time.
pub(super) fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The shortest time that so many percent of all did not exceed. Nothing took no time.
pub(super) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// A number that the kernel tells of a process; memory is in kilobytes.
pub(super) fn kernel_says(pid: u32, key: &str) -> Result<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).context("the kernel tells it")?;
    let number = line.trim_start_matches(':').split_whitespace().next().context("a number")?;
    Ok(number.parse()?)
}

/// The CPU time of all threads that a process has now, to the nanosecond.
pub(super) fn cpu_of(pid: u32) -> Result<Duration> {
    let mut nanos = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let of_one: u64 = text.split(' ').next().context("an empty schedstat")?.parse()?;
        nanos += of_one;
    }
    Ok(Duration::from_nanos(nanos))
}

fn cpu_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("the system does not tell CPU times")?;
    Ok(duration(usage.user_time()) + duration(usage.system_time()))
}

fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// The least that a durable change of a whole file takes: read it, write it beside, fsync, rename, fsync of
/// the folder.
pub(super) fn durable_copy(source: &Path) -> Result<Duration> {
    let copy = source.with_extension("copy");
    let temp = source.with_extension("copy.tmp");
    let folder = source.parent().context("a file has a folder")?;
    let start = Instant::now();
    write_synced(&temp, &fs::read(source)?)?;
    fs::rename(&temp, &copy)?;
    File::open(folder)?.sync_all()?;
    Ok(start.elapsed())
}

/// The least that any durable change takes: one byte and an fsync, twice.
pub(super) fn two_fsyncs(folder: &Path) -> Result<Duration> {
    let mut file = File::create(folder.join("fsync"))?;
    let start = Instant::now();
    for _ in 0..2 {
        file.write_all(b".")?;
        file.sync_all()?;
    }
    Ok(start.elapsed())
}

/// Writes a new file and waits until it is on the disk.
pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_any_order() {
        let times = [3, 1, 2].map(Duration::from_millis);
        assert_eq!(median(&times), Duration::from_millis(2));
        assert_eq!(median(&[]), Duration::ZERO);
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 95), Duration::from_millis(95));
        assert_eq!(percentile(&times[..10], 95), Duration::from_millis(100));
        assert_eq!(percentile(&times, 0), Duration::from_millis(1));
        assert_eq!(percentile(&[], 95), Duration::ZERO);
    }

    #[test]
    fn a_run_has_a_cost_and_a_failed_one_says_what_it_said() {
        let cost = run(Command::new("sleep").arg("0.05")).unwrap();
        assert!(cost.wall >= Duration::from_millis(50) && cost.cpu < cost.wall);
        let error = run(Command::new("sh").args(["-c", "echo no such thing >&2; exit 3"])).err().unwrap();
        assert!(error.to_string().contains("no such thing"), "{error}");
    }

    #[test]
    fn a_durable_copy_is_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("bob.json");
        fs::write(&source, "[]").unwrap();
        durable_copy(&source).unwrap();
        assert_eq!(fs::read(folder.path().join("bob.copy")).unwrap(), b"[]");
    }
}
