//! Which conversations are whose, by what identifies them: the lead's sessions, the names in entries, the notes beside
//! conversations inside a lead, the hooks that were called in them. The folders that they lie in say nothing: clients make their names up in ways that change.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use atm_store::Scratch;
use atm_wire::TeamName;
use atm_wire::team::TeamConfig;

use super::Transcript;
use super::owners::Owners;
use super::remembered::Remembered;
use super::ties::Tie;
use crate::office::Office;
use crate::sessions;

/// Teams that a client makes by itself are called after the lead's session.
const IMPLICIT: &str = "session-";
/// And their lead is called so.
const IMPLICIT_LEAD: &str = "team-lead";

/// The conversations of a team's members.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    by_member: HashMap<String, Vec<Transcript>>,
}

impl Conversations {
    /// Those of one member; after `/clear` or a return it has several.
    pub(crate) fn of(&self, member: &str) -> &[Transcript] {
        self.by_member.get(member).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn add(&mut self, member: &str, transcript: Transcript) {
        self.by_member.entry(member.to_owned()).or_default().push(transcript);
    }
}

impl Office {
    /// The conversations of a team. One that is gone has no configuration.
    pub(crate) fn conversations(&self, team: &TeamName, config: Option<&TeamConfig>) -> Conversations {
        if sessions::is_team(team) {
            return self.conversations_of_sessions(config);
        }
        let mut found = self.conversations_in_tree(team, config);
        for (member, ties) in self.ties(team).iter() {
            for transcript in ties.iter().filter_map(Tie::transcript) {
                if found.of(member).iter().all(|known| known.source() != transcript.source()) {
                    found.add(member, transcript);
                }
            }
        }
        found
    }

    /// Those that a client keeps below the shared tree.
    fn conversations_in_tree(&self, team: &TeamName, config: Option<&TeamConfig>) -> Conversations {
        // Of any client's: whether this one has conversations says nothing about those of others.
        if sessions::is_team(team) {
            return self.conversations_of_sessions(config);
        }
        let projects = self.root.path().join("projects");
        if !projects.is_dir() {
            return Conversations::default();
        }
        let lead = self.follow_lead(team, config);
        let scratch = Scratch::of_owners(&self.root, &self.state);
        let mut owners = Owners::parse(scratch.read().as_deref());
        let names = [Some(team.as_str()), config.and_then(|config| config.name.as_deref())];
        let search = Search { projects: &projects, names, lead: &lead };
        let found = search.run(&mut owners);
        if let Some(bytes) = owners.render() {
            // If it cannot be kept, it is found out again.
            let _ = scratch.replace(&bytes);
        }
        found
    }
}

struct Search<'a> {
    projects: &'a Path,
    /// The team's name, and the one that its configuration gives it.
    names: [Option<&'a str>; 2],
    lead: &'a Remembered,
}

impl Search<'_> {
    fn run(&self, owners: &mut Owners) -> Conversations {
        let mut found = Conversations::default();
        for project in listed(self.projects).filter(|path| path.is_dir()) {
            let mut sessions: Vec<String> = self.lead.sessions.clone();
            for path in listed(&project).filter(|path| is_conversation(path)) {
                let Some(session) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
                if self.is_leads(session) {
                    sessions.push(session.to_owned());
                }
                let Some(transcript) = Transcript::at(&path) else { continue };
                if self.is_leads(session) {
                    found.add(self.lead_name(), transcript);
                    continue;
                }
                let owner = owners.of_session(self.projects, &transcript);
                if self.is_team(owner.team.as_deref()) {
                    found.add(owner.member.as_deref().unwrap_or(self.lead_name()), transcript);
                }
            }
            sessions.sort();
            sessions.dedup();
            for session in sessions {
                let inside = project.join(session).join("subagents");
                for transcript in listed(&inside)
                    .filter(|path| is_conversation(path))
                    .filter_map(|path| Transcript::at(&path))
                {
                    let owner = owners.of_subagent(self.projects, &transcript);
                    let is_ours = owner.team.is_none() || self.is_team(owner.team.as_deref());
                    if let Some(member) = owner.member.filter(|_| is_ours) {
                        found.add(&member, transcript);
                    }
                }
            }
        }
        found
    }

    fn is_leads(&self, session: &str) -> bool {
        if !self.lead.sessions.is_empty() {
            return self.lead.sessions.iter().any(|known| known == session);
        }
        // Nothing was ever remembered of a team that is gone: its name has the start of the session's.
        let start = self.names[0].and_then(|name| name.strip_prefix(IMPLICIT));
        start.is_some_and(|start| start.len() >= 8 && session.starts_with(start))
    }

    fn lead_name(&self) -> &str {
        self.lead.lead.as_deref().unwrap_or(IMPLICIT_LEAD)
    }

    fn is_team(&self, said: Option<&str>) -> bool {
        said.is_some() && self.names.contains(&said)
    }
}

fn is_conversation(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

pub(crate) fn listed(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use atm_store::{Root, State};

    use super::*;

    struct Scene {
        folder: tempfile::TempDir,
        office: Office,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let office =
                Office::new(Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
            Self { folder, office }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join("root").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn found(&self, team: &str, config: Option<&str>, member: &str) -> Vec<String> {
            let config = config.map(|text| TeamConfig::parse(text).unwrap());
            let all = self.office.conversations(&team.parse().unwrap(), config.as_ref());
            let name = |found: &Transcript| found.path.file_name().unwrap().to_string_lossy().into_owned();
            let mut names: Vec<String> = all.of(member).iter().map(name).collect();
            names.sort();
            names
        }
    }

    const CONFIG: &str = r#"{"name":"demo","leadAgentId":"lead@demo","leadSessionId":"s1","members":[
        {"name":"lead","agentType":"team-lead"},{"name":"bob","cwd":"/somewhere/else","tmuxPaneId":"in-process"}]}"#;
    const OF_BOB: &str = "{\"type\":\"user\",\"teamName\":\"demo\",\"agentName\":\"bob\",\"message\":{}}\n";
    const OF_NOBODY: &str = "{\"type\":\"user\",\"message\":{}}\n";

    #[test]
    fn conversations_are_found_by_what_identifies_them_in_whichever_folder() {
        let scene = Scene::new();
        // The folder of a long path has a hash in its name; bob works elsewhere than his entry says, and came back twice.
        scene.write("projects/-a-very-long-path-0f1e2d/b1.jsonl", OF_BOB);
        scene.write("projects/-linked/b2.jsonl", OF_BOB);
        scene.write("projects/-linked/x.jsonl", OF_NOBODY);
        scene.write("projects/-linked/other.jsonl", &OF_BOB.replace("demo", "other"));
        scene.write("projects/-p/s1.jsonl", OF_NOBODY);
        // An older lead after `/clear`: its entries have the team's name and no member's.
        scene.write(
            "projects/-p/s9.jsonl",
            &OF_NOBODY.replace("\"message\"", "\"teamName\":\"demo\",\"message\""),
        );
        // Inside the lead, by both kinds of notes.
        scene.write("projects/-p/s1/subagents/agent-1.jsonl", OF_NOBODY);
        scene.write("projects/-p/s1/subagents/agent-1.meta.json", r#"{"name":"bob","teamName":"demo"}"#);
        scene.write("projects/-p/s1/subagents/agent-2.jsonl", OF_NOBODY);
        scene.write("projects/-p/s1/subagents/agent-2.meta.json", r#"{"agentType":"bob"}"#);
        scene.write("projects/-p/s1/subagents/agent-3.jsonl", OF_NOBODY);
        scene.write("projects/-p/s1/subagents/agent-3.meta.json", r#"{"name":"bob","teamName":"other"}"#);
        for look in ["the first", "from memory"] {
            assert_eq!(
                scene.found("demo", Some(CONFIG), "bob"),
                ["agent-1.jsonl", "agent-2.jsonl", "b1.jsonl", "b2.jsonl"],
                "{look}"
            );
            assert_eq!(scene.found("demo", Some(CONFIG), "lead"), ["s1.jsonl", "s9.jsonl"], "{look}");
        }
        fs::remove_dir_all(scene.folder.path().join("state")).unwrap();
        assert_eq!(scene.found("demo", Some(CONFIG), "lead"), ["s1.jsonl", "s9.jsonl"], "without memory");
    }

    #[test]
    fn a_lead_is_found_after_clear_and_after_its_team_is_gone() {
        let scene = Scene::new();
        scene.write("projects/-p/s1.jsonl", OF_NOBODY);
        scene.write("projects/-p/s2.jsonl", OF_NOBODY);
        scene.write("sessions/42.json", r#"{"pid":42,"sessionId":"s1","procStart":"7"}"#);
        scene.write("sessions/42.0123.key", "{");
        assert_eq!(scene.found("demo", Some(CONFIG), "lead"), ["s1.jsonl"]);
        scene.write("sessions/42.json", r#"{"pid":42,"sessionId":"s2","procStart":"7"}"#);
        assert_eq!(scene.found("demo", Some(CONFIG), "lead"), ["s1.jsonl", "s2.jsonl"]);
        fs::remove_file(scene.folder.path().join("root/sessions/42.json")).unwrap();
        assert_eq!(scene.found("demo", None, "lead"), ["s1.jsonl", "s2.jsonl"], "the team is gone");
    }

    #[test]
    fn a_team_that_nobody_remembers_has_its_leads_session_in_its_name() {
        let scene = Scene::new();
        scene.write("projects/-p/72c311c0-b1b6.jsonl", OF_NOBODY);
        scene.write("projects/-p/82c311c0-b1b6.jsonl", OF_NOBODY);
        scene.write("projects/-p/72c311c0-b1b6/subagents/a.jsonl", OF_NOBODY);
        scene.write("projects/-p/72c311c0-b1b6/subagents/a.meta.json", r#"{"agentType":"bob"}"#);
        assert_eq!(scene.found("session-72c311c0", None, "team-lead"), ["72c311c0-b1b6.jsonl"]);
        assert_eq!(scene.found("session-72c311c0", None, "bob"), ["a.jsonl"]);
    }
}
