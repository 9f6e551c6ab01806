//! `atm daemon run`

use std::thread;
use std::time::Duration;

use atm_daemon::journal::Journal;
use atm_daemon::{Daemon, Ended, Settings as DaemonSettings};
use clap::Args;

use super::super::duration::duration;
use crate::chores::Chores;
use crate::context::Context;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::{logging, stop, version};

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Stop after this long: 30s, 10m
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    patience: Option<Duration>,
    /// Leave the terminal: for `atm daemon start`
    #[arg(long, hide = true)]
    detached: bool,
}

impl Run {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if self.detached {
            // Without it, the terminal's end would be ours; that a service manager did it already is no matter.
            let _ = nix::unistd::setsid();
        }
        logging::start_journal(Journal::of(context.office.state()), !self.detached);
        let listener = atm_daemon::control::inherited();
        let office = context.office.clone();
        stop::end_in_order(office.hub());
        if let Some(patience) = self.patience {
            let waits = office.hub().clone();
            thread::spawn(move || {
                thread::sleep(patience);
                waits.shut_down();
            });
        }
        let mut daemon = Daemon::begin(office, env!("CARGO_PKG_VERSION"), &version::build(), listener)?;
        if !self.detached {
            context
                .out
                .note(format!("watching {}; Ctrl-C ends it", context.office.root().path().display()))?;
            context.out.finish()?;
        }
        // No project has a say in what is done for all.
        let mut settings = Settings::of_user(&context.global)?;
        loop {
            let chores = Chores::of(&settings);
            let list = chores.list();
            let run = DaemonSettings { chores: &list, files: vec![Settings::user_file()?] };
            match daemon.run(&run)? {
                Ended::SettingsChanged => match Settings::of_user(&context.global) {
                    Ok(changed) => settings = changed,
                    // Those before stay in force until the file can be read.
                    Err(Failure::Told(told)) => {
                        tracing::error!(error = told.message, "the settings cannot be used");
                    }
                    Err(failure) => return Err(failure),
                },
                ended => {
                    daemon.end(ended);
                    return Ok(0);
                }
            }
        }
    }
}
