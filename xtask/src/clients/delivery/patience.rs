//! Bounded waits that end at once when the user interrupts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

const STEP: Duration = Duration::from_millis(50);

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From here on, Ctrl-C ends waits with an error, so that everything that was started is ended on the way out.
pub(in crate::clients) fn heed_signals() -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&INTERRUPTED))?;
    }
    Ok(())
}

pub(in crate::clients) fn check_interrupt() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}

/// Waits for a condition; says whether it came in time.
pub(in crate::clients) fn comes_true(
    limit: Duration,
    mut condition: impl FnMut() -> Result<bool>,
) -> Result<bool> {
    let deadline = Instant::now() + limit;
    loop {
        check_interrupt()?;
        if condition()? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(STEP);
    }
}

/// Waits for a condition that has to come true.
pub(in crate::clients) fn wait_for(
    what: &str,
    limit: Duration,
    condition: impl FnMut() -> Result<bool>,
) -> Result<()> {
    if comes_true(limit, condition)? {
        return Ok(());
    }
    bail!("waited {} s in vain: {what}", limit.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_in_vain_says_what_was_awaited() {
        let error = wait_for("the moon", Duration::ZERO, || Ok(false)).unwrap_err().to_string();
        assert_eq!(error, "waited 0 s in vain: the moon");
        let mut left = 2;
        let counted = comes_true(Duration::from_secs(30), || {
            left -= 1;
            Ok(left == 0)
        });
        assert!(counted.unwrap());
    }
}
