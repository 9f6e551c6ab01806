//! `atm bridge run`.

use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;
use std::time::SystemTime;

use atm_bridge::engine::Identity;
use atm_bridge::house::House;
use atm_bridge::nats::connect::without_password;
use atm_bridge::nats::setup::Limits;
use atm_bridge::run::collecting::Collecting;
use atm_bridge::run::status::Status;
use atm_bridge::run::worker::{Handle, Input, Worker};
use atm_bridge::run::{self, Plan};
use atm_bridge::tasks::files::OfficeFiles;
use atm_bridge::trust::Trust;
use atm_store::Signature;
use atm_store::watch::{Stop, Watcher};
use tokio::sync::{mpsc, oneshot, watch};

use crate::args::{Me, Server};
use crate::context::Context;
use crate::failure::Failure;

/// Share teams with other machines, until it is stopped
///
/// Runs in the foreground. Mail for members of other machines is accepted while no bridge runs or the server is down, and sent
/// when they are back.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge run --nats nats://hub:4222 --team alpha
  atm bridge run --nats tls://hub:4222 --creds ~/.config/atm/laptop.creds --team alpha=work

Exit codes: 0 it was stopped by a signal; 5 a bridge runs here already.")]
pub(crate) struct Run {
    #[command(flatten)]
    me: Me,
    #[command(flatten)]
    server: Server,
    /// A team to share, as LOCAL or LOCAL=SHARED; several times for several [default: bridge.teams]
    #[arg(long = "team", short, value_name = "TEAM")]
    teams: Vec<String>,
    /// Leave bodies readable for the server and for machines that it lets in, but for large ones
    #[arg(long)]
    no_seal: bool,
    /// End when standard input ends: for the daemon, which keeps the other end open for as long as it lives
    #[arg(long, hide = true)]
    supervised: bool,
}

impl Run {
    pub(crate) fn run(&self, context: &Context) -> Result<i32, Failure> {
        let (realm, machine) = (context.realm(&self.me)?, context.machine(&self.me)?);
        let (server, shares) = (context.server(&self.server)?, context.shares(&self.teams)?);
        let (office, files) = (context.office(), context.files());
        let Some(_serving) = office.machines().serve()? else {
            return Err(Failure::new(5, "bridge_runs", "a bridge runs here already")
                .hint("`atm bridge status` shows it"));
        };
        let (key, trusted) = (context.key()?, context.trust()?);
        let teams = shares.iter().map(|share| format!("{}={}", share.local, share.shared)).collect();
        let nats = without_password(&server.servers.join(","));
        for share in shares.iter().filter(|share| !office.has_team(&share.local)) {
            eprintln!("warning: there is no team {} here; it is shared as soon as there is", share.local);
        }
        let locals: Vec<_> = shares.iter().map(|share| share.local.clone()).collect();
        office.machines().set_shared_teams(&machine, &locals)?;
        let apart = office.apart();
        let house = House::new(office, shares.clone(), machine.clone())?;
        let me = Identity { realm: realm.clone(), machine: machine.clone(), epoch: house.epoch()? };
        let status = Status::new(machine.clone(), realm, nats.clone(), teams, Context::now());
        let (engine, inputs) = Handle::new();
        let (outputs, posts) = mpsc::unbounded_channel();
        let collecting = Collecting::new(house.collector()?, engine.clone(), house.has_events());
        let worker = Worker::new(me.clone(), house, files.clone(), inputs, outputs, status);
        let (busy, catch_up) = (worker.busy(), worker.catch_up());
        let tasks = OfficeFiles::new(apart, shares, machine.clone(), &files, worker.residences());
        let socket = tasks.socket();
        engine.send(Input::Trust(Box::new(trusted.clone())));
        let worker = thread::Builder::new().name("engine".to_owned()).spawn(move || worker.run())?;
        let (trust_sender, trust) = watch::channel(trusted);
        // `atm bridge trust` rings the bell: trust holds from then on. A file that is put there by other means is found at the next look
        // by the clock.
        let mut followed = FollowedTrust { file: files.trust(), known: trust_sender, seen: None };
        let (watcher, quiet) = (Watcher::default(), Stop::default());
        let (events, stop) = (watcher.clone(), quiet.clone());
        let waker = thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || collecting.run(&events, &stop, |engine| followed.look(engine)))?;
        let plan = Plan {
            me,
            key,
            server,
            limits: Limits::default(),
            seals: !self.no_seal && context.settings.seal.unwrap_or(true),
            files: files.clone(),
            watcher,
            tasks: Mutex::new(Some(tasks)),
            busy,
            catch_up,
        };
        if !plan.seals {
            eprintln!("warning: mail is not sealed: the server, and all that it lets in, can read it");
        }
        eprintln!("{machine}: bridge to {nats}; Ctrl-C ends it");
        let ended: Result<(), Failure> =
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
                let (stop_sender, stop) = watch::channel(false);
                let supervisor = self.supervised.then(end_of_input).transpose()?;
                tokio::spawn(async move {
                    tokio::select! {
                        () = wait_for_a_signal() => {}
                        () = wait_for_the_end(supervisor) => {}
                    }
                    let _ = stop_sender.send(true);
                });
                Ok(run::run(plan, engine.clone(), posts, trust, stop).await?)
            });
        quiet.stop();
        engine.send(Input::Stop);
        let _ = worker.join();
        let _ = waker.join();
        // Nobody listens there any more; the next bridge would replace it.
        let _ = std::fs::remove_file(socket);
        ended.map(|()| 0)
    }
}

/// The file of trust, as it was read last.
struct FollowedTrust {
    file: PathBuf,
    known: watch::Sender<Trust>,
    seen: Option<Signature>,
}

impl FollowedTrust {
    /// Reads the file if it may have changed.
    fn look(&mut self, engine: &Handle) {
        let (now, look) = (SystemTime::now(), Signature::of([&self.file]));
        if self.seen.as_ref() == Some(&look) {
            return;
        }
        let loaded = Trust::load(&self.file);
        self.seen = Some(look).filter(|look| loaded.is_ok() && look.is_settled(now));
        match loaded {
            Ok(changed) if changed != *self.known.borrow() => {
                engine.send(Input::Trust(Box::new(changed.clone())));
                let _ = self.known.send(changed);
            }
            Ok(_) => {}
            // What was trusted before stays trusted: an unreadable file says nothing.
            Err(error) => engine.send(Input::Trouble(error.to_string())),
        }
    }
}

async fn wait_for_a_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Tells when standard input ends. A thread of its own blocks there: nothing has to be asked again and again.
fn end_of_input() -> std::io::Result<oneshot::Receiver<()>> {
    let (ended, end) = oneshot::channel();
    thread::Builder::new().name("supervisor".to_owned()).spawn(move || {
        // Whatever stands there is nothing to us, and an input that cannot be read has no supervisor behind it.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = ended.send(());
    })?;
    Ok(end)
}

async fn wait_for_the_end(supervisor: Option<oneshot::Receiver<()>>) {
    match supervisor {
        Some(end) => {
            // Told or dropped: there is no supervisor any more.
            let _ = end.await;
        }
        None => std::future::pending().await,
    }
}
