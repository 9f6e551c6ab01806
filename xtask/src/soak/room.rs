//! Inboxes, each with its own mix of writers and readers, so that what has to be true of it can be said exactly.

use std::time::Duration;

use anyhow::Result;

use super::Storm;
use super::foreign::{self, Script};
use super::ours;
use crate::faults::world::World;

/// An inbox and who is at it.
pub(super) struct Room {
    pub(super) name: &'static str,
    actors: &'static [Actor],
    /// Nobody but us undoes anything here.
    pub(super) is_safe: bool,
}

/// Somebody who does something again and again.
#[derive(Clone, Copy)]
pub(super) enum Actor {
    Send(u32),
    Batch,
    Broadcast,
    Read,
    Hook,
    Look,
    Watch,
    Upkeep,
    Foreign(Script),
}

/// All but the one on the small disk.
pub(super) const ROOMS: [Room; 7] = [
    Room {
        name: "drained",
        actors: &[
            Actor::Send(1),
            Actor::Batch,
            Actor::Look,
            Actor::Foreign(Script::ClientSends { in_place: false }),
            Actor::Foreign(Script::ClientDrains),
        ],
        is_safe: true,
    },
    Room {
        name: "marked",
        actors: &[
            Actor::Send(1),
            Actor::Foreign(Script::ClientSends { in_place: true }),
            Actor::Foreign(Script::ClientMarks),
            Actor::Upkeep,
        ],
        is_safe: true,
    },
    Room {
        name: "tools",
        actors: &[
            Actor::Send(1),
            Actor::Send(2),
            Actor::Foreign(Script::ToolSends),
            Actor::Foreign(Script::ToolMarks),
        ],
        is_safe: true,
    },
    Room {
        name: "undone",
        actors: &[Actor::Send(1), Actor::Look, Actor::Foreign(Script::Lockless)],
        is_safe: false,
    },
    Room {
        name: "reads",
        actors: &[Actor::Send(1), Actor::Read, Actor::Read, Actor::Upkeep, Actor::Watch],
        is_safe: true,
    },
    Room {
        name: "hooked",
        actors: &[Actor::Send(1), Actor::Hook, Actor::Foreign(Script::ClientSends { in_place: false })],
        is_safe: true,
    },
    Room { name: "everybody", actors: &[Actor::Broadcast], is_safe: true },
];

impl Room {
    /// The inbox on the small disk, where we are alone: other programs truncate files that they cannot write.
    pub(super) const SMALL: Self = Self {
        name: "small",
        actors: &[Actor::Send(1), Actor::Batch, Actor::Read, Actor::Look],
        is_safe: true,
    };

    pub(super) fn actors(&self) -> &'static [Actor] {
        self.actors
    }
}

impl Actor {
    /// Acts until the storm is over.
    pub(super) fn run(self, storm: &Storm, world: &World, room: &Room) -> Result<()> {
        let mut turn = 0;
        while !storm.is_over() {
            match self {
                Self::Send(number) => ours::send(storm, world, room, number, turn)?,
                Self::Batch => ours::batch(storm, world, room, turn)?,
                Self::Broadcast => ours::broadcast(storm, world, room, turn)?,
                Self::Read => ours::read(storm, world, room, turn)?,
                Self::Hook => ours::hook(storm, world, room, turn)?,
                Self::Look => ours::look(storm, world, turn)?,
                Self::Watch => ours::watch(world, room)?,
                Self::Upkeep => ours::upkeep(storm, world, room, turn)?,
                Self::Foreign(script) => foreign::burst(storm, world, room, script, turn)?,
            }
            storm.pause(self.gap());
            turn += 1;
        }
        Ok(())
    }

    fn gap(self) -> Duration {
        Duration::from_millis(match self {
            Self::Send(_) => 60,
            Self::Batch | Self::Hook => 300,
            Self::Read | Self::Foreign(_) => 200,
            Self::Broadcast | Self::Look | Self::Watch => 1000,
            Self::Upkeep => 2000,
        })
    }
}
