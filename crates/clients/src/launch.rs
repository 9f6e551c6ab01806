//! Starting a client as a member of a team.

use atm_wire::{Color, MemberName, TeamName};

use crate::client::AgentClient;

/// The member that is to be started.
#[derive(Debug)]
pub struct Role<'a> {
    /// Its team.
    pub team: &'a TeamName,
    /// The conversation of the team's lead.
    pub lead_session: Option<&'a str>,
    /// Its name.
    pub name: &'a MemberName,
    /// What kind of agent it is.
    pub agent_type: &'a str,
    /// Its colour.
    pub color: &'a Color,
    /// Only if somebody chose one.
    pub model: Option<&'a str>,
    /// Whether it needs the lead's approval for its plans.
    pub plan_mode: bool,
    /// What it may do without asking, in its client's own word; only if somebody chose it.
    pub permission_mode: Option<&'a str>,
    /// Whether it is to run without a terminal UI: one run, with these first words, at the end of which it has ended.
    pub headless: Option<&'a str>,
}

/// How a client is started as a member.
#[derive(Debug)]
pub struct Launch {
    /// What it takes to be this member, and to use that member's model.
    pub arguments: fn(&Role<'_>) -> Vec<String>,
    /// Variables that it needs beside ours.
    pub environment: &'static [(&'static str, &'static str)],
    /// Whether it knows the models that a team's members have by their short names: haiku, sonnet, opus.
    pub has_short_models: bool,
    /// The option that says what it may do without asking, if it has one.
    pub permission_option: Option<&'static str>,
    /// Words that make it run without a terminal UI, before those that it is told.
    pub headless: &'static [&'static str],
}

/// What to run: the client's own program, or the words that were given for it, and what it takes to be this member.
pub fn command(client: Option<AgentClient>, given: &[String], role: &Role<'_>) -> Vec<String> {
    let mut command = given.to_vec();
    let Some(launch) = client.and_then(|client| client.profile().launch.as_ref()) else { return command };
    if command.is_empty() {
        command.extend(client.map(|client| client.as_str().to_owned()));
    }
    command.extend((launch.arguments)(role));
    if let (Some(option), Some(mode)) = (launch.permission_option, role.permission_mode) {
        command.extend(words(&[option, mode]));
    }
    if let Some(prompt) = role.headless {
        command.extend(words(launch.headless));
        command.push(prompt.to_owned());
    }
    command
}

/// Variables that the client needs beside ours.
pub fn environment(client: Option<AgentClient>) -> &'static [(&'static str, &'static str)] {
    let launch = client.and_then(|client| client.profile().launch.as_ref());
    launch.map_or(&[], |launch| launch.environment)
}

/// Whether a permission mode can be one: a plain word, and no option. Which there are is for the client to say.
pub fn is_mode(mode: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !mode.is_empty() && mode.bytes().all(is_plain) && !mode.starts_with('-')
}

/// For clients that have no teams of their own: they are members through tools, hooks and wake-up.
pub(crate) const PLAIN: Launch = Launch {
    arguments: |role| role.model.map(|model| words(&["--model", model])).unwrap_or_default(),
    environment: &[],
    has_short_models: false,
    permission_option: None,
    headless: &["run"],
};

/// Words of a command line.
pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(client: Option<AgentClient>, given: &[&str], model: Option<&str>, plan_mode: bool) -> String {
        let (team, name) = (TeamName::create("dev").unwrap(), MemberName::create("bob").unwrap());
        let role = Role {
            team: &team,
            lead_session: Some("404c5e08"),
            name: &name,
            agent_type: "general-purpose",
            color: &Color::Blue,
            model,
            plan_mode,
            permission_mode: Some("acceptEdits").filter(|_| plan_mode),
            headless: None,
        };
        command(client, &words(given), &role).join(" ")
    }

    #[test]
    fn claude_is_a_separate_process_of_the_team() {
        let flags = "--agent-id bob@dev --agent-name bob --team-name dev --agent-color blue \
                     --parent-session-id 404c5e08 --agent-type general-purpose";
        assert_eq!(built(Some(AgentClient::Claude), &[], None, false), format!("claude {flags}"));
        assert_eq!(
            built(Some(AgentClient::Claude), &["/opt/claude", "--verbose"], Some("opus"), true),
            format!(
                "/opt/claude --verbose {flags} --model opus --plan-mode-required --permission-mode acceptEdits"
            )
        );
    }

    #[test]
    fn a_permission_mode_is_a_plain_word() {
        for (mode, expected) in [
            ("acceptEdits", true),
            ("on-request", true),
            ("auto_edit", true),
            ("", false),
            ("--danger", false),
            ("a b", false),
            ("a=b", false),
        ] {
            assert_eq!(is_mode(mode), expected, "{mode:?}");
        }
    }

    #[test]
    fn a_permission_mode_is_given_by_the_option_that_the_client_has() {
        for (client, expected) in [
            (AgentClient::Codex, "codex --ask-for-approval acceptEdits"),
            (AgentClient::Gemini, "gemini --approval-mode acceptEdits"),
            (AgentClient::Qwen, "qwen --approval-mode acceptEdits"),
            (AgentClient::Opencode, "opencode"),
        ] {
            assert_eq!(built(Some(client), &[], None, true), expected);
            assert_eq!(client.has_permission_modes(), expected.contains("acceptEdits"), "{client}");
        }
    }

    #[test]
    fn each_client_has_a_way_to_run_without_a_terminal() {
        let (team, name) = (TeamName::create("dev").unwrap(), MemberName::create("bob").unwrap());
        let role = Role {
            team: &team,
            lead_session: None,
            name: &name,
            agent_type: "general-purpose",
            color: &Color::Blue,
            model: None,
            plan_mode: false,
            permission_mode: Some("plan"),
            headless: Some("read your mail"),
        };
        for (client, expected) in [
            (AgentClient::Claude, "--permission-mode plan -p read your mail"),
            (AgentClient::Codex, "codex --ask-for-approval plan exec --skip-git-repo-check read your mail"),
            (AgentClient::Gemini, "gemini --approval-mode plan -p read your mail"),
            (AgentClient::Qwen, "qwen --approval-mode plan -p read your mail"),
            (AgentClient::Opencode, "opencode run read your mail"),
        ] {
            let built = command(Some(client), &[], &role).join(" ");
            assert!(built.ends_with(expected), "{built}");
        }
        // In print mode new versions of Claude Code have no team: it is a member by its environment.
        assert!(!command(Some(AgentClient::Claude), &[], &role).contains(&"--agent-id".to_owned()));
    }

    #[test]
    fn others_run_as_they_are() {
        assert_eq!(built(Some(AgentClient::Codex), &[], None, false), "codex");
        assert_eq!(built(Some(AgentClient::Opencode), &[], None, true), "opencode");
        assert_eq!(built(Some(AgentClient::Gemini), &[], Some("flash"), false), "gemini --model flash");
        assert_eq!(built(None, &["sh", "agent.sh"], Some("opus"), true), "sh agent.sh");
    }
}
