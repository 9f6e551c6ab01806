//! The table of rules: what a check can find, how bad it is, why, and what to do about it.
//!
//! A code, once given, keeps its meaning for good: a rule that goes leaves its number unused. The documentation of the
//! rules is written from this table.

use std::fmt;

use serde::{Serialize, Serializer};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Mail, a member or a task is lost or cannot be used by some program.
    Error,
    /// Programs cope, but hardly anybody meant it so.
    Warning,
    /// Not as documented, and right all the same: real clients write it so.
    Dialect,
}

impl Level {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Dialect => "dialect",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

macro_rules! rules {
    ($(
        $group:literal: $( $name:ident = $code:literal $level:ident, $title:literal, $why:literal, $advice:literal; )*
    )*) => {
        /// A rule that files are checked by.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule {
            $( $( #[doc = $title] $name, )* )*
        }

        impl Rule {
            /// All rules, in the order of their codes within each group.
            pub const ALL: &[Rule] = &[$( $( Rule::$name, )* )*];

            /// The stable name for programs.
            pub fn code(self) -> &'static str {
                match self { $( $( Self::$name => $code, )* )* }
            }

            /// How bad it is.
            pub fn level(self) -> Level {
                match self { $( $( Self::$name => Level::$level, )* )* }
            }

            /// What it is about.
            pub fn group(self) -> &'static str {
                match self { $( $( Self::$name => $group, )* )* }
            }

            /// What is wrong, in short.
            pub fn title(self) -> &'static str {
                match self { $( $( Self::$name => $title, )* )* }
            }

            /// What comes of it.
            pub fn why(self) -> &'static str {
                match self { $( $( Self::$name => $why, )* )* }
            }

            /// What to do.
            pub fn advice(self) -> &'static str {
                match self { $( $( Self::$name => $advice, )* )* }
            }
        }
    };
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

rules! {
    "Files":
    NotUtf8 = "ATM-F001" Error, "not UTF-8",
        "Clients read U+FFFD in its place, and write that back: the text is then damaged for good.",
        "Find the program that writes another encoding; `atm doctor --fix` sets the bytes aside and keeps what can be read.";
    NotJson = "ATM-F002" Error, "not valid JSON",
        "Readers see nothing of the file, and the next send of a client overwrites it.",
        "Mend it by hand, or let `atm doctor --fix` keep what can be read.";
    Empty = "ATM-F003" Error, "an empty file",
        "Not even `[]` or `{}` is in it: a write was cut short, or a program made it with `touch`.",
        "Write `[]` into an inbox; restore `config.json` from a backup.";
    ByteOrderMark = "ATM-F004" Error, "a byte order mark",
        "JSON does not allow it: clients take the file for broken.",
        "Save the file as UTF-8 without a byte order mark.";
    WrongShape = "ATM-F005" Error, "not the kind of document that belongs there",
        "Clients put an empty document in its place.",
        "An array inbox is one array, a log inbox one object a line, everything else one object.";
    Deep = "ATM-F006" Warning, "nested very deeply",
        "Many parsers stop at 128 levels, and some crash.",
        "Keep what programs add flat.";
    RepeatedKey = "ATM-F007" Warning, "a key twice in one object",
        "Of two values the last counts, for most programs.",
        "Remove the one that is not meant.";
    LoneSurrogate = "ATM-F008" Warning, "half of a character",
        "A text was cut in the middle of an emoji or the like; readers show U+FFFD in its place.",
        "Cut texts between characters, not between UTF-16 units.";
    ZeroBytes = "ATM-F009" Error, "zero bytes",
        "What a power cut leaves of a file that was not synced.",
        "Restore it from a backup; `atm doctor --fix` sets the bytes aside and keeps what can be read.";
    TooLarge = "ATM-F010" Warning, "too large to be looked at whole",
        "Clients read all of it at every look.",
        "Put large content into a file and send its path; `atm archive` takes old mail out of an inbox.";
    NotAFile = "ATM-F011" Error, "not a regular file",
        "A folder, a pipe or a link that leads nowhere stands where a file belongs.",
        "Move it away.";
    Unreadable = "ATM-F012" Error, "cannot be read",
        "Clients that run under this account cannot read it either.",
        "See who owns the file, and its mode.";

    "Messages":
    EntryNotObject = "ATM-M001" Error, "an entry that is no object",
        "One `null` blocks the whole inbox of older clients; newer ones delete it.",
        "Take the entry out; `atm doctor --fix` does, and keeps it in quarantine.";
    MessageLacks = "ATM-M002" Error, "a message without `from`, `text` or `timestamp`",
        "Newer clients delete it without a word, older ones show `undefined`.",
        "Write all of `from`, `text`, `timestamp` and `read`; `atm send` does.";
    MessageWrongType = "ATM-M003" Error, "a message whose `from`, `text` or `timestamp` is no string",
        "Newer clients delete it without a word.",
        "Write strings: the time like \"2026-11-15T18:42:29.139Z\", a payload as JSON in a string.";
    ReadNotBoolean = "ATM-M004" Error, "a `read` that is no boolean",
        "Newer clients delete a message whose `read` is null or a string.",
        "Write `true` or `false`.";
    ReadMissing = "ATM-M005" Warning, "a message without `read`",
        "It counts as unread, and not all programs know that.",
        "Write `\"read\": false`.";
    TimeUnknown = "ATM-M006" Warning, "a time that cannot be understood",
        "The message has no place in time: filters by time leave it out.",
        "Write UTC with milliseconds, like 2026-11-15T18:42:29.139Z.";
    TimeSpelling = "ATM-M007" Dialect, "a time in another spelling",
        "Understood; the usual spelling is UTC with milliseconds.",
        "Nothing needs to be done.";
    SenderUnusable = "ATM-M008" Warning, "a sender that cannot be answered",
        "The name is empty, or holds characters that no inbox may be called by.",
        "Find out which program writes such names.";
    RepeatedId = "ATM-M009" Warning, "one id for two messages",
        "An acknowledgement, a reply or a receipt may be taken for the other one's.",
        "Make ids unique: `atm send` makes UUIDs.";
    NoId = "ATM-M010" Dialect, "a message without an id",
        "Clients before 2.1.197 write none; it gets one made of sender, time and text.",
        "Nothing needs to be done.";
    TwoIds = "ATM-M011" Warning, "`messageId` and `msg_id` differ",
        "Programs that know only one of them speak of different messages.",
        "Write the same id under both keys.";
    MessageExtraKey = "ATM-M012" Dialect, "a key that is not documented",
        "Clients keep it while the message lives.",
        "Nothing needs to be done.";
    DeliveryUnknown = "ATM-M013" Warning, "a `delivery_status` that is neither `delivered` nor `queued`",
        "It counts as delivered.",
        "Write one of the two, or nothing.";
    OptionalWrongType = "ATM-M014" Warning, "an optional field of another type",
        "Programs pass over it.",
        "`summary`, `color`, `type` and ids are strings, `metadata` is an object.";
    ColorUnknown = "ATM-M015" Dialect, "a colour that is not one of the known",
        "It is shown without colour.",
        "Nothing needs to be done.";
    ControlCharacters = "ATM-M016" Warning, "control characters in what is shown",
        "A terminal that gets them raw may obey them; `atm` shows them escaped.",
        "Find out who sends them, and do not print the file with `cat`.";

    "Lines of a log inbox":
    LineNotJson = "ATM-L001" Error, "a line that is not JSON",
        "It is passed over by readers that check, and stops those that do not.",
        "Take the line out; `atm doctor --fix` does, and keeps it in quarantine.";
    LineNotObject = "ATM-L002" Error, "a line that is no object",
        "It is no message for anybody.",
        "Take the line out; `atm doctor --fix` does, and keeps it in quarantine.";
    LineLacks = "ATM-L003" Error, "a line without `type`, `from`, `timestamp` or `content`",
        "It is no message for anybody.",
        "Write all of `type`, `from`, `to`, `timestamp` and `content`; `atm send` does.";
    LineWrongType = "ATM-L004" Error, "a line whose `type`, `from` or `timestamp` is of another type",
        "It is no message for anybody.",
        "Write strings.";
    LineContent = "ATM-L005" Dialect, "a `content` that is no object",
        "Understood as text.",
        "Write `{\"text\": …}`.";
    LineTorn = "ATM-L006" Warning, "a last line without its newline",
        "It is no message until the newline is there: a write is under way, or was cut short.",
        "Nothing: the next append puts a newline before its own line.";
    LineOfArray = "ATM-L007" Dialect, "an array inbox's entry in a log",
        "Understood.",
        "Nothing needs to be done.";
    LineElsewhere = "ATM-L008" Warning, "a line for somebody else",
        "Its `to` is neither this inbox's name nor `all`: it may have been put into the wrong file.",
        "See whether it was meant for this inbox.";
    LineNoRecipient = "ATM-L009" Warning, "a line without `to`",
        "Understood: whose inbox it is in tells. Other readers of logs refuse it.",
        "Write `to`.";

    "Payloads":
    PayloadNotJson = "ATM-P001" Warning, "a text that begins like a payload and is none",
        "It is shown as words, and acted on by nobody.",
        "Encode the payload as JSON, then the whole of it as a string.";
    PayloadLacks = "ATM-P002" Warning, "a payload without a field that it needs",
        "Its receiver cannot tell what it is about, and may ignore it.",
        "Add the field; the commands of `atm` do.";
    PayloadWrongType = "ATM-P003" Warning, "a payload's field of another type",
        "Its receiver may ignore it.",
        "Write the type that the message says.";
    PayloadUnknown = "ATM-P004" Dialect, "a payload of a type that is not documented",
        "It is shown as it stands.",
        "Nothing needs to be done.";
    PayloadOtherSender = "ATM-P005" Warning, "a payload from somebody else than its message",
        "Either may be a forgery: readers differ in which of the two they believe.",
        "Find out who wrote it before acting on it.";

    "Teams (`config.json`)":
    NoMembers = "ATM-T001" Error, "no array of `members`",
        "No program finds anybody in this team.",
        "Write `\"members\": []`, or restore the file from a backup.";
    MemberUnusable = "ATM-T002" Error, "a member that is no object, or has no name",
        "Mail is routed by name: nobody can write to it.",
        "Give it a name, or take it out.";
    MemberTwice = "ATM-T003" Error, "two members of one name",
        "They share one inbox, and which of them reads a message is chance.",
        "Rename one, or take it out.";
    MemberNameUnsafe = "ATM-T004" Error, "a member name that cannot be a file's",
        "`atm` makes no path of it; a program that does may write elsewhere.",
        "Rename the member.";
    SharedInbox = "ATM-T005" Error, "two names that share one inbox",
        "Clients spell every character outside A-Z, a-z, 0-9, _ and - as a hyphen in file names.",
        "Rename one of them.";
    NameNotKebab = "ATM-T006" Dialect, "a name that is not kebab-case of 3 to 64 characters",
        "Works, as long as every program spells its file alike.",
        "Nothing needs to be done.";
    AgentIdOther = "ATM-T007" Warning, "an `agentId` that is not `name@team`",
        "Programs that address by id miss the member.",
        "Write the name and the team's name.";
    TeamNameMissing = "ATM-T008" Warning, "a team without `name`",
        "The folder's name is used.",
        "Add it.";
    TeamNameOther = "ATM-T009" Warning, "a team called otherwise than its folder",
        "Clients look for the folder that they would make of the name.",
        "Rename the folder or the team.";
    NoDescription = "ATM-T010" Dialect, "no description",
        "The newest clients write none.",
        "Nothing needs to be done.";
    DescriptionLength = "ATM-T011" Warning, "a description that is empty or longer than 500 characters",
        "Programs that check refuse it.",
        "Shorten it.";
    TeamTime = "ATM-T012" Warning, "a team's or member's time that is missing or cannot be understood",
        "Nobody can tell how old it is.",
        "Write UTC with milliseconds, like 2026-11-15T18:42:29.139Z.";
    EpochTime = "ATM-T013" Dialect, "a time as a number of milliseconds",
        "Clients write it so.",
        "Nothing needs to be done.";
    ModelOther = "ATM-T014" Dialect, "a model that is not `haiku`, `sonnet` or `opus`",
        "Clients write full model ids; a lead of the newest has none.",
        "Nothing needs to be done.";
    PaneOther = "ATM-T015" Dialect, "a `tmuxPaneId` that is no pane",
        "Clients write an empty one, `leader` or `in-process` for members without a pane.",
        "Nothing needs to be done.";
    PaneUnknown = "ATM-T016" Warning, "a `tmuxPaneId` that nobody writes",
        "It is no pane of tmux: the member cannot be woken or closed by it.",
        "Write `%` and the pane's number, or an empty string.";
    ActiveMissing = "ATM-T017" Dialect, "no `isActive`",
        "Clients say it only of members in processes of their own.",
        "Nothing needs to be done.";
    ActiveNotBoolean = "ATM-T018" Error, "an `isActive` that is no boolean",
        "Programs that look at it take the member for on, or for off, as their language has it.",
        "Write `true` or `false`.";
    BackendUnknown = "ATM-T019" Warning, "a `backendType` that nobody writes",
        "`tmux` and `in-process` are in use, `docker` and `k8s` are reserved.",
        "Correct it.";
    LeadUnknown = "ATM-T020" Warning, "a lead that is no member",
        "What members report to their lead goes to nobody.",
        "Correct `leadAgentId`, or add the lead as a member.";
    SchemaNewer = "ATM-T021" Warning, "a newer version of the format",
        "It may mean things that this `atm` does not know, so it reads the file and does not write it.",
        "See whether there is a newer `atm`.";
    TeamExtraKey = "ATM-T022" Dialect, "a key that is not documented",
        "Clients keep it.",
        "Nothing needs to be done.";
    TeamWrongType = "ATM-T023" Warning, "a field of another type",
        "Programs pass over it, or fail.",
        "Write the type that the message says.";
    ActiveAfterShutdown = "ATM-T024" Warning, "a member that is on and was shut down",
        "`isActive` is true, and `shutdownAt` is later than `spawnedAt`.",
        "`atm member set NAME --active false`, if it is off.";
    NoSchemaVersion = "ATM-T025" Dialect, "no `schemaVersion`",
        "It counts as 1.0.0; clients write none.",
        "Nothing needs to be done; `atm migrate` adds it.";
    NoConfig = "ATM-T026" Warning, "a team without `config.json`",
        "It has mail and no members: its lead was closed, or the file was removed.",
        "`atm doctor` says whether anybody still uses it.";

    "Tasks":
    TaskNoId = "ATM-K001" Error, "a task without an id",
        "Nobody can name it, assign it or finish it.",
        "Write the number of its file as `id`, as a string.";
    TaskLacks = "ATM-K002" Warning, "a task without `subject`, `description` or `status`",
        "Clients may leave it out of their list.",
        "Add it.";
    TaskWrongType = "ATM-K003" Warning, "a task's field of another type",
        "Clients may leave the task out of their list.",
        "Strings, but for `blocks` and `blockedBy`, which are arrays of strings, and `metadata`, an object.";
    TaskStatusUnknown = "ATM-K004" Warning, "a status that is not `pending`, `in_progress` or `completed`",
        "Clients may leave the task out of their list.",
        "Correct it.";
    TaskOtherFile = "ATM-K005" Warning, "a task whose file has another name",
        "Clients find a task by its file: it answers to one number and calls itself by another.",
        "Rename the file, or correct the id.";
    TaskExtraKey = "ATM-K006" Warning, "a key that clients drop",
        "They write a task anew with the keys that they know.",
        "Put it below `metadata`.";
    TaskReference = "ATM-K007" Warning, "a task that waits for one that is not there",
        "It waits for good.",
        "Correct `blockedBy`.";
    TaskCycle = "ATM-K008" Warning, "tasks that wait for each other",
        "None of them can begin.",
        "Take one of them out of `blockedBy`.";
    TaskMark = "ATM-K009" Warning, "a `.highwatermark` that is no number",
        "Clients may give a new task an id that was used before.",
        "Write the highest id into it.";

    "Status reports (`task-status.json`)":
    StatusLacks = "ATM-S001" Warning, "a report without `agentId`, `status`, `startedAt` or `lastActiveAt`",
        "Nobody can tell whose it is, or how things stand.",
        "Add it.";
    StatusUnknown = "ATM-S002" Warning, "a status that is not `running`, `idle`, `complete` or `error`",
        "It tells nobody anything.",
        "Correct it.";
    StatusWrongType = "ATM-S003" Warning, "a report's field of another type, or a time that cannot be understood",
        "It is passed over.",
        "Write times like 2026-11-15T18:42:29.139Z, and numbers as numbers.";
    StatusOtherMember = "ATM-S004" Warning, "a report in another member's folder",
        "It is taken for that member's.",
        "Move it.";

    "Cursors (`state.json`)":
    CursorLine = "ATM-C001" Error, "no usable `lastProcessedLine`",
        "Everything counts as unread: the member gets its mail again.",
        "Write the number of lines that are done.";
    CursorSpelling = "ATM-C002" Dialect, "a line number written as a string",
        "Understood; shell tools leave it so.",
        "Nothing needs to be done.";
    CursorTime = "ATM-C003" Warning, "a `lastProcessedTimestamp` that cannot be understood",
        "After a rotation the place cannot be found by it.",
        "Write UTC with milliseconds, or null.";
    CursorBeyond = "ATM-C004" Warning, "a cursor beyond the end of its inbox",
        "Recipes then read nothing until the inbox has grown past it: what comes until then is passed over.",
        "`atm doctor --fix` moves it to where its time says.";

    "Settings":
    SettingsBad = "ATM-X001" Error, "a settings file that cannot be used",
        "Every command fails until it is mended.",
        "Correct the key or the value; `atm config` shows what is known.";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_of_one_form() {
        let codes: HashSet<_> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        assert_eq!(codes.len(), Rule::ALL.len());
        for code in codes {
            let (letter, number) = code.strip_prefix("ATM-").unwrap().split_at(1);
            assert!(letter.as_bytes()[0].is_ascii_uppercase() && number.len() == 3, "{code}");
            assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{code}");
        }
    }

    #[test]
    fn every_rule_says_what_comes_of_it_and_what_to_do() {
        for rule in Rule::ALL {
            assert!(rule.why().ends_with('.') && rule.advice().ends_with('.'), "{}", rule.code());
            assert!(!rule.title().ends_with('.'), "{}", rule.code());
        }
    }
}
