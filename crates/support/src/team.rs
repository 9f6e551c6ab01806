//! A team's files, as other programs see them.

use std::fs;
use std::path::{Path, PathBuf};

use atm_store::{Layout, LockTimes, Mailbox, TaskFolder, TeamFolder, paths};
use atm_wire::{MemberName, TeamName};
use serde_json::Value;

use crate::env::TestEnv;

/// A team in a [`TestEnv`], which it keeps alive.
#[derive(Debug, Clone)]
pub struct TestTeam {
    env: TestEnv,
    name: TeamName,
    folder: PathBuf,
    layout: Layout,
}

impl TestTeam {
    pub(crate) fn create(env: &TestEnv, name: &str, layout: Layout, members: &[&str]) -> Self {
        let name = TeamName::parse(name).expect("a team name");
        let folder = env.root().join("teams").join(name.folder());
        fs::create_dir_all(&folder).expect("a team folder");
        let team = Self { env: env.clone(), name, folder, layout };
        fs::write(team.config_file(), team.config(members)).expect("a config.json");
        match layout {
            Layout::Array => fs::create_dir(team.folder.join("inboxes")).expect("a folder for inboxes"),
            Layout::Log => {
                for member in members {
                    let inbox = team.inbox(member);
                    fs::create_dir_all(inbox.parent().expect("a member's folder"))
                        .expect("a member's folder");
                    fs::write(inbox, "").expect("an empty inbox");
                }
            }
        }
        team
    }

    /// A `config.json` as a client of the first generation writes it.
    fn config(&self, members: &[&str]) -> String {
        let team = &self.name;
        let lead = members.first().copied().unwrap_or("team-lead");
        let member = |name: &&str| {
            let (kind, pane) =
                if *name == lead { ("team-lead", "") } else { ("general-purpose", "in-process") };
            format!(
                r#"    {{
      "agentId": "{name}@{team}",
      "name": "{name}",
      "agentType": "{kind}",
      "model": "claude-sonnet-4-5",
      "joinedAt": 1794768087988,
      "tmuxPaneId": "{pane}",
      "cwd": "/home/user/project",
      "subscriptions": []
    }}"#
            )
        };
        let members = members.iter().map(member).collect::<Vec<_>>().join(",\n");
        format!(
            r#"{{
  "name": "{team}",
  "description": "A team for a test",
  "createdAt": 1794768087987,
  "leadAgentId": "{lead}@{team}",
  "leadSessionId": "404c5e08-c459-429b-b913-7ff840c3ff52",
  "members": [
{members}
  ]
}}"#
        )
    }

    /// The world that it is in.
    pub fn env(&self) -> &TestEnv {
        &self.env
    }

    /// Its name.
    pub fn name(&self) -> &TeamName {
        &self.name
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its `config.json`.
    pub fn config_file(&self) -> PathBuf {
        self.folder.join("config.json")
    }

    /// The file that mail for `member` is written to, whether it exists or not.
    pub fn inbox(&self, member: &str) -> PathBuf {
        let member = member_name(member);
        match self.layout {
            Layout::Array => paths::array_inbox(&self.folder, &member),
            Layout::Log => paths::log_folder(&self.folder, &member).join("inbox"),
        }
    }

    /// The directory that clients lock this inbox by; see [`Foreign`](crate::Foreign) for clients that do.
    pub fn client_lock(&self, member: &str) -> PathBuf {
        let mut lock = self.inbox(member).into_os_string();
        lock.push(".lock");
        lock.into()
    }

    /// The store's view of the team.
    pub fn store(&self) -> TeamFolder {
        self.store_with(LockTimes::default())
    }

    /// The store's view of the team, with another patience.
    pub fn store_with(&self, times: LockTimes) -> TeamFolder {
        TeamFolder::new(&self.env.store_root(), &self.name, &self.env.store_state(), times)
    }

    /// Its task folder, whether it exists or not.
    pub fn task_folder(&self) -> PathBuf {
        self.env.store_root().tasks(&self.name)
    }

    /// The store's view of the team's tasks.
    pub fn tasks(&self) -> TaskFolder {
        self.tasks_with(LockTimes::default())
    }

    /// The store's view of the team's tasks, with another patience.
    pub fn tasks_with(&self, times: LockTimes) -> TaskFolder {
        TaskFolder::new(&self.env.store_root(), &self.name, &self.env.store_state(), times)
    }

    /// The store's view of a member's mail.
    pub fn mailbox(&self, member: &str) -> Mailbox {
        self.mailbox_with(member, LockTimes::default())
    }

    /// The store's view of a member's mail, with another patience.
    pub fn mailbox_with(&self, member: &str, times: LockTimes) -> Mailbox {
        Mailbox::open(&self.folder, &member_name(member), &self.env.store_state(), times)
    }

    /// The bytes of an inbox.
    pub fn inbox_bytes(&self, member: &str) -> Vec<u8> {
        let inbox = self.inbox(member);
        fs::read(&inbox).unwrap_or_else(|error| panic!("{}: {error}", inbox.display()))
    }

    /// Writes an inbox just so, without any lock.
    pub fn write_inbox(&self, member: &str, bytes: impl AsRef<[u8]>) {
        let inbox = self.inbox(member);
        fs::write(&inbox, bytes).unwrap_or_else(|error| panic!("{}: {error}", inbox.display()));
    }

    /// The entries or lines of an inbox, all of which must be JSON.
    pub fn entries(&self, member: &str) -> Vec<Value> {
        let bytes = self.inbox_bytes(member);
        let entries = match self.layout {
            Layout::Array => serde_json::from_slice(&bytes),
            Layout::Log => serde_json::Deserializer::from_slice(&bytes).into_iter().collect(),
        };
        entries.unwrap_or_else(|error| {
            panic!("{member}'s inbox is not JSON: {error}\n{}", String::from_utf8_lossy(&bytes))
        })
    }

    /// The texts of an inbox's messages, in the order they stand; other entries have none.
    pub fn texts(&self, member: &str) -> Vec<String> {
        let text = |entry: &Value| {
            let text = entry.get("text").or_else(|| entry.pointer("/content/text"))?;
            text.as_str().map(ToOwned::to_owned)
        };
        self.entries(member).iter().filter_map(text).collect()
    }

    /// Everything in the folder of the inbox that is neither mail, nor a lock file that programs share, nor a cursor.
    pub fn litter(&self, member: &str) -> Vec<String> {
        let inbox = self.inbox(member);
        let folder = inbox.parent().expect("an inbox is in a folder");
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("the inbox's folder")
            .map(|entry| entry.expect("an entry of it").file_name().to_string_lossy().into_owned())
            .filter(|name| match self.layout {
                Layout::Array => name != ".lock" && !has_extension(name, "json"),
                Layout::Log => name != "state.json" && !name.starts_with("inbox"),
            })
            .collect();
        names.sort();
        names
    }
}

fn has_extension(name: &str, wanted: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == wanted)
}

fn member_name(name: &str) -> MemberName {
    MemberName::parse(name).expect("a member name")
}
