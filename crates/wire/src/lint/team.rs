//! The rules of `config.json`.

use std::collections::HashMap;

use super::rules::Rule;
use super::scope::{Scope, kind_of};
use super::time;
use crate::color::Color;
use crate::json::{Object, elements};
use crate::migrate;
use crate::name::{MemberName, TeamName, excerpt};
use crate::team::{SCHEMA_VERSION, TeamConfig, remote};

const TEAM_KEYS: [&str; 9] = [
    "name",
    "description",
    "members",
    "createdAt",
    "schemaVersion",
    "metadata",
    "leadAgentId",
    "leadSessionId",
    "leadProcess",
];
const MEMBER_KEYS: [&str; 18] = [
    "agentId",
    "name",
    "agentType",
    "model",
    "prompt",
    "color",
    "tmuxPaneId",
    "backendType",
    "isActive",
    "joinedAt",
    "spawnedAt",
    "shutdownAt",
    "metadata",
    "cwd",
    "subscriptions",
    "planModeRequired",
    "mode",
    "lead_sig",
];
/// Checks the team that lives in `folder`, where that is known.
pub(super) fn check<'a>(scope: &mut Scope<'a, '_>, object: &Object<'a>, folder: Option<&str>) {
    let wrong = Rule::TeamWrongType;
    let raw = |key: &str| object.get(key).map_or("", |raw| raw.get());
    let name = scope.text_at(object, "name", wrong);
    match (&name, folder) {
        (None, _) if object.get("name").is_none() => {
            scope.whole(Rule::TeamNameMissing, || "has no `name`".to_owned());
        }
        (Some(name), Some(folder)) if !fits_folder(name, folder) => {
            scope.at(Rule::TeamNameOther, raw("name"), "name", || {
                format!("is called \"{}\" in the folder \"{}\"", excerpt(name), excerpt(folder))
            });
        }
        _ => {}
    }
    match scope.text_at(object, "description", wrong) {
        None if object.get("description").is_none() => {
            scope.whole(Rule::NoDescription, || "has no `description`".to_owned());
        }
        Some(text) if text.is_empty() || text.chars().nth(500).is_some() => {
            let length = text.chars().count();
            scope.at(Rule::DescriptionLength, raw("description"), "description", || {
                format!("has a description of {length} characters")
            });
        }
        _ => {}
    }
    match object.get("createdAt") {
        None => scope.whole(Rule::TeamTime, || "has no `createdAt`".to_owned()),
        Some(_) => time::check(scope, object, "createdAt", Rule::TeamTime, Rule::EpochTime),
    }
    check_schema(scope, object);
    scope.object_at(object, "metadata", wrong);
    scope.object_at(object, "leadProcess", wrong);
    scope.text_at(object, "leadSessionId", wrong);
    if let Some(lead) = scope.text_at(object, "leadAgentId", wrong)
        && let Ok(config) = TeamConfig::parse(scope.text)
    {
        let lead_name = lead.split_once('@').map_or(lead.as_ref(), |(name, _)| name);
        if !config.members.is_empty() && config.member(lead_name).is_none() {
            scope.at(Rule::LeadUnknown, raw("leadAgentId"), "leadAgentId", || {
                format!("has the lead \"{}\", who is no member", excerpt(&lead))
            });
        }
    }
    for (key, value) in object.iter().filter(|(key, _)| !TEAM_KEYS.contains(key)) {
        scope.at(Rule::TeamExtraKey, value.get(), key, || format!("has the key `{}`", excerpt(key)));
    }
    check_members(scope, object, name.as_deref().or(folder));
}

/// Whether a client that knows the name finds the folder.
fn fits_folder(name: &str, folder: &str) -> bool {
    name == folder || TeamName::parse(name).is_ok_and(|name| name.folder() == folder)
}

fn check_schema<'a>(scope: &mut Scope<'a, '_>, object: &Object<'a>) {
    let Some(raw) = object.get("schemaVersion") else {
        return scope.whole(Rule::NoSchemaVersion, || "has no `schemaVersion`".to_owned());
    };
    let Some(version) = scope.text_at(object, "schemaVersion", Rule::TeamWrongType) else { return };
    if !migrate::is_known(&version) {
        scope.at(Rule::SchemaNewer, raw.get(), "schemaVersion", || {
            format!("is of version \"{}\" of the format; known is {SCHEMA_VERSION}", excerpt(&version))
        });
    }
}

fn check_members<'a>(scope: &mut Scope<'a, '_>, object: &Object<'a>, team: Option<&str>) {
    let Some(raw) = object.get("members") else {
        return scope.whole(Rule::NoMembers, || "has no `members`".to_owned());
    };
    let Ok(members) = elements(raw.get()) else {
        return scope.wrong_type(Rule::NoMembers, raw, "members", "an array");
    };
    let (mut names, mut stems) = (HashMap::new(), HashMap::new());
    for (index, raw) in members.into_iter().enumerate() {
        let mut scope = scope.inside(raw.get(), &format!(".members[{index}]"));
        let Ok(member) = Object::parse(raw.get()) else {
            scope.whole(Rule::MemberUnusable, || format!("member {} is {}", index + 1, kind_of(raw)));
            continue;
        };
        scope.check_keys(&member);
        let name = check_member(&mut scope, &member, index, team);
        let Some(name) = name else { continue };
        if let Some(other) = names.insert(name.clone(), index) {
            scope.whole(Rule::MemberTwice, || {
                format!("members {} and {} are both \"{}\"", other + 1, index + 1, excerpt(&name))
            });
        } else if let Ok(name) = MemberName::parse(&name)
            && let Some(other) = stems.insert(name.file_stem(), name.clone())
        {
            scope.whole(Rule::SharedInbox, || {
                format!("{other} and {name} share inboxes/{}.json", name.file_stem())
            });
        }
    }
}

/// Checks a member and gives its name.
fn check_member<'a>(
    scope: &mut Scope<'a, '_>,
    member: &Object<'a>,
    index: usize,
    team: Option<&str>,
) -> Option<String> {
    let wrong = Rule::TeamWrongType;
    let raw = |key: &str| member.get(key).map_or("", |raw| raw.get());
    let agent_id = scope.text_at(member, "agentId", wrong);
    let of_id = || agent_id.as_deref().map(|id| id.split_once('@').map_or(id, |(name, _)| name).to_owned());
    let name = scope.text_at(member, "name", wrong).map(std::borrow::Cow::into_owned).or_else(of_id);
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        scope.whole(Rule::MemberUnusable, || format!("member {} has no `name`", index + 1));
        return None;
    };
    if let Err(error) = MemberName::parse(&name) {
        scope.at(Rule::MemberNameUnsafe, raw("name"), "name", || error.to_string());
    } else if let Err(error) = MemberName::create(&name)
        // What a member of another machine is called, we made of its name and its machine's.
        && remote::read(member).is_none()
    {
        scope.at(Rule::NameNotKebab, raw("name"), "name", || error.to_string());
    }
    if let (Some(id), Some(team)) = (&agent_id, team)
        && *id != format!("{name}@{team}")
    {
        scope.at(Rule::AgentIdOther, raw("agentId"), "agentId", || {
            format!("has the id \"{}\", not \"{}@{}\"", excerpt(id), excerpt(&name), excerpt(team))
        });
    }
    for key in ["agentType", "prompt", "cwd"] {
        scope.text_at(member, key, wrong);
    }
    scope.object_at(member, "metadata", wrong);
    let model = scope.text_at(member, "model", wrong);
    let is_documented = matches!(model.as_deref(), Some("haiku" | "sonnet" | "opus"));
    let is_no_text = model.is_none() && member.get("model").is_some();
    if !is_documented && !is_no_text {
        let said = model
            .map_or("has no `model`".to_owned(), |model| format!("has the model \"{}\"", excerpt(&model)));
        scope.at(Rule::ModelOther, raw("model"), "model", || said);
    }
    if let Some(Color::Other(spelling)) =
        scope.text_at(member, "color", wrong).map(|color| Color::parse(&color))
    {
        scope.at(Rule::ColorUnknown, raw("color"), "color", || {
            format!("has the colour \"{}\"", excerpt(&spelling))
        });
    }
    check_place(scope, member);
    check_activity(scope, member);
    for (key, value) in member.iter().filter(|(key, _)| !MEMBER_KEYS.contains(key)) {
        scope.at(Rule::TeamExtraKey, value.get(), key, || format!("has the key `{}`", excerpt(key)));
    }
    Some(name)
}

/// Pane and backend.
fn check_place<'a>(scope: &mut Scope<'a, '_>, member: &Object<'a>) {
    let raw = |key: &str| member.get(key).map_or("", |raw| raw.get());
    let pane = scope.text_at(member, "tmuxPaneId", Rule::TeamWrongType);
    let is_pane = |pane: &str| {
        pane.strip_prefix('%').is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    match pane.as_deref() {
        Some(pane) if is_pane(pane) => {}
        None if member.get("tmuxPaneId").is_some() => {}
        None => scope.whole(Rule::PaneOther, || "has no `tmuxPaneId`".to_owned()),
        Some("" | "leader" | "in-process") => {
            let pane = pane.unwrap_or_default();
            scope.at(Rule::PaneOther, raw("tmuxPaneId"), "tmuxPaneId", || format!("has the pane \"{pane}\""));
        }
        Some(other) => scope.at(Rule::PaneUnknown, raw("tmuxPaneId"), "tmuxPaneId", || {
            format!("has the pane \"{}\"", excerpt(other))
        }),
    }
    match scope.text_at(member, "backendType", Rule::TeamWrongType).as_deref() {
        None | Some("tmux" | "in-process" | "docker" | "k8s" | "iterm2") => {}
        Some(other) => scope.at(Rule::BackendUnknown, raw("backendType"), "backendType", || {
            format!("has the backend \"{}\"", excerpt(other))
        }),
    }
}

/// Times, and whether it is on.
fn check_activity<'a>(scope: &mut Scope<'a, '_>, member: &Object<'a>) {
    for key in ["joinedAt", "spawnedAt", "shutdownAt"] {
        time::check(scope, member, key, Rule::TeamTime, Rule::EpochTime);
    }
    let Some(active) = member.get("isActive") else {
        return scope.whole(Rule::ActiveMissing, || "has no `isActive`".to_owned());
    };
    if !matches!(active.get(), "true" | "false") {
        return scope.wrong_type(Rule::ActiveNotBoolean, active, "isActive", "a boolean");
    }
    let (spawned, shut) = (time::read(member, "spawnedAt"), time::read(member, "shutdownAt"));
    if active.get() == "true" && shut.is_some_and(|shut| spawned.is_none_or(|spawned| spawned < shut)) {
        scope.at(Rule::ActiveAfterShutdown, active.get(), "isActive", || {
            "is on, and was shut down after it was started".to_owned()
        });
    }
}
