//! Agent clients as arguments. Which there are, and which of them are meant, is said by their profiles.

use atm_clients::{AgentClient, Profile};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Any client.
pub(crate) fn any() -> impl TypedValueParser<Value = AgentClient> {
    which(|_| true)
}

/// The clients that can do something.
pub(crate) fn which(can: impl Fn(&Profile) -> bool) -> impl TypedValueParser<Value = AgentClient> {
    let able = AgentClient::ALL.into_iter().filter(|client| can(client.profile()));
    let values = able.map(|client| PossibleValue::new(client.as_str()).help(client.title()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<AgentClient>())
}
