//! Hints as commands, for people and scripts at a shell.

use atm_office::Hint;

/// A hint in words. A file that could not be changed is said to be as it was, unless steps before it were done.
pub(crate) fn words(hint: &Hint) -> String {
    match (unchanged(hint), advice(hint)) {
        (Some(fact), advice) => format!("{fact}; {advice}"),
        (None, advice) => advice,
    }
}

/// That nothing happened, of errors that stand alone.
fn unchanged(hint: &Hint) -> Option<&'static str> {
    match hint {
        Hint::JoinGroup => Some("nothing was made"),
        Hint::RemoveLink => Some("nothing was written there"),
        Hint::TryAgain | Hint::StopWriter | Hint::AskAgain => Some("nothing was written"),
        Hint::MendFile
        | Hint::UseNewerVersion
        | Hint::UseOtherBackup
        | Hint::SeeWhetherRemoved
        | Hint::SeeSpaceAndPermissions
        | Hint::TmuxHangs
        | Hint::LeaveToClient => Some("nothing was changed"),
        Hint::MailWaits => Some("nothing was done"),
        // Of a disk that does not sync, the error says that it is written.
        _ => None,
    }
}

/// A name as it may stand in a command that somebody copies: one that a shell would not leave alone is left out.
pub(crate) fn word<'a>(name: &'a str, otherwise: &'a str) -> &'a str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) { name } else { otherwise }
}

/// The names that may be meant, before another way out.
pub(crate) fn meant(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("did you mean {}? ", nearest.join(", ")) }
}

/// What to do, whatever was done before.
#[expect(clippy::too_many_lines, reason = "a line or two for each hint")]
fn advice(hint: &Hint) -> String {
    match hint {
        Hint::NearestNames(names) => format!("did you mean {}?", names.join(", ")),
        Hint::ListSessions => "`atm sessions` lists them".to_owned(),
        Hint::ChooseSession(choices) => format!("name one of: {}", choices.join(", ")),
        Hint::ChooseTeam(choices) => format!("use --team with one of: {}", choices.join(", ")),
        Hint::BecomeMember { name, nearest } => {
            let add = format!("`atm member add {}` makes them a member", word(name, "NAME"));
            format!("{}{add}; without --as you are `user`", meant(nearest))
        }
        Hint::SendFile { kilobytes } => format!(
            "the message has {kilobytes} KB; leave it as a file, `atm artifacts put FILE`, and send its name"
        ),
        Hint::ChangeAlias { alias } => {
            let alias = word(alias, "ALIAS");
            format!("`atm team alias {alias} TEAM` gives it to another team; --remove forgets it")
        }
        Hint::ListMessages { who } => format!("`atm inbox {}` shows the ids", word(who, "NAME")),
        Hint::ChooseMessage(choices) => format!("one of: {}", choices.join(", ")),
        Hint::FollowMessage { id, is_written } => {
            let fact =
                if *is_written { "it is written and stays so" } else { "it is accepted and will be written" };
            format!("{fact}; `atm track {}` shows how far it came", word(id, "ID"))
        }
        Hint::AwaitAnswer { who } => format!(
            "the request stays, and its answer comes as mail; `atm status {} --why` shows whether it is there",
            word(who, "NAME")
        ),
        Hint::ListArtifacts { who } => {
            format!("`atm artifacts list {}` shows the files", word(who, "NAME"))
        }
        Hint::RunRepair { .. } => "`atm doctor` shows the phantoms".into(),
        Hint::ReleaseTask { id, owner } => {
            format!("{owner} or the lead can give it back: atm task release {id}")
        }
        Hint::ShowTask { id } => format!("`atm task show {id}` tells whose it is"),
        Hint::UnblockTask { id } => format!("`atm task unblock {id}` if that is not so any more"),
        Hint::ReopenTask { id } => {
            format!("its owner or the lead can open it again: atm task update {id} --status pending")
        }
        Hint::AssignTask { id } => format!("`atm task assign {id} NAME` gives it to somebody"),
        Hint::StartAgain { name } => {
            let name = word(name.as_deref().unwrap_or("NAME"), "NAME");
            format!("`atm respawn {name}` starts it again; `atm members` shows who runs")
        }
        Hint::StartMember { name } => {
            format!("`atm respawn {}` starts it, with its inbox", word(name, "NAME"))
        }
        Hint::EndMember { name } => {
            let name = word(name, "NAME");
            format!("`atm kill {name}` ends it; `atm attach {name}` shows it")
        }
        Hint::SetWake { name } => {
            format!("`atm member set {} --wake WAY` says how", word(name, "NAME"))
        }
        Hint::QueueWake { name } => {
            format!("its mail waits in its inbox; `atm wake {} --queue` keeps the line", word(name, "NAME"))
        }
        Hint::SetWakeDetail { name, what } => {
            format!("`atm member set {} --{what} …` says it", word(name, "NAME"))
        }
        Hint::Partly { done, rest } => {
            let done: Vec<String> = done.iter().map(ToString::to_string).collect();
            let rest = rest.as_deref().map(|rest| format!("; {}", advice(rest))).unwrap_or_default();
            format!("done before it failed: {}{rest}", done.join(", "))
        }
        Hint::ListTeams => "`atm team list` shows the teams".into(),
        Hint::CreateTeam => {
            "`atm team create NAME` makes one; `atm install claude` makes sessions reachable without one; \
             `atm config` shows which root is used, and why"
                .into()
        }
        Hint::ListMembers => "`atm members` shows the names".into(),
        Hint::AddMember => "`atm member add NAME` adds somebody".into(),
        Hint::ShowLead => "`atm team show` shows the members; the lead is called team-lead".into(),
        Hint::ActForMember => "use --as NAME to act for somebody; without it you are `user`".into(),
        Hint::SearchHistory => "`atm log` shows what was sent and seen".into(),
        Hint::GiveText => "give the text as an argument, `-` for stdin, or --file".into(),
        Hint::CompletePayload => {
            "add that, or --force sends it as it is; `atm schema payload` has the fields".into()
        }
        Hint::ForceDelete => "--force deletes it all the same; its files are kept in the state folder".into(),
        Hint::ConfirmRemoval => {
            "--yes removes it all the same; the mail stays, and `atm member restore NAME` undoes it".into()
        }
        Hint::EndClient => "end it first, or use --force: what is made a log, it will not see".into(),
        Hint::TakeLead => "--force takes its place all the same".into(),
        Hint::RebuildLedger => {
            "mail goes without it; `atm doctor --fix` makes a new one from the files".into()
        }
        Hint::ListMended => "`atm doctor --journal` lists what was mended".into(),
        Hint::ForceUndo => {
            "--force puts the old bytes there all the same; the journal keeps what is there now".into()
        }
        Hint::ListGroups | Hint::JoinGroup => "`id -Gn` shows the groups that you are in".into(),
        Hint::AskHolder { holder: Some(holder), .. } => format!(
            "ask for it: `atm send {} \"…\"`; `atm reservations` shows who keeps what",
            word(holder, "NAME")
        ),
        Hint::AskHolder { holder: None, .. } => {
            "the person at the keyboard can release it; `atm reservations` shows who keeps what".into()
        }
        Hint::ReleaseFolder { folder } => {
            format!("it is a part of {folder:?}, which is released as a whole; `atm reservations` shows it")
        }
        Hint::ListReservations => "`atm reservations` shows who keeps what".into(),
        Hint::EnterTree => "run it in a folder of that tree: worktrees and repositories are apart".into(),
        Hint::ListTasks => "`atm task list` shows the tasks".into(),
        Hint::ListHolders => "`atm task list` shows who has what, and what waits for what".into(),
        Hint::ClaimAnother => "`atm task claim --next` takes another one".into(),
        Hint::ShowTaskGraph => "`atm task graph` shows what waits for what".into(),
        Hint::UseClaims => "use `atm task claim` and `atm task release`".into(),
        Hint::ShowBridge => "`atm bridge status` shows the bridge; `atm bridge run` starts it".into(),
        Hint::InstallTmux => "install tmux; members run in its panes".into(),
        Hint::TmuxHangs => "the tmux server hangs".into(),
        Hint::UseWindow => "use --place window".into(),
        Hint::NameProgram => "name it with its path, or put it on your PATH".into(),
        Hint::NameFolder => "--cwd names a folder that is there".into(),
        Hint::GiveCommand => "give --client, or the command behind `--`".into(),
        Hint::NamePermissionMode => {
            "--permission-mode is one word of the client's own; a client that takes none has settings for it"
                .into()
        }
        Hint::LeaveToClient => "members that a client started are its own".into(),
        Hint::MailWaits => "its mail waits in its inbox".into(),
        Hint::WakeAgain => "its mail waits in its inbox; it is tried again at the next step".into(),
        Hint::RemoveLink => "look who made the link, and remove it or move the file".into(),
        Hint::TryAgain => "try again, or look which program hangs".into(),
        Hint::TryThen => "try again then; who has it goes on, and its machine puts the claim back".into(),
        Hint::StopWriter => "stop the program that rewrites this file without its lock".into(),
        Hint::MendFile => "mend the file".into(),
        Hint::UseNewerVersion => "use a newer atm for it".into(),
        Hint::UseOtherBackup => "use another backup, or look where this one is from".into(),
        Hint::SeeWhetherRemoved => "see whether the team or its folder was removed meanwhile".into(),
        Hint::SeeToDisk => "see to the disk".into(),
        Hint::AskAgain => "nothing will be, until you ask for it again".into(),
        Hint::SeeSpaceAndPermissions => "see disk space and permissions".into(),
    }
}

#[cfg(test)]
mod tests {
    use atm_office::mail::partly::Done;

    use super::*;

    #[test]
    fn names_stand_in_commands_only_if_a_shell_leaves_them_alone() {
        let said = |who: &str| words(&Hint::ListMessages { who: who.to_owned() });
        assert_eq!(said("bob-2"), "`atm inbox bob-2` shows the ids");
        for odd in ["", "-rf", "bob; reboot", "$(reboot)", "b`id`", "a b", "b\nc", "bób"] {
            assert_eq!(said(odd), "`atm inbox NAME` shows the ids", "{odd:?}");
        }
    }

    #[test]
    fn that_nothing_was_done_is_said_only_where_it_is_so() {
        assert_eq!(words(&Hint::MendFile), "nothing was changed; mend the file");
        assert_eq!(words(&Hint::SeeToDisk), "see to the disk");
        let done = vec![Done::Steps(vec!["the first was sent".to_owned()])];
        let partly = Hint::Partly { done, rest: Some(Box::new(Hint::MendFile)) };
        assert_eq!(words(&partly), "done before it failed: the first was sent; mend the file");
    }
}
