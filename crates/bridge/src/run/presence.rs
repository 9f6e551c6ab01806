//! What other machines say of themselves.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::jetstream::kv::{Entry, Operation};
use atm_wire::Stamp;
use futures_util::StreamExt;

use super::Shared;
use super::worker::Input;
use crate::envelope::{Body, codec};
use crate::name::Machine;
use crate::nats::NatsError;

/// The wait before the server is asked again.
const BETWEEN: Duration = Duration::from_secs(1);

/// Listens to announcements that stay, or to heartbeats, which expire.
pub(super) async fn listen(shared: Shared, stays: bool) {
    let mut latest = BTreeMap::new();
    loop {
        if let Err(error) = follow(&shared, stays, &mut latest).await {
            shared.engine.send(Input::Trouble(error.to_string()));
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

async fn follow(
    shared: &Shared,
    stays: bool,
    latest: &mut BTreeMap<Machine, Stamp>,
) -> Result<(), NatsError> {
    let mut watch = shared.link.listen(stays).await?;
    while let Some(entry) = watch.next().await {
        let entry = entry.map_err(|why| NatsError::request("listen to other machines")(&why))?;
        if entry.operation == Operation::Put {
            hear(shared, &entry, stays, latest);
        }
        if stays && entry.delta == 0 {
            shared.engine.send(Input::HeardAll);
        }
    }
    Ok(())
}

fn hear(shared: &Shared, entry: &Entry, stays: bool, latest: &mut BTreeMap<Machine, Stamp>) {
    let me = &shared.plan.me;
    if entry.key == me.machine.as_str() {
        return;
    }
    let checked = codec::check(&entry.value, &*shared.trust.borrow(), &me.realm, &me.machine);
    let envelope = checked.and_then(|checked| checked.open(&shared.plan.key));
    let envelope = match envelope {
        Ok(envelope) if envelope.header.from.as_str() == entry.key => envelope,
        Ok(_) => return shared.engine.send(Input::Refused("foreign-sender", entry.key.clone())),
        Err(refusal) => return shared.engine.send(Input::Refused(refusal.kind(), entry.key.clone())),
    };
    let Body::Presence(presence) = envelope.body else { return };
    // An old word, said again by somebody else, is none.
    let (from, at) = (envelope.header.from, envelope.header.at);
    if latest.get(&from).is_some_and(|known| *known >= at) {
        return;
    }
    latest.insert(from.clone(), at);
    shared.engine.send(Input::Heard(from, Box::new(presence), at, !stays));
}
