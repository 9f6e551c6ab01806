//! Hints as tool calls, for an agent that may have no shell.

use atm_office::Hint;

/// Which tools a server lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toolbox {
    /// What a member needs for its daily work.
    Core,
    /// All but those of the lead.
    Members,
    /// All of them.
    Leads,
}

/// A hint in words, by tools that the server lists; nothing where an agent can do nothing about it.
#[expect(clippy::too_many_lines, reason = "a line or two for each hint")]
pub(crate) fn words(hint: &Hint, toolbox: Toolbox) -> Option<String> {
    let all = toolbox != Toolbox::Core;
    let is_lead = toolbox == Toolbox::Leads;
    let either = |whole: &str, core: &str| Some(if all { whole } else { core }.to_owned());
    let leads = |lead: &str, other: &str| Some(if is_lead { lead } else { other }.to_owned());
    let some = |words: &str| Some(words.to_owned());
    match hint {
        Hint::NearestNames(names) => Some(format!("Did you mean {}?", names.join(", "))),
        Hint::ListTeams | Hint::CreateTeam => {
            leads("team_create makes a team", "A person or the lead has to make the team")
        }
        Hint::ChooseSession(choices) => Some(format!("Name one of: {}", choices.join(", "))),
        Hint::ChooseTeam(choices) => Some(format!("Give team_name, one of: {}", choices.join(", "))),
        Hint::ListMembers | Hint::ShowLead => {
            either("read_config shows the members", "The tool members shows the names")
        }
        Hint::AddMember => {
            leads("add_member adds one, spawn_teammate starts one", "Only the lead adds members")
        }
        Hint::BecomeMember { nearest, .. } => {
            let meant = (!nearest.is_empty()).then(|| format!("Did you mean {}?", nearest.join(", ")));
            meant.or_else(|| words(&Hint::AddMember, toolbox))
        }
        Hint::SendFile { kilobytes } => {
            Some(format!("The message has {kilobytes} KB: write it to a file, and send the file's path"))
        }
        Hint::ListMessages { .. } | Hint::SearchHistory => {
            either("read_inbox and search_mail show the ids", "read_inbox shows the ids")
        }
        Hint::ChooseMessage(choices) => Some(format!("One of: {}", choices.join(", "))),
        Hint::FollowMessage { id, is_written } => {
            let fact =
                if *is_written { "It is written and stays so" } else { "It is accepted and will be written" };
            let follow = if all { format!("; track follows {id}") } else { String::new() };
            Some(format!("{fact}{follow}"))
        }
        Hint::AwaitAnswer { .. } => some("It is written and stays so; the answer will come as mail"),
        Hint::GiveText => some("Put the text into content"),
        Hint::CompletePayload => some("Add that to the JSON in content, or write plain words instead"),
        Hint::ForceDelete => some("Nothing was deleted; a person can do it all the same"),
        Hint::ConfirmRemoval => some("Nobody was removed; a person can do it all the same"),
        Hint::AskHolder { holder: Some(holder), .. } => {
            Some(format!("Ask for it: send_message to {holder}; or work on something else"))
        }
        Hint::AskHolder { holder: None, .. } => some("Ask your user for it, or work on something else"),
        Hint::ReleaseFolder { folder } => {
            Some(format!("It is a part of {folder:?}, which is released as a whole"))
        }
        Hint::ListReservations => either("The tool reservations lists them", "Nothing is to be done"),
        Hint::EnterTree => some("Paths are reserved by a server that was started in their working tree"),
        Hint::ListTasks => some("task_list shows the tasks"),
        Hint::ListHolders => some("task_list shows who has what, and what waits for what"),
        Hint::ReleaseTask { id, owner } => {
            Some(format!("{owner} or the lead can give it back: task_update of {id} with owner \"\""))
        }
        Hint::ClaimAnother => some("claim_task without task_id takes another one"),
        Hint::ShowTask { id } => Some(format!("task_get of {id} tells whose it is")),
        Hint::UnblockTask { id } => Some(format!("task_get of {id} shows what it waits for")),
        Hint::ReopenTask { id } => {
            Some(format!("Its owner or the lead can open it again: task_update of {id} with status pending"))
        }
        Hint::ShowTaskGraph => some("task_list shows what waits for what"),
        Hint::AssignTask { id } => Some(format!("task_update of {id} with owner gives it to somebody")),
        Hint::UseClaims => some("claim_task claims a task"),
        Hint::ShowBridge => some(
            "Nothing was claimed; try again later. If it stays so, tell a person that this machine's bridge does not reach the others",
        ),
        Hint::StartAgain { .. } => leads("spawn_teammate starts it again", "The tool members shows who runs"),
        Hint::StartMember { name } => {
            is_lead.then(|| format!("spawn_teammate with the name {name} starts it, with its inbox"))
        }
        Hint::EndMember { name } => is_lead.then(|| format!("force_kill_teammate of {name} ends it")),
        Hint::GiveCommand => is_lead.then(|| "Give backend_type to spawn_teammate".to_owned()),
        Hint::LeaveToClient => some("Nothing was done: members that a client started are its own"),
        Hint::MailWaits | Hint::QueueWake { .. } => some("Nothing was done; its mail waits in its inbox"),
        Hint::WakeAgain => some("Its mail waits in its inbox, and it is tried again"),
        Hint::TryAgain => some("Nothing was written; try again"),
        Hint::TryThen => some("Try again then"),
        Hint::AskAgain => some("Nothing was written; ask for it again"),
        Hint::MendFile => some("Nothing was changed; a person has to mend the file"),
        Hint::UseNewerVersion => some("Nothing was changed; a person has to update this server"),
        Hint::RebuildLedger => some("Mail goes without it; a person has to mend it"),
        Hint::InstallTmux => some("A person has to install tmux: members run in its panes"),
        Hint::TmuxHangs => some("Nothing was changed; a person has to look why tmux hangs"),
        Hint::StopWriter => some("Nothing was written; a program rewrites this file without its lock"),
        Hint::RemoveLink => some("Nothing was written there; a person has to see who made the link"),
        Hint::SeeWhetherRemoved => some("Nothing was changed; the team may have been removed meanwhile"),
        Hint::SeeToDisk | Hint::SeeSpaceAndPermissions => {
            some("A person has to see to the disk, its space and permissions")
        }
        Hint::SetWake { .. } | Hint::SetWakeDetail { .. } => {
            some("A person has to set how this member is woken; its mail waits in its inbox")
        }
        Hint::Partly { done, rest } => {
            let done: Vec<String> = done.iter().map(ToString::to_string).collect();
            let rest = rest.as_deref().and_then(|rest| words(rest, toolbox));
            // That nothing was done is no longer so.
            let rest = rest.filter(|rest| !rest.starts_with("Nothing was"));
            let rest = rest.map(|rest| format!(". {rest}")).unwrap_or_default();
            Some(format!("Done before it failed: {}{rest}", done.join(", ")))
        }
        // What these are about has no tool: a person does it, at the command line.
        Hint::ChangeAlias { .. }
        | Hint::ActForMember
        | Hint::ListArtifacts { .. }
        | Hint::EndClient
        | Hint::TakeLead
        | Hint::RunRepair { .. }
        | Hint::ListMended
        | Hint::ForceUndo
        | Hint::ListGroups
        | Hint::JoinGroup
        | Hint::UseWindow
        | Hint::NameProgram
        | Hint::NameFolder
        | Hint::NamePermissionMode
        | Hint::UseOtherBackup
        | Hint::ListSessions => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use atm_office::Office;
    use atm_office::mail::partly::Done;
    use atm_office::people::members::MemberPlan;
    use atm_office::people::teams::TeamPlan;
    use atm_store::{Root, State};
    use atm_support::TestEnv;
    use atm_wire::task::TaskId;

    use super::*;
    use crate::desk::Desk;
    use crate::settings::{Profile, Settings, Spawning};
    use crate::tools::{callable, listed};

    /// One of each kind.
    fn samples() -> Vec<Hint> {
        let id = TaskId::parse("3").unwrap();
        let (name, who, alias) = ("bob".to_owned(), "bob".to_owned(), "dev".to_owned());
        let names = vec!["bob".to_owned(), "bo".to_owned()];
        let mut samples = vec![
            Hint::NearestNames(names.clone()),
            Hint::ListTeams,
            Hint::CreateTeam,
            Hint::ChooseTeam(names.clone()),
            Hint::ListSessions,
            Hint::ChooseSession(names.clone()),
            Hint::ChangeAlias { alias },
            Hint::ListMembers,
            Hint::AddMember,
            Hint::BecomeMember { name: name.clone(), nearest: Vec::new() },
            Hint::SendFile { kilobytes: 40 },
            Hint::ShowLead,
            Hint::ActForMember,
            Hint::ListMessages { who: who.clone() },
            Hint::ChooseMessage(names),
            Hint::SearchHistory,
            Hint::FollowMessage { id: "0199".to_owned(), is_written: true },
            Hint::FollowMessage { id: "0199".to_owned(), is_written: false },
            Hint::AwaitAnswer { who: "bob".to_owned() },
            Hint::GiveText,
            Hint::CompletePayload,
            Hint::ListArtifacts { who },
            Hint::ForceDelete,
            Hint::ConfirmRemoval,
            Hint::EndClient,
            Hint::TakeLead,
            Hint::RunRepair { team: "demo".parse().unwrap() },
            Hint::RebuildLedger,
            Hint::ListMended,
            Hint::ForceUndo,
            Hint::ListGroups,
            Hint::AskHolder { holder: Some("bob@dev".to_owned()), path: "src".to_owned() },
            Hint::AskHolder { holder: None, path: "src".to_owned() },
            Hint::ReleaseFolder { folder: "src".to_owned() },
            Hint::ListReservations,
            Hint::EnterTree,
            Hint::ListTasks,
            Hint::ListHolders,
            Hint::ReleaseTask { id, owner: name.clone() },
            Hint::ClaimAnother,
            Hint::ShowTask { id },
            Hint::UnblockTask { id },
            Hint::ReopenTask { id },
            Hint::ShowTaskGraph,
            Hint::AssignTask { id },
            Hint::UseClaims,
            Hint::ShowBridge,
            Hint::InstallTmux,
            Hint::TmuxHangs,
            Hint::UseWindow,
            Hint::StartAgain { name: None },
            Hint::StartMember { name: name.clone() },
            Hint::NameProgram,
            Hint::NameFolder,
            Hint::GiveCommand,
            Hint::NamePermissionMode,
            Hint::EndMember { name: name.clone() },
            Hint::LeaveToClient,
            Hint::MailWaits,
            Hint::SetWake { name: name.clone() },
            Hint::QueueWake { name: name.clone() },
            Hint::SetWakeDetail { name, what: "session" },
            Hint::WakeAgain,
            Hint::JoinGroup,
            Hint::RemoveLink,
            Hint::TryAgain,
            Hint::TryThen,
            Hint::StopWriter,
            Hint::MendFile,
            Hint::UseNewerVersion,
            Hint::UseOtherBackup,
            Hint::SeeWhetherRemoved,
            Hint::SeeToDisk,
            Hint::AskAgain,
            Hint::SeeSpaceAndPermissions,
            Hint::ListSessions,
            Hint::ChooseSession(vec!["a/shop".into(), "b/shop".into()]),
        ];
        let partly = samples.iter().map(|hint| Hint::Partly {
            done: vec![Done::TaskCreated(id)],
            rest: Some(Box::new(hint.clone())),
        });
        samples.extend(partly.collect::<Vec<_>>());
        samples
    }

    /// What tools take, and what looks like a tool and is a value.
    const ARGUMENTS: [&str; 4] = ["team_name", "task_id", "backend_type", "pending"];

    /// The names of the tools that a server lists.
    fn tools(env: &TestEnv, identity: Option<&str>, profile: Profile) -> (Toolbox, BTreeSet<String>) {
        let desk = Desk::new(Settings {
            push: None,
            office: Office::new(Root::new(env.root()), State::new(env.state())),
            identity: identity.map(|name| name.parse().unwrap()),
            team: None,
            cwd: PathBuf::from("/"),
            client: None,
            profile,
            spawning: Spawning::default(),
        });
        let listed = listed(&desk, &callable(&desk));
        (desk.toolbox(), listed.iter().map(|tool| tool.name.to_string()).collect())
    }

    #[test]
    fn every_kind_has_a_sample() {
        let source = include_str!("../../office/src/hint.rs");
        let (_, after) = source.split_once("pub enum Hint {").unwrap();
        let (variants, _) = after.split_once("\n}").unwrap();
        let name = |line: &str| line.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap().to_owned();
        let lines = variants.lines().filter_map(|line| line.strip_prefix("    "));
        let known: BTreeSet<String> =
            lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase())).map(name).collect();
        let sampled: BTreeSet<String> = samples().iter().map(|hint| name(&format!("{hint:?}"))).collect();
        assert!(known.len() > 50, "{known:?}");
        assert_eq!(known, sampled);
    }

    #[test]
    fn no_hint_is_a_command_for_a_shell() {
        for hint in samples() {
            for toolbox in [Toolbox::Leads, Toolbox::Members, Toolbox::Core] {
                let said = words(&hint, toolbox).unwrap_or_default();
                let is_command = ["atm ", "`", "--", "chmod", "sudo"].iter().any(|sign| said.contains(sign));
                assert!(!is_command, "{hint:?}: {said}");
            }
        }
    }

    #[test]
    fn hints_name_only_tools_that_the_server_offers() {
        let env = TestEnv::new();
        let office = Office::new(Root::new(env.root()), State::new(env.state()));
        let team = office.create_team(&TeamPlan::new("dev", "dev")).unwrap();
        office.add_member(&team, &MemberPlan::new("bob")).unwrap();
        let servers = [
            tools(&env, None, Profile::All),
            tools(&env, Some("bob@dev"), Profile::All),
            tools(&env, Some("bob@dev"), Profile::Core),
        ];
        let all = servers[0].1.clone();
        assert_eq!(
            servers.each_ref().map(|(toolbox, _)| *toolbox),
            [Toolbox::Leads, Toolbox::Members, Toolbox::Core]
        );
        assert!(all.contains("add_member") && !servers[1].1.contains("add_member"), "{all:?}");
        for hint in samples() {
            for (toolbox, listed) in &servers {
                let said = words(&hint, *toolbox).unwrap_or_default();
                let named = said.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
                // Anything that is spelled like a tool or an argument, and every tool that is an ordinary word.
                let unknown: Vec<&str> = named
                    .filter(|word| all.contains(*word) || word.contains('_'))
                    .filter(|word| !listed.contains(*word))
                    .filter(|word| !ARGUMENTS.contains(word))
                    .collect();
                assert!(unknown.is_empty(), "{hint:?} {toolbox:?}: {said}: {unknown:?}");
            }
        }
    }

    #[test]
    fn after_steps_that_are_done_it_is_not_said_that_nothing_was() {
        let done = vec![Done::TaskCreated(TaskId::parse("3").unwrap())];
        let hint = Hint::Partly { done, rest: Some(Box::new(Hint::TryAgain)) };
        assert_eq!(words(&hint, Toolbox::Leads).unwrap(), "Done before it failed: task 3 was created");
    }
}
