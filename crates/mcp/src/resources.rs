//! Inboxes as resources: `atm://TEAM/inbox/NAME`. Looking changes nothing.

use atm_office::mail::inbox::Filter;
use atm_wire::{MemberName, TeamName};
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use crate::answer::shown;
use crate::desk::Desk;
use crate::page::{BUDGET, fitting};
use crate::squeeze::squeezed;
use crate::trouble::Trouble;

const SCHEME: &str = "atm://";
const PLACE: &str = "/inbox/";
const JSON: &str = "application/json";
/// Resources in one page of the list.
const PAGE: usize = 100;

pub(crate) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{team}}{PLACE}{{name}}"), "inbox")
        .with_title("A member's inbox")
        .with_description("The newest mail, read and unread. Looking marks nothing as read.")
        .with_mime_type(JSON)
}

/// The inboxes that one may look into: one's own, or, for a lead, everybody's.
pub(crate) fn list(desk: &Desk, cursor: Option<&str>) -> Result<ListResourcesResult, Trouble> {
    let from = match cursor {
        Some(cursor) => cursor.parse().map_err(|_| Trouble::new("the cursor is not one of ours"))?,
        None => 0,
    };
    let teams = match desk.own_team() {
        Some(_) => vec![desk.team(None)?],
        None => desk.office().team_names()?,
    };
    let mut all: Vec<(TeamName, MemberName)> = Vec::new();
    for team in teams {
        // A team that cannot be read has no inboxes to list; asking for one says why.
        let Ok(handle) = desk.office().team(&team) else { continue };
        let members = handle.config().members.iter().filter_map(|member| member.checked_name().ok());
        let names = members.filter(|name| desk.bound().is_none_or(|bound| bound == name));
        all.extend(names.map(|name| (team.clone(), name)));
    }
    let next = usize::saturating_add(from, PAGE);
    let page = all.iter().skip(from).take(PAGE).map(|(team, name)| {
        Resource::new(uri(team, name), format!("{name}@{team}"))
            .with_title(format!("Inbox of {name}"))
            .with_mime_type(JSON)
    });
    let mut result = ListResourcesResult::with_all_items(page.collect());
    result.next_cursor = (next < all.len()).then(|| next.to_string());
    Ok(result)
}

/// The newest mail of an inbox, as much as fits.
pub(crate) fn read(desk: &Desk, uri: &str) -> Result<ReadResourceResult, Trouble> {
    let (team, name) = find(desk, uri)?;
    let look = desk.office().inbox(&team, &name, &Filter::default())?;
    let messages: Vec<Value> = look.messages.iter().map(|message| squeezed(json!(message), BUDGET)).collect();
    let older = messages.len() - fitting(messages.iter().rev());
    let unread = look.messages.iter().filter(|message| !message.read).count();
    let body = shown(json!({
        "team": team,
        "name": name,
        "unread": unread,
        "older": older,
        "messages": messages.into_iter().skip(older).collect::<Vec<_>>(),
        "warnings": look.warnings,
    }));
    let text = ResourceContents::text(body.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![text]))
}

/// The inbox that an address names. Of one's own server, only one's own.
pub(crate) fn find(desk: &Desk, uri: &str) -> Result<(TeamName, MemberName), Trouble> {
    let parts = uri.strip_prefix(SCHEME).and_then(|rest| rest.split_once(PLACE));
    let Some((team, name)) = parts else {
        return Err(Trouble::new("there is no such resource").hint("Inboxes are atm://TEAM/inbox/NAME"));
    };
    let team = desk.team(Some(&decoded(team)?))?;
    let name = desk.reader(&team, Some(&decoded(name)?))?;
    // Says so, with the nearest names, if there is nobody of that name.
    desk.office().peek(&team, &name, 0)?;
    Ok((team, name))
}

fn uri(team: &TeamName, name: &MemberName) -> String {
    format!("{SCHEME}{}{PLACE}{}", encoded(team.as_str()), encoded(name.as_str()))
}

/// Everything but letters, digits and `-._~` as `%XX`.
fn encoded(name: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    name.bytes()
        .map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn decoded(part: &str) -> Result<String, Trouble> {
    let bad = || Trouble::new("the address is not well spelled");
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or_else(bad)?;
        rest = after;
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (high, low) = (digit(digits[0]).ok_or_else(bad)?, digit(digits[1]).ok_or_else(bad)?);
        bytes.push(high * 16 + low);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_an_address() {
        for name in ["bob", "Zoë Müller", "100%", "a.b~c", "名前"] {
            assert_eq!(decoded(&encoded(name)).unwrap(), name);
        }
        assert_eq!(encoded("a b/c"), "a%20b%2Fc");
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert!(decoded(bad).is_err(), "{bad}");
        }
    }
}
