//! What may go wrong in a round of the simulation.

use super::random::Random;

/// In percent of the rounds or envelopes; the delay in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Troubles {
    pub(crate) lost_publish: u64,
    pub(crate) lost_answer: u64,
    pub(crate) delay: u64,
    pub(crate) crash: u64,
    pub(crate) lost_memory: u64,
    pub(crate) off: u64,
    pub(crate) wipe: u64,
    pub(crate) roll_back: u64,
    pub(crate) rewind: u64,
    pub(crate) expire: u64,
    pub(crate) forgotten_ids: u64,
    pub(crate) full_disk: u64,
    pub(crate) server_down: u64,
    pub(crate) recall: u64,
    pub(crate) moves: u64,
    /// Letters that are accepted by who looked at the team before a move.
    pub(crate) late: u64,
    /// A machine ends its trust in another one, for a while.
    pub(crate) distrust: u64,
    /// A machine loses what its log has not synced.
    pub(crate) power: u64,
}

impl Troubles {
    pub(crate) const NONE: Self = Self {
        lost_publish: 0,
        lost_answer: 0,
        delay: 5,
        crash: 0,
        lost_memory: 0,
        off: 0,
        wipe: 0,
        roll_back: 0,
        rewind: 0,
        expire: 0,
        forgotten_ids: 0,
        full_disk: 0,
        server_down: 0,
        recall: 0,
        moves: 0,
        late: 0,
        distrust: 0,
        power: 0,
    };

    /// Each seed has its own mixture; some have none of a kind.
    pub(crate) fn of(random: &mut Random) -> Self {
        let mut some = |most: u64| if random.happens(40) { 0 } else { random.below(most + 1) };
        Self {
            lost_publish: some(30),
            lost_answer: some(30),
            delay: some(4_000),
            crash: some(10),
            lost_memory: some(50),
            off: some(5),
            wipe: some(3),
            roll_back: some(6),
            rewind: some(15),
            expire: some(6),
            forgotten_ids: some(30),
            full_disk: some(10),
            server_down: some(10),
            recall: some(4),
            moves: some(8),
            late: some(60),
            distrust: some(4),
            power: some(8),
        }
    }
}
