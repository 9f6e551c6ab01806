//! `atm daemon run`

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{env, process, thread};

use atm_daemon::journal::Journal;
use atm_daemon::peers::PeerProgram;
use atm_daemon::{Daemon, Ended, Settings as DaemonSettings, SettingsFiles, Supervised};
use atm_notify::Notifier;
use atm_office::Office;
use atm_office::chores::Chore;
use clap::Args;

use super::super::bridge;
use super::super::duration::duration;
use super::super::web;
use super::units::{PANICKED, UPGRADED};
use crate::chores::{Chores, notifier_in_background};
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
    /// End with a code of its own if another program stands in the place of this one: for `atm daemon install`
    #[arg(long, hide = true)]
    service: bool,
}

impl Run {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if self.detached {
            // Without it, the terminal's end would be ours; that a service manager did it already is no matter.
            let _ = nix::unistd::setsid();
        }
        logging::start_journal(Journal::of(context.office.state()), !self.detached);
        let is_service = self.service;
        atm_daemon::begin_again(context.office.state().clone(), move || begin_again(is_service));
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
        let file = Settings::user_file()?;
        let mut files = SettingsFiles::read([file.clone()]);
        let settings = Settings::of_user(&context.global)?;
        serve_web(context, &settings)?;
        let mut bridge = keep_bridge(context, &settings);
        let mut chores = Arc::new(UserChores::new(settings, &context.office));
        loop {
            let peers = chores.settings.native_peers.value.then(|| peer_program(context)).flatten();
            match daemon.run(&DaemonSettings { chores: Arc::<UserChores>::clone(&chores), files, peers })? {
                Ended::SettingsChanged => {
                    files = SettingsFiles::read([file.clone()]);
                    match Settings::of_user(&context.global) {
                        Ok(changed) => {
                            if changed.bridge.value != chores.settings.bridge.value {
                                // The one before ends first: there is one at a time.
                                drop(bridge.take());
                                bridge = keep_bridge(context, &changed);
                            }
                            chores = Arc::new(UserChores::new(changed, &context.office));
                        }
                        // Those before stay in force until the file can be read.
                        Err(Failure::Told(told)) => {
                            tracing::error!(error = told.message, "the settings cannot be used");
                        }
                        Err(failure) => return Err(failure),
                    }
                }
                ended => {
                    let is_upgrade = self.service && ended == Ended::Replaced && daemon.has_successor();
                    daemon.end(ended);
                    return Ok(if is_upgrade { UPGRADED } else { 0 });
                }
            }
        }
    }
}

/// Ends this process after a panic, and has another one in its place: a service manager starts it, or we do.
fn begin_again(is_service: bool) {
    if is_service {
        process::exit(PANICKED);
    }
    if let Ok(program) = env::current_exe() {
        // It comes back only if there is no such program any more; then the panic ends this one as usual.
        let error = process::Command::new(program).args(env::args_os().skip(1)).exec();
        tracing::error!(%error, "cannot begin again");
    }
}

/// How the process of a peer is started: as this program.
fn peer_program(context: &Context) -> Option<PeerProgram> {
    // Its file may have been replaced: the program that runs can still be started where the system has a name for it.
    let own = PathBuf::from("/proc/self/exe");
    let program = if own.exists() { own } else { env::current_exe().ok()? };
    let (root, state) = (context.office.root().path(), context.office.state().path());
    let words: [&OsStr; 6] = [
        "--root".as_ref(),
        root.as_ref(),
        "--state".as_ref(),
        state.as_ref(),
        "daemon".as_ref(),
        "peer".as_ref(),
    ];
    Some(PeerProgram { program, arguments: words.map(ToOwned::to_owned).to_vec() })
}

/// Serves the dashboard beside the daemon's work, if the settings say where. It ends with the office's waits; a port that is
/// taken is no reason to end.
fn serve_web(context: &Context, settings: &Settings) -> Result<(), Failure> {
    let Some(port) = settings.web.value.port else { return Ok(()) };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.get()));
    let served = web::served(context, settings, address, settings.web.value.read_only)?;
    thread::spawn(move || {
        let ended =
            atm_web::serve(served, |listening| tracing::info!(url = listening.url, "serves the dashboard"));
        if let Err(error) = ended {
            tracing::error!(%error, %address, "the dashboard cannot be served");
        }
    });
    Ok(())
}

/// Keeps a bridge to other machines running beside the daemon's work, if the settings say to which server.
fn keep_bridge(context: &Context, settings: &Settings) -> Option<Supervised> {
    if !settings.bridge.value.is_wanted() {
        return None;
    }
    let (root, state) = (context.office.root().path().to_owned(), context.office.state().path().to_owned());
    let command = move || {
        let program = bridge::find().ok_or_else(|| format!("{} is not installed", bridge::PROGRAM))?;
        let mut command = Command::new(program);
        command.arg("--root").arg(&root).arg("--state").arg(&state).args(["run", "--supervised"]);
        Ok(command)
    };
    Supervised::start(bridge::PROGRAM, command)
        .inspect_err(|error| tracing::error!(%error, "the bridge cannot be kept running"))
        .ok()
}

/// The chores, by the user's settings.
#[derive(Debug)]
struct UserChores {
    settings: Settings,
    notifier: Option<Notifier>,
}

impl UserChores {
    fn new(settings: Settings, office: &Office) -> Self {
        let notifier = notifier_in_background(&settings.notifications.value, office);
        Self { settings, notifier }
    }
}

impl atm_daemon::Chores for UserChores {
    fn lend(&self, act: &mut dyn FnMut(&[&dyn Chore])) {
        act(&Chores::of(&self.settings, self.notifier.as_ref()).list());
    }

    fn keep_house(&self, office: &Office) -> Vec<String> {
        let house = atm_upkeep::house::keep(office, &self.settings.upkeep.value);
        tracing::info!(packed = house.packed, removed = house.removed, "kept house");
        house.troubles
    }
}
