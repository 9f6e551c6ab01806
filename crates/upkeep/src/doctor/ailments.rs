//! The table of ailments: what the doctor can find, how bad it is, and what is done about it.

use std::fmt;

use serde::{Serialize, Serializer};

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Mail is lost or stuck.
    Error,
    /// It will hurt somebody sooner or later.
    Warning,
    /// Good to know.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

macro_rules! ailments {
    ($( $name:ident = $code:literal $severity:ident, $title:literal, $why:literal, $fix:literal; )*) => {
        /// Something that can be wrong with a team's files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Ailment {
            $( #[doc = $title] $name, )*
        }

        impl Ailment {
            /// All of them, in the order of their codes.
            pub const ALL: &[Ailment] = &[$( Ailment::$name, )*];

            /// The stable name for programs.
            pub fn code(self) -> &'static str {
                match self { $( Self::$name => $code, )* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $( Self::$name => Severity::$severity, )* }
            }

            /// What is wrong, in short.
            pub fn title(self) -> &'static str {
                match self { $( Self::$name => $title, )* }
            }

            /// What comes of it.
            pub fn why(self) -> &'static str {
                match self { $( Self::$name => $why, )* }
            }

            /// What is done about it, by `--fix` or by hand.
            pub fn fix(self) -> &'static str {
                match self { $( Self::$name => $fix, )* }
            }
        }
    };
}

impl Serialize for Ailment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

ailments! {
    Phantom = "ATM-D001" Error, "an inbox of nobody, with mail in it",
        "The name is no member's: nobody reads what is sent there.",
        "`--fix --yes` brings the mail to the member that was most likely meant, `--route NAME=MEMBER` to the one you name.";
    BadEntry = "ATM-D002" Error, "entries of an inbox that are no messages",
        "Older clients stop at them, newer ones delete them.",
        "`--fix` takes them out; they are kept in quarantine.";
    BadInbox = "ATM-D003" Error, "an inbox that does not parse",
        "Nobody can read it, and the next send of a client overwrites it.",
        "`--fix` keeps what can be read as messages; the old bytes are kept in quarantine.";
    BadLine = "ATM-D004" Error, "lines of a log that are no messages",
        "Shell recipes stop at them.",
        "`--fix` writes spaces over them; they are kept in quarantine.";
    StaleLock = "ATM-D005" Warning, "a lock whose owner is gone",
        "Clients wait ten seconds for it, and some give up before that.",
        "`--fix` removes it.";
    WrongLock = "ATM-D006" Error, "something else in the place of a lock",
        "Clients cannot remove it: they never write there again.",
        "`--fix` takes it away.";
    Leftover = "ATM-D007" Warning, "a temp file that nobody finished",
        "It takes up space, and may hold a message that was never sent.",
        "`--fix` removes it; the journal keeps its bytes.";
    DeadLead = "ATM-D008" Warning, "a lead that does not run",
        "What members report waits until somebody takes the team up again.",
        "`--fix` records it as offline. Start it again, `atm team join` to take its place, or `atm team delete`.";
    Orphan = "ATM-D009" Note, "a team that nobody uses",
        "No lead, no member that runs, nothing changed for a day.",
        "`atm team delete` moves it to the state folder.";
    StuckActive = "ATM-D010" Warning, "a member that is called active and is gone",
        "Mail for it is not queued: its sender thinks that somebody reads it.",
        "`--fix` writes `isActive: false`.";
    Copies = "ATM-D011" Warning, "the same message twice",
        "Its reader acts on it twice.",
        "`--fix` leaves the first; the others are kept in quarantine.";
    SharedId = "ATM-D012" Warning, "one id for two messages",
        "A receipt or a reply may be taken for the other one's.",
        "Find the program that makes such ids.";
    OpenToOthers = "ATM-D013" Warning, "mail that other users can read",
        "Every account of this machine can read what agents say.",
        "`--fix` closes the team's folder to others.";
    Oversized = "ATM-D014" Warning, "a very large inbox",
        "Clients read all of it at every look, once a second.",
        "`atm archive` takes old mail out.";
    CursorBeyond = "ATM-D015" Warning, "a cursor beyond the end of its inbox",
        "Recipes pass over everything until the inbox has grown past it.",
        "`--fix` moves it back to where its time says.";
    BadCursor = "ATM-D016" Warning, "a cursor that does not parse",
        "Everything counts as unread, at every look.",
        "`--fix` puts a new one in its place; mail is then shown again.";
    Future = "ATM-D017" Warning, "mail from the future",
        "A clock is wrong: order, age and deadlines cannot be trusted.",
        "Set the clock of the machine that sent it.";
    Ledger = "ATM-D018" Error, "a ledger that cannot be used",
        "Nobody knows what became of which message.",
        "`--fix` sets it aside and makes a new one from the files.";
    FewWatches = "ATM-D019" Warning, "hardly any file watches left to give",
        "What waits for mail has to look again and again, or fails.",
        "Raise fs.inotify.max_user_watches and fs.inotify.max_user_instances with sysctl.";
    CareClient = "ATM-D020" Note, "a client that needs care",
        "Some versions lose or delay mail in ways that are known.",
        "Update the client, or mind what the finding says.";
    BadConfig = "ATM-D021" Error, "a `config.json` that does not parse",
        "Nobody finds the team's members.",
        "Mend it by hand, or `atm team restore BACKUP --config-only`: what a team is cannot be guessed.";
    ClosedToGroup = "ATM-D023" Note, "a group's team that the group cannot read",
        "Its folder is for a group, and something in it or above it is not.",
        "`chmod o+x` on the folder above that is closed; `chgrp -R GROUP` and `chmod -R g+rX` on what is in it.";
    Abandoned = "ATM-D024" Warning, "what a process left that died in the middle",
        "A backup that was being restored, a copy of a client's settings, which may have secrets in it, or somebody in Claude Code's list of agents for whom nobody listens.",
        "`--fix` removes it.";
    DuplicateName = "ATM-D025" Warning, "a member that is listed more than once",
        "Programs take the first entry or the last one, and do not agree on whether it runs.",
        "`--fix` leaves the entry of the one that runs, else the newest; the file of before is kept in quarantine.";
    EmptyPhantom = "ATM-D022" Note, "an empty inbox of nobody",
        "It takes the next mistyped message without a word.",
        "`--fix` removes it.";
}
