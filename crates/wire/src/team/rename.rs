//! A configuration under another team's name.

use crate::json::{self, Object};

/// The configuration of the team `old` as that of the team `new`: its name, and the ids of its members. All else stays.
pub fn renamed(text: &str, old: &str, new: &str) -> Result<String, serde_json::Error> {
    let mut patch = json::Patch::default();
    let object = Object::parse(text)?;
    if object.string("name").is_some() {
        patch.merge(json::set_member(text, text.trim(), "name", new)?);
    }
    let moved = |id: &str| id.strip_suffix(old)?.strip_suffix('@').map(|name| format!("{name}@{new}"));
    if let Some(lead) = object.string("leadAgentId").as_deref().and_then(moved) {
        patch.merge(json::set_member(text, text.trim(), "leadAgentId", &lead)?);
    }
    let members = object.get("members").map(|members| json::elements(members.get()));
    for member in members.and_then(Result::ok).unwrap_or_default() {
        let id = Object::parse(member.get())
            .ok()
            .and_then(|member| member.string("agentId").as_deref().and_then(moved));
        if let Some(id) = id {
            patch.merge(json::set_member(text, member.get(), "agentId", &id)?);
        }
    }
    Ok(patch.apply(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_the_team_changes() {
        let text = r#"{ "x": 1E2, "name": "dev", "leadAgentId": "lead@dev",
            "members": [{"agentId":"lead@dev","name":"lead"}, null, {"agentId":"bob@other"}, {"name":"dev"}] }"#;
        let expected = text.replace("\"dev\", \"lead", "\"ops\", \"lead").replace("lead@dev", "lead@ops");
        assert_eq!(renamed(text, "dev", "ops").unwrap(), expected);
        assert!(renamed("[]", "dev", "ops").is_err());
    }
}
