//! Who the agent will be: as our settings have it, for the settings of a client.

use std::path::Path;

use atm_clients::Scope;
use atm_clients::settings::{Identity, Place};

use crate::failure::Failure;
use crate::settings::{Origin, Settings};

/// Whom a client's settings speak for. What our own settings say is checked.
pub(super) fn identity(settings: &Settings, scope: Scope, cwd: &Path) -> Result<Identity, Failure> {
    let place = |path: &Path, origin: &Origin| Place {
        path: cwd.join(path).display().to_string(),
        is_explicit: matches!(origin, Origin::Flag(_) | Origin::Environment("ATM_ROOT" | "ATM_STATE")),
    };
    let address = settings.identity()?;
    let team = match (&settings.team.value, address.as_ref().and_then(|address| address.team.as_ref())) {
        (Some(team), _) => Some(atm_wire::TeamName::parse(team)?.to_string()),
        (None, team) => team.map(ToString::to_string),
    };
    Ok(Identity {
        scope,
        root: place(&settings.root.value, &settings.root.origin),
        state: place(&settings.state.value, &settings.state.origin),
        team,
        // Settings for all folders name nobody: who a session is, is found out when it calls.
        name: address.filter(|_| scope == Scope::Project).map(|address| address.name.to_string()),
        is_woken: false,
        heeds_reservations: false,
    })
}
