//! The subjects of a realm. Every legal name of a team or member is one token, and different names are different tokens.
//!
//! `atm.REALM.to.MACHINE.from.MACHINE.KIND.TEAM.RECIPIENT.SENDER`: the recipient's machine comes first, so that its
//! consumer has one filter; then the sender's, so that a server can let each machine publish under its own name alone.

use std::fmt::Write as _;

use crate::name::{Machine, Realm};

/// One token for any text: letters, digits, `-` and `_` stand for themselves, every other byte is `=` and two hex digits.
/// Key-value buckets accept the same characters.
pub fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            token.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(token, "={byte:02X}");
        }
    }
    // An empty token is none.
    if token.is_empty() { "=".to_owned() } else { token }
}

/// The text that a token stands for.
pub fn text(token: &str) -> Option<String> {
    if token == "=" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'=' {
            let digits = tail.get(..2)?;
            let is_upper_hex = |digit: &u8| digit.is_ascii_digit() || (b'A'..=b'F').contains(digit);
            if !digits.iter().all(is_upper_hex) {
                return None;
            }
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// A letter's subject: by recipient's machine, sender's machine, team, recipient and sender.
pub fn letter(
    realm: &Realm,
    to: &Machine,
    from: &Machine,
    team: &str,
    recipient: &str,
    sender: &str,
) -> String {
    format!("{}.letter.{}.{}.{}", between(realm, to, from), token(team), token(recipient), token(sender))
}

/// The subject of everything else that one machine tells another: `kind` is one word.
pub fn other(realm: &Realm, to: &Machine, from: &Machine, kind: &str) -> String {
    format!("{}.{}", between(realm, to, from), token(kind))
}

fn between(realm: &Realm, to: &Machine, from: &Machine) -> String {
    format!("atm.{realm}.to.{to}.from.{from}")
}

/// All that is addressed to a machine: the one filter of its consumer.
pub fn to_machine(realm: &Realm, to: &Machine) -> String {
    format!("atm.{realm}.to.{to}.>")
}

/// All that a machine may publish to others.
pub fn from_machine(realm: &Realm, from: &Machine) -> String {
    format!("atm.{realm}.to.*.from.{from}.>")
}

/// Where a machine puts envelopes that it cannot take in.
pub fn dead(realm: &Realm, machine: &Machine) -> String {
    format!("atm.{realm}.dead.{machine}")
}

/// Where a machine has a dead letter come to itself once more: every machine may publish under its own name alone.
pub fn again(realm: &Realm, machine: &Machine) -> String {
    other(realm, machine, machine, "again")
}

/// Everything of a realm: the one subject of its stream.
pub fn all(realm: &Realm) -> String {
    format!("atm.{realm}.>")
}

/// The machine that published under this subject, by the subject alone.
pub fn sender(subject: &str) -> Option<Machine> {
    let mut tokens = subject.split('.').skip(2);
    (tokens.next()? == "to").then_some(())?;
    let mut tokens = tokens.skip(1);
    (tokens.next()? == "from").then_some(())?;
    tokens.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("team-lead", "team-lead")]
    #[case("Bob Smith", "Bob=20Smith")]
    #[case("v1.2_final", "v1=2E2_final")]
    #[case("a=b", "a=3Db")]
    #[case("*>", "=2A=3E")]
    #[case("é", "=C3=A9")]
    #[case("", "=")]
    fn tokens(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(token(name), expected);
        assert_eq!(text(expected).as_deref(), Some(name));
    }

    #[rstest]
    #[case("a=")]
    #[case("a=2")]
    #[case("a=2e")]
    #[case("=+1")]
    #[case("=FF")]
    fn what_token_never_writes_stands_for_nothing(#[case] token: &str) {
        assert_eq!(text(token), None);
    }

    #[test]
    fn subjects() {
        let (realm, laptop, hub) =
            ("home".parse().unwrap(), "laptop".parse().unwrap(), "hub".parse().unwrap());
        let subject = letter(&realm, &hub, &laptop, "alpha", "v1.2", "bob");
        assert_eq!(subject, "atm.home.to.hub.from.laptop.letter.alpha.v1=2E2.bob");
        assert_eq!(sender(&subject), Some(laptop.clone()));
        assert_eq!(other(&realm, &hub, &laptop, "receipts"), "atm.home.to.hub.from.laptop.receipts");
        assert_eq!(to_machine(&realm, &hub), "atm.home.to.hub.>");
        assert_eq!(from_machine(&realm, &laptop), "atm.home.to.*.from.laptop.>");
        assert_eq!(sender(&dead(&realm, &hub)), None);
        assert_eq!(sender("atm.home.to.hub"), None);
    }

    proptest! {
        #[test]
        fn every_text_is_one_token_and_comes_back(name in ".*") {
            let token = token(&name);
            prop_assert!(!token.is_empty());
            prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=".contains(&b)));
            prop_assert_eq!(text(&token), Some(name));
        }
    }
}
