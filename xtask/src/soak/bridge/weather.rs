//! What goes wrong: partitions, delays, killed servers, bridges and daemons, a lost disk, machines that are off.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::machine::is_bridge;
use super::{Machine, Scene};
use crate::faults::random::Random;
use crate::hub::Hub;

/// The longest time between two faults, in milliseconds.
const BETWEEN: u64 = 2_400;
/// A storm of which no kind of fault may be left out by chance: one is drawn about every second.
const LONG: Duration = Duration::from_secs(110);
/// How long a bridge may live after its daemon was killed.
const OUTLIVES: Duration = Duration::from_secs(10);

/// Something that can go wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Partition,
    Delay,
    BridgeKilled,
    DaemonKilled,
    MachineOff,
    ServerKilled,
    DiskLost,
}

/// How often each is drawn; a disk is lost once, in the middle.
const DRAWN: [Fault; 10] = [
    Fault::Partition,
    Fault::Partition,
    Fault::Delay,
    Fault::Delay,
    Fault::BridgeKilled,
    Fault::BridgeKilled,
    Fault::DaemonKilled,
    Fault::DaemonKilled,
    Fault::MachineOff,
    Fault::ServerKilled,
];

/// What everything that can go wrong is called, of which a storm of this length has to have some of each.
pub(super) fn kinds(limit: Duration) -> Vec<&'static str> {
    if limit < LONG {
        Vec::new()
    } else {
        DRAWN.iter().chain([&Fault::DiskLost]).map(|fault| fault.name()).collect()
    }
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Partition => "partitions",
            Self::Delay => "delays",
            Self::BridgeKilled => "bridges killed",
            Self::DaemonKilled => "daemons killed",
            Self::MachineOff => "machines off for a while",
            Self::ServerKilled => "servers killed",
            Self::DiskLost => "servers' disks lost",
        }
    }

    /// The shortest and the longest time that it lasts, in milliseconds.
    fn lasts(self) -> (u64, u64) {
        match self {
            Self::Partition => (500, 8_000),
            Self::Delay => (1_000, 8_000),
            Self::BridgeKilled => (0, 1),
            Self::DaemonKilled => (0, 1_500),
            Self::MachineOff => (5_000, 15_000),
            Self::ServerKilled | Self::DiskLost => (0, 4_000),
        }
    }
}

/// A fault that lasts.
struct Trouble {
    fault: Fault,
    machine: usize,
    until: Instant,
}

struct Weather<'a> {
    scene: &'a Scene<'a>,
    hub: &'a mut Hub,
    random: Random,
    troubles: Vec<Trouble>,
    /// Bridges whose daemon was killed, and when.
    orphans: Vec<(u32, Instant)>,
}

/// Makes things go wrong until the storm is over; then everything is up again.
pub(super) fn blow(scene: &Scene, hub: &mut Hub, limit: Duration) -> Result<()> {
    let mut weather =
        Weather { scene, hub, random: scene.random(1), troubles: Vec::new(), orphans: Vec::new() };
    let begun = Instant::now();
    let (mut next, mut lost_disk) = (begun, false);
    while !scene.storm.is_over() {
        weather.mend(false)?;
        weather.look_for_orphans();
        if !lost_disk && begun.elapsed() > limit / 2 && weather.has_server() {
            lost_disk = true;
            weather.strike(Fault::DiskLost, 0)?;
        }
        if Instant::now() >= next {
            next = Instant::now() + Duration::from_millis(weather.random.below(BETWEEN));
            let fault = *weather.random.pick(&DRAWN);
            let machine = weather.random.below(scene.machines.len() as u64);
            weather.strike(fault, usize::try_from(machine)?)?;
        }
        scene.storm.pause(Duration::from_millis(50));
    }
    weather.mend(true)?;
    while !weather.orphans.is_empty() {
        weather.look_for_orphans();
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

impl Weather<'_> {
    fn has_server(&self) -> bool {
        let is_down = |trouble: &Trouble| matches!(trouble.fault, Fault::ServerKilled | Fault::DiskLost);
        !self.troubles.iter().any(is_down)
    }

    /// One fault, unless that machine, or the server, has one already.
    fn strike(&mut self, fault: Fault, machine: usize) -> Result<()> {
        let is_of_server = matches!(fault, Fault::ServerKilled | Fault::DiskLost);
        let is_ill = |trouble: &Trouble| {
            trouble.machine == machine && !matches!(trouble.fault, Fault::ServerKilled | Fault::DiskLost)
        };
        if if is_of_server { !self.has_server() } else { self.troubles.iter().any(is_ill) } {
            return Ok(());
        }
        let it: &Machine = &self.scene.machines[machine];
        match fault {
            Fault::Partition => it.way.cut()?,
            Fault::Delay => it.way.delay(Duration::from_millis(10 + self.random.below(390))),
            Fault::BridgeKilled => {
                if !it.kill_bridge()? {
                    return Ok(());
                }
            }
            Fault::DaemonKilled | Fault::MachineOff => {
                let now = Instant::now();
                self.orphans.extend(it.kill_daemon()?.map(|bridge| (bridge, now)));
            }
            Fault::ServerKilled => self.hub.kill()?,
            Fault::DiskLost => {
                self.hub.kill()?;
                self.hub.wipe()?;
            }
        }
        self.scene.account.count(fault.name());
        let (least, most) = fault.lasts();
        let lasts = Duration::from_millis(least + self.random.below(most - least));
        self.troubles.push(Trouble { fault, machine, until: Instant::now() + lasts });
        Ok(())
    }

    /// Ends what has lasted long enough, or everything.
    fn mend(&mut self, all: bool) -> Result<()> {
        let now = Instant::now();
        let (over, still) =
            std::mem::take(&mut self.troubles).into_iter().partition(|trouble| all || trouble.until <= now);
        self.troubles = still;
        let over: Vec<Trouble> = over;
        for trouble in over {
            let it = &self.scene.machines[trouble.machine];
            match trouble.fault {
                Fault::Partition => it.way.mend()?,
                Fault::Delay => it.way.delay(Duration::ZERO),
                Fault::BridgeKilled => {}
                Fault::DaemonKilled | Fault::MachineOff => it.start()?,
                Fault::ServerKilled | Fault::DiskLost => self.hub.start()?,
            }
        }
        Ok(())
    }

    /// A bridge ends when its daemon was killed.
    fn look_for_orphans(&mut self) {
        self.orphans.retain(|(bridge, since)| {
            let lives = is_bridge(*bridge);
            if lives && since.elapsed() > OUTLIVES {
                self.scene.account.wrong(format!("the bridge {bridge} outlived its killed daemon"));
                return false;
            }
            lives
        });
    }
}
