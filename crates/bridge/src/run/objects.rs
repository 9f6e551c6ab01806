//! Which letters are in the object store: one object for each, published again as it is, and deleted when its letter is confirmed.

use std::collections::HashMap;

use crate::envelope::{Body, Envelope};
use crate::local::Letter;
use crate::name::Machine;

/// The objects of letters that are not confirmed.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<Letters, Kept>);

/// How many attempts publish one object. Every machine of the realm may write to the store: what somebody has put in its place would
/// be published for ever.
const ATTEMPTS: u32 = 2;

/// A letter, by the machine that it is for and its number.
type Letters = (Machine, u64);

#[derive(Debug, Default)]
struct Kept {
    names: Vec<String>,
    /// What the last one of them holds, if this process has put it.
    content: Option<Content>,
    /// The attempt with which that one was made.
    attempt: u32,
}

/// What an envelope says of a letter, but for its words, which never change; and the key that it is sealed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content {
    letter: Letter,
    key: [u8; 32],
}

impl Content {
    /// That of an envelope with a letter.
    pub(super) fn of(envelope: &Envelope, key: [u8; 32]) -> Option<Self> {
        let Body::Letter(letter) = &envelope.body else { return None };
        Some(Self { letter: Letter { letter: String::new(), ..letter.clone() }, key })
    }
}

impl Objects {
    /// The object that has this content already, for a letter, made with this attempt or a later one; and not long before the attempt
    /// that is made now.
    pub(super) fn find(&self, letter: &Letters, content: &Content, since: u32, attempt: u32) -> Option<&str> {
        let is_it = |kept: &&Kept| {
            let attempts = kept.attempt..kept.attempt.saturating_add(ATTEMPTS);
            kept.content.as_ref() == Some(content) && kept.attempt >= since && attempts.contains(&attempt)
        };
        let kept = self.0.get(letter).filter(is_it)?;
        kept.names.last().map(String::as_str)
    }

    /// A letter was put into an object with an attempt. Gives the names of those that it replaces.
    pub(super) fn replace(
        &mut self,
        letter: Letters,
        content: Content,
        (name, attempt): (&str, u32),
    ) -> Vec<String> {
        let kept = self.0.entry(letter).or_default();
        (kept.content, kept.attempt) = (Some(content), attempt);
        let mut replaced = std::mem::replace(&mut kept.names, vec![name.to_owned()]);
        replaced.retain(|other| other != name);
        replaced
    }

    /// Objects that an earlier process of this machine has put, by the prefix that their names have.
    pub(super) fn recover(&mut self, names: Vec<String>, prefix: &str) {
        for name in names {
            let letter = name.strip_prefix(prefix).and_then(letter_in);
            if let Some(letter) = letter {
                let kept = self.0.entry(letter).or_default();
                // What this process has put is the last one.
                kept.names.insert(0, name);
            }
        }
    }

    /// A letter is confirmed. Gives the names of its objects.
    pub(super) fn confirmed(&mut self, letter: &Letters) -> Vec<String> {
        self.0.remove(letter).map(|kept| kept.names).unwrap_or_default()
    }
}

/// The letter in what stands behind the prefix of a name: its number, its machine and the attempt.
fn letter_in(rest: &str) -> Option<Letters> {
    let (n, rest) = rest.split_once('-')?;
    let (machine, _) = rest.rsplit_once('-')?;
    Some((machine.parse().ok()?, n.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(after: Option<u64>) -> Content {
        let letter = Letter { after, letter: String::new(), ..Letter::sample() };
        Content { letter, key: [7; 32] }
    }

    #[test]
    fn a_letter_has_one_object_until_it_is_confirmed() {
        let (mut objects, letter) = (Objects::default(), ("my-hub".parse().unwrap(), 7));
        assert_eq!(objects.find(&letter, &content(None), 1, 1), None);
        assert!(objects.replace(letter.clone(), content(Some(3)), ("laptop-e-7-my-hub-1", 1)).is_empty());
        assert_eq!(objects.find(&letter, &content(Some(3)), 1, 2), Some("laptop-e-7-my-hub-1"));
        // Somebody may have put something else there.
        assert_eq!(objects.find(&letter, &content(Some(3)), 1, 3), None);
        // An answer that names its attempt would not count any more.
        assert_eq!(objects.find(&letter, &content(Some(3)), 2, 2), None);
        // The one before it is confirmed meanwhile: who lost what it had passed would wait for it for ever.
        assert_eq!(objects.find(&letter, &content(None), 1, 2), None);
        let replaced = objects.replace(letter.clone(), content(None), ("laptop-e-7-my-hub-2", 2));
        assert_eq!(replaced, ["laptop-e-7-my-hub-1"]);
        assert_eq!(objects.confirmed(&letter), ["laptop-e-7-my-hub-2"]);
        assert!(objects.confirmed(&letter).is_empty());
    }

    #[test]
    fn what_an_earlier_process_put_is_deleted_with_its_letter() {
        let (mut objects, letter) = (Objects::default(), ("my-hub".parse().unwrap(), 7));
        let names = ["laptop-e-7-my-hub-3", "laptop-e-r-hub-c=20-1", "laptop-e-8-desk-1"];
        objects.recover(names.map(str::to_owned).into(), "laptop-e-");
        assert_eq!(objects.find(&letter, &content(None), 1, 4), None, "nobody knows what is in it");
        assert_eq!(objects.confirmed(&letter), ["laptop-e-7-my-hub-3"]);
    }
}
