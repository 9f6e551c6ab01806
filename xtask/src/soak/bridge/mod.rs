//! Three machines and a server between them, of which everything fails again and again, beside mail from all to all. At the
//! end everything is up: each letter that was accepted is once in the right file, in its sender's order, and its sender's machine knows
//! what became of it; no task was two members' at once, none is lost, and all machines show the same ones.

mod account;
mod client;
mod machine;
mod mail;
mod moves;
pub(super) mod network;
mod proxy;
mod tasks;
mod weather;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::account::{Account, Table};
use self::machine::Machine;
use self::mail::Writer;
use self::network::Way;
use self::tasks::{Book, Worker};
use super::{EVERY, Storm, is_interrupted};
use crate::faults::random::Random;
use crate::faults::world::{LEAD, TEAM};
use crate::hub::Hub;

/// Letters for each minute, of all together.
const LETTERS_A_MINUTE: u128 = 5_000;
/// How long it may take until all machines know each other.
const MEETS_WITHIN: Duration = Duration::from_secs(60);
/// How long it may take after the storm until all receipts are home.
const SETTLES_WITHIN: Duration = Duration::from_secs(120);

/// The machines, with who is at home there.
const MACHINES: [(&str, [&str; 2]); 3] =
    [("laptop", ["ann", "abe"]), ("hub", ["bob", "bea"]), ("desk", ["eve", "eli"])];

/// Where all of it happens, and what was seen there.
struct Scene<'a> {
    storm: &'a Storm,
    machines: Vec<Machine>,
    account: Account,
    book: Book,
}

impl Scene<'_> {
    /// Choices of one actor.
    fn random(&self, actor: u64) -> Random {
        Random::new(self.storm.seed ^ actor.wrapping_mul(0x9e37_79b9))
    }

    /// A word that is in every text of this storm.
    fn word(&self) -> String {
        format!("storm{:x}", self.storm.seed)
    }

    /// What everybody but one is called on a machine: each machine has a lead of its own.
    fn names_at(&self, here: usize, but: &str) -> Vec<String> {
        let called = |(machine, name): (usize, String)| {
            if name == LEAD && machine != here {
                format!("{LEAD}.{}", self.machines[machine].name)
            } else {
                name
            }
        };
        mail::everybody(self).into_iter().map(called).filter(|name| name != but).collect()
    }

    /// Whom a name means on a machine: where that one is at home, and what it is called there.
    fn home_of(&self, here: usize, name: &str) -> (usize, String) {
        let lead = |machine: &Machine| name == format!("{LEAD}.{}", machine.name);
        if let Some(machine) = self.machines.iter().position(lead) {
            return (machine, LEAD.to_owned());
        }
        let lives_at = |machine: &Machine| machine.members.contains(&name);
        let home = if name == moves::MOVER { Some(0) } else { self.machines.iter().position(lives_at) };
        (home.unwrap_or(here), name.to_owned())
    }
}

/// Runs it for a while; gives the number of what is wrong.
pub(super) fn run(storm: &Storm, atm: &Path, folder: &Path, limit: Duration, is_own: bool) -> Result<usize> {
    if is_own {
        network::begin()?;
    } else {
        println!("soak: machines are separate roots: network namespaces cannot be made here");
    }
    let mut hub = Hub::start_in(&folder.join("server"))?;
    let mut machines = Vec::new();
    for ((name, members), number) in MACHINES.into_iter().zip(1..) {
        let way = Way::new(number, hub.port(), is_own)?;
        machines.push(Machine::new(atm, &folder.join(name), name, members, way)?);
    }
    if storm.moves {
        machines[0].world.must(LEAD, &["-t", TEAM, "member", "add", moves::MOVER])?;
    }
    let scene = Scene { storm, machines, account: Account::default(), book: Book::default() };
    introduce(&scene)?;
    let begun = Instant::now();
    let letters = (limit.as_millis() * LETTERS_A_MINUTE).div_ceil(60_000);
    // Two on each machine write.
    let of_each = u32::try_from(letters.div_ceil(2 * scene.machines.len() as u128))?;
    thread::scope(|scope| -> Result<()> {
        let scene = &scene;
        let mut writers = Vec::new();
        for (place, machine) in scene.machines.iter().enumerate() {
            for name in machine.members {
                let number = writers.len() as u64;
                let writer = Writer { scene, machine: place, name };
                writers.push(scope.spawn(move || writer.run(number, of_each, limit)));
            }
        }
        let mut others = vec![scope.spawn(|| weather::blow(scene, &mut hub, limit))];
        others.extend(storm.moves.then(|| scope.spawn(|| moves::wander(scene))));
        for (place, machine) in scene.machines.iter().enumerate() {
            others.push(scope.spawn(move || mail::read(scene, place)));
            others.push(scope.spawn(move || client::write(scene, place)));
            for name in machine.members {
                let number = others.len() as u64;
                let worker = Worker { scene, machine: place, name };
                others.push(scope.spawn(move || worker.run(number)));
            }
        }
        while (begun.elapsed() < limit || writers.iter().any(|writer| !writer.is_finished()))
            && begun.elapsed() < limit * 2
            && !is_interrupted()
            && others.iter().all(|other| !other.is_finished())
        {
            storm.pause(EVERY);
            let (mail, tasks) = (scene.account.progress(), scene.book.progress());
            println!("soak: {:>4.0} s: {mail}; {tasks}", begun.elapsed().as_secs_f64());
        }
        storm.stop.store(true, Ordering::Relaxed);
        for actor in writers.into_iter().chain(others) {
            actor.join().map_err(|_| anyhow::anyhow!("a part of the storm panicked"))??;
        }
        Ok(())
    })?;
    let stormed = begun.elapsed();
    if !is_interrupted() {
        scene.account.expect(usize::try_from(letters)?, &weather::kinds(limit));
    }
    if storm.moves {
        moves::come_home(&scene)?;
    }
    settle(&scene)?;
    let settled = begun.elapsed().saturating_sub(stormed);
    let mut table = Table::default();
    table.compare(&scene)?;
    Ok(table.print(&scene, stormed, settled))
}

/// Each trusts the others, runs, and knows everybody.
fn introduce(scene: &Scene) -> Result<()> {
    let mut keys = Vec::new();
    for machine in &scene.machines {
        let key = machine.world.must(LEAD, &["--json", "bridge", "key"])?;
        let key: Value = serde_json::from_str(&key.stdout)?;
        keys.push(key["key"].as_str().context("a bridge has a key")?.to_owned());
    }
    for machine in &scene.machines {
        for (other, key) in scene.machines.iter().zip(&keys).filter(|(other, _)| other.name != machine.name) {
            machine.world.must(LEAD, &["bridge", "trust", other.name, key])?;
        }
    }
    scene.machines.iter().try_for_each(Machine::start)?;
    let begun = Instant::now();
    let knows = |(place, machine): (usize, &Machine)| machine.knows(&scene.names_at(place, ""));
    while !scene.machines.iter().enumerate().all(knows) {
        if begun.elapsed() > MEETS_WITHIN {
            bail!("the machines do not know each other after {} s", MEETS_WITHIN.as_secs());
        }
        thread::sleep(Duration::from_millis(50));
    }
    println!("soak: the machines know each other after {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Waits until all receipts are home; what is not is in the table then.
fn settle(scene: &Scene) -> Result<()> {
    let begun = Instant::now();
    loop {
        let is_empty =
            |machine: &Machine| machine.status()["outbox"].as_object().is_some_and(serde_json::Map::is_empty);
        let open = if scene.machines.iter().all(is_empty) { scene.account.open(scene)? } else { usize::MAX };
        if open == 0 {
            return Ok(());
        }
        if begun.elapsed() > SETTLES_WITHIN || is_interrupted() {
            println!("soak: not everything is settled after {} s", begun.elapsed().as_secs());
            return Ok(());
        }
        thread::sleep(Duration::from_millis(500));
    }
}
