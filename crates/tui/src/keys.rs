//! The keys: one table, from which a key's action is looked up, the hints at the bottom are made, and the help is written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::state::Tab;

/// A key, with the modifiers that make a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) code: KeyCode,
    pub(crate) modifiers: KeyModifiers,
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        // A letter says itself whether it is a capital one.
        let modifiers = event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        Self { code: event.code, modifiers }
    }
}

impl Key {
    /// As people call it.
    pub(crate) fn name(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::Up => "↑".to_owned(),
            KeyCode::Down => "↓".to_owned(),
            KeyCode::Left => "←".to_owned(),
            KeyCode::Right => "→".to_owned(),
            KeyCode::PageUp => "PgUp".to_owned(),
            KeyCode::PageDown => "PgDn".to_owned(),
            KeyCode::BackTab => "S-Tab".to_owned(),
            code => format!("{code:?}"),
        };
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            format!("^{}", name.to_uppercase())
        } else {
            name
        }
    }
}

const fn plain(code: KeyCode) -> Key {
    Key { code, modifiers: KeyModifiers::NONE }
}

const fn char(c: char) -> Key {
    plain(KeyCode::Char(c))
}

const fn control(c: char) -> Key {
    Key { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
}

/// What has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Teams,
    Members,
    Mail,
    Message,
    Tasks,
    Needs,
    Log,
    Compose,
    Prompt,
    Confirm,
    Peek,
    Help,
}

impl Place {
    /// Its name in the help.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Teams => "Teams",
            Self::Members => "Members",
            Self::Mail => "Mail",
            Self::Message => "Message",
            Self::Tasks => "Tasks",
            Self::Needs => "Needs you",
            Self::Log => "Log",
            Self::Compose => "Writing",
            Self::Prompt => "A question",
            Self::Confirm => "A decision",
            Self::Peek => "A screen",
            Self::Help => "Help",
        }
    }
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    Help,
    Close,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Next,
    Previous,
    Open,
    Show(Tab),
    Search,
    Refresh,
    Compose,
    Reply,
    Acknowledge,
    MarkRead,
    Mute,
    Recall,
    Wake,
    Attach,
    Peek,
    Approve,
    Reject,
    Shutdown,
    Assign,
    Release,
    Send,
    Editor,
    NextField,
    Accept,
    Yes,
}

/// Keys, where they count, and what they do.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) keys: &'static [Key],
    pub(crate) action: Action,
    pub(crate) places: &'static [Place],
    /// In a word, for the hints; nothing for what goes without saying.
    pub(crate) hint: &'static str,
    /// In a sentence, for the help.
    pub(crate) help: &'static str,
}

use Place::{Compose, Confirm, Help, Log, Mail, Members, Message, Needs, Peek, Prompt, Tasks, Teams};

const PANES: &[Place] = &[Teams, Members, Mail, Message, Tasks, Needs, Log];
const SCROLLED: &[Place] = &[Teams, Members, Mail, Message, Tasks, Needs, Log, Help, Peek];
const LISTS: &[Place] = &[Teams, Members, Mail, Tasks, Needs];
/// Where a message is meant.
const MESSAGES: &[Place] = &[Mail, Message, Needs];
/// Where something is meant that can be muted.
const SUBJECTS: &[Place] = &[Members, Mail, Message, Tasks, Needs];
/// Where a member is meant.
const PEOPLE: &[Place] = &[Members, Mail, Message, Needs];

const fn bind(
    keys: &'static [Key],
    action: Action,
    places: &'static [Place],
    hint: &'static str,
    help: &'static str,
) -> Binding {
    Binding { keys, action, places, hint, help }
}

/// All of them. The hints stand in this order.
#[rustfmt::skip]
pub(crate) const BINDINGS: &[Binding] = &[
    bind(&[control('s')], Action::Send, &[Compose], "send", "Send it"),
    bind(&[control('o')], Action::Editor, &[Compose], "editor", "Go on in $EDITOR; what it saves comes back here"),
    bind(&[plain(KeyCode::Tab), plain(KeyCode::BackTab)], Action::NextField, &[Compose], "to/text", "From the recipient to the text, and back"),
    bind(&[plain(KeyCode::Enter)], Action::Accept, &[Prompt], "ok", "That is the answer"),
    bind(&[char('y'), plain(KeyCode::Enter)], Action::Yes, &[Confirm], "yes", "Do it"),
    bind(&[char('n'), plain(KeyCode::Esc), char('q')], Action::Close, &[Confirm], "no", "Leave it"),
    bind(&[plain(KeyCode::Esc)], Action::Close, &[Compose], "leave", "Leave; the letter is kept"),
    bind(&[plain(KeyCode::Esc)], Action::Close, &[Prompt], "leave", "Leave; nothing is done"),
    bind(&[plain(KeyCode::Esc), char('q'), char('?')], Action::Close, &[Help, Peek], "close", "Close it"),
    bind(&[char('r')], Action::Reply, MESSAGES, "reply", "Answer the message; its sender, if it was not for you"),
    bind(&[char('a')], Action::Approve, &[Needs, Mail, Message], "approve", "Approve the plan, as the lead"),
    bind(&[char('x')], Action::Reject, &[Needs, Mail, Message], "reject", "Reject the plan and say what to change, as the lead"),
    bind(&[plain(KeyCode::Enter)], Action::Open, LISTS, "open", "Open it: the mail, the message, the one who is meant"),
    bind(&[char('c')], Action::Compose, PANES, "write", "Write to the member that is meant"),
    bind(&[char('w')], Action::Wake, PEOPLE, "wake", "Wake the member for its mail"),
    bind(&[char('p')], Action::Peek, PEOPLE, "peek", "The last lines of the member's screen"),
    bind(&[char('t')], Action::Attach, PEOPLE, "attach", "Go to the member's pane in tmux"),
    bind(&[char('d')], Action::Recall, &[Mail, Message], "recall", "Take your message back that nobody has read"),
    bind(&[char('m')], Action::MarkRead, MESSAGES, "read", "Mark your message as read"),
    bind(&[char('A')], Action::Acknowledge, MESSAGES, "ack", "Tell its sender that it arrived"),
    bind(&[char('o')], Action::Assign, &[Tasks], "assign", "Give the task to somebody"),
    bind(&[char('R')], Action::Release, &[Tasks, Needs], "release", "Give the task back"),
    bind(&[char('S')], Action::Shutdown, &[Members, Needs], "end", "Ask the member to end, as the lead"),
    bind(&[char('/')], Action::Search, PANES, "search", "Search all mail; an empty answer shows all again"),
    bind(&[char('M')], Action::Mute, SUBJECTS, "mute", "Mute it for a day, or end its mute"),
    bind(&[plain(KeyCode::Tab), char('l'), plain(KeyCode::Right)], Action::Next, PANES, "next", "The next part of the screen; of the board, the next column"),
    bind(&[plain(KeyCode::BackTab), char('h'), plain(KeyCode::Left)], Action::Previous, PANES, "", "The part before"),
    bind(&[plain(KeyCode::Esc)], Action::Close, PANES, "", "Back: out of the search, to the list before"),
    bind(&[char('?')], Action::Help, PANES, "help", "All keys"),
    bind(&[char('q'), control('c')], Action::Quit, PANES, "quit", "Leave"),
    bind(&[control('c')], Action::Quit, &[Compose, Prompt, Confirm, Peek, Help], "", "Leave"),
    bind(&[char('j'), plain(KeyCode::Down)], Action::Down, SCROLLED, "", "One down"),
    bind(&[char('k'), plain(KeyCode::Up)], Action::Up, SCROLLED, "", "One up"),
    bind(&[control('d'), plain(KeyCode::PageDown), char(' ')], Action::PageDown, SCROLLED, "", "Ten down"),
    bind(&[control('u'), plain(KeyCode::PageUp)], Action::PageUp, SCROLLED, "", "Ten up"),
    bind(&[char('g'), plain(KeyCode::Home)], Action::First, SCROLLED, "", "The first; of mail, the newest, and it stays so"),
    bind(&[char('G'), plain(KeyCode::End)], Action::Last, SCROLLED, "", "The last"),
    bind(&[char('1')], Action::Show(Tab::Mail), PANES, "", "Teams, members and mail"),
    bind(&[char('2')], Action::Show(Tab::Needs), PANES, "", "What needs you, and what waits"),
    bind(&[char('3')], Action::Show(Tab::Tasks), PANES, "", "The tasks"),
    bind(&[char('4')], Action::Show(Tab::Log), PANES, "", "What happens"),
    bind(&[control('l')], Action::Refresh, PANES, "", "Look again, at everything"),
];

/// What a key does in a place.
pub(crate) fn action(place: Place, key: Key) -> Option<Action> {
    let fits = |binding: &&Binding| binding.places.contains(&place) && binding.keys.contains(&key);
    BINDINGS.iter().find(fits).map(|binding| binding.action)
}

/// The key and the word of all that can be done in a place, as far as it `may` be done now.
pub(crate) fn hints(
    place: Place,
    may: impl Fn(Action) -> bool,
) -> impl Iterator<Item = (String, &'static str)> {
    let shown = move |binding: &&Binding| {
        binding.places.contains(&place) && !binding.hint.is_empty() && may(binding.action)
    };
    let named =
        |binding: &Binding| (binding.keys.first().map(|key| key.name()).unwrap_or_default(), binding.hint);
    BINDINGS.iter().filter(shown).map(named)
}

/// The help: what each key does, by place.
pub(crate) fn help() -> Vec<(String, String, &'static str)> {
    let line = |binding: &Binding| {
        let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
        let places = if binding.places.len() == PANES.len() || binding.places.len() == SCROLLED.len() {
            "everywhere".to_owned()
        } else {
            binding.places.iter().map(|place| place.title()).collect::<Vec<_>>().join(", ")
        };
        (keys.join(" "), places, binding.help)
    };
    BINDINGS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Place; 12] =
        [Teams, Members, Mail, Message, Tasks, Needs, Log, Compose, Prompt, Confirm, Peek, Help];

    #[test]
    fn no_key_does_two_things_in_one_place() {
        for place in ALL {
            let mut seen = Vec::new();
            for binding in BINDINGS.iter().filter(|binding| binding.places.contains(&place)) {
                for key in binding.keys {
                    assert!(!seen.contains(key), "{} in {place:?}", key.name());
                    seen.push(*key);
                }
            }
        }
    }

    #[test]
    fn every_place_can_be_left_and_says_how() {
        for place in ALL {
            let out = |action| matches!(action, Action::Quit | Action::Close);
            let hinted =
                BINDINGS.iter().filter(|binding| binding.places.contains(&place) && !binding.hint.is_empty());
            assert!(hinted.map(|binding| binding.action).any(out), "{place:?}");
            assert_eq!(action(place, control('c')), Some(Action::Quit), "{place:?}");
        }
    }

    #[test]
    fn hints_and_help_are_what_the_keys_do() {
        for place in ALL {
            for (name, hint) in hints(place, |_| true) {
                let bound = |binding: &&Binding| binding.hint == hint && binding.places.contains(&place);
                let binding = BINDINGS.iter().find(bound).unwrap();
                assert_eq!(binding.keys[0].name(), name);
                assert_eq!(action(place, binding.keys[0]), Some(binding.action), "{place:?} {name}");
            }
        }
        assert_eq!(help().len(), BINDINGS.len());
        assert_eq!(
            hints(Mail, |action| action != Action::Reply).filter(|(_, hint)| *hint == "reply").count(),
            0
        );
    }

    #[test]
    fn a_capital_letter_is_a_key_of_its_own() {
        let typed = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(Mail, typed.into()), Some(Action::Last));
        assert_eq!(action(Mail, char('g')), Some(Action::First));
        assert_eq!(control('s').name(), "^S");
    }
}
