//! What is ours in a client's JSON, put in and taken out where it stands; everything else keeps its bytes.

use std::collections::BTreeSet;
use std::path::Path;

use atm_wire::json::{
    Object, Patch, Style, append, elements, loose, remove, remove_member, set_member, span,
};
use serde_json::{Map, Value, json};

use super::SERVER as NAME;
use super::error::SettingsError;

/// What a client takes for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// JSON, and nothing else.
    Strict,
    /// With comments.
    Comments,
    /// With comments and trailing commas.
    Loose,
}

/// Something of ours in a document.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Our server among others'.
    Server { at: &'static str, value: Value },
    /// An entry among others' in the list of an event's hooks.
    Hook { event: &'static str, value: Value },
    /// No hook of ours for this event: one that was there goes.
    NoHook { event: &'static str },
    /// What a new document begins with.
    Beginning { key: &'static str, value: Value },
}

/// A client's document.
pub(crate) struct Document {
    text: String,
    dialect: Dialect,
}

impl Document {
    /// Reads one; an empty file is an empty object.
    pub(crate) fn new(text: &str, dialect: Dialect) -> Result<Self, SettingsError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let document = Self { text: text.to_owned(), dialect };
        Object::parse(&document.plain())?;
        Ok(document)
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// The value at a path, if there is one.
    pub(crate) fn get(&self, path: &[&str]) -> Option<Value> {
        let mut value: &Value = &serde_json::from_str(&self.plain()).ok()?;
        for key in path {
            value = value.get(key)?;
        }
        Some(value.clone())
    }

    fn plain(&self) -> String {
        match self.dialect {
            Dialect::Strict => self.text.clone(),
            Dialect::Comments => loose::without_comments(&self.text),
            Dialect::Loose => loose::without_comments_and_commas(&self.text),
        }
    }

    /// Puts a piece in, unless it is there.
    pub(crate) fn put(&mut self, piece: &Piece) -> Result<(), SettingsError> {
        match piece {
            Piece::Server { at, value } => self.put_server(at, value),
            Piece::Beginning { key, value } if self.get(&[]) == Some(json!({})) => self.set(&[], key, value),
            Piece::Beginning { .. } => Ok(()),
            Piece::Hook { event, value } => self.put_hook(event, value),
            Piece::NoHook { .. } => self.take(piece, None),
        }
    }

    /// A server of ours that is there keeps what its user made of it; who it speaks for is ours to say.
    fn put_server(&mut self, at: &'static str, wanted: &Value) -> Result<(), SettingsError> {
        let Some(there) = self.get(&[at, NAME]) else { return self.set(&[at], NAME, wanted) };
        if !is_our_server(&there) {
            return Err(SettingsError::NotOurs("the server `atm`"));
        }
        for (key, value) in renewed(&there, wanted) {
            if there.get(&key) != Some(&value) {
                self.set(&[at, NAME], &key, &value)?;
            }
        }
        Ok(())
    }

    fn put_hook(&mut self, event: &str, value: &Value) -> Result<(), SettingsError> {
        let ours: Vec<Value> = match self.get(&["hooks", event]) {
            None => return self.set(&["hooks"], event, &json!([value])),
            Some(Value::Array(list)) => list.into_iter().filter(has_ours).collect(),
            Some(_) => return Err(SettingsError::OtherKind(format!("hooks.{event}"), "a list")),
        };
        if ours == [value.clone()] {
            return Ok(());
        }
        self.take_hooks(event)?;
        self.edit(|plain| {
            let list = value_at(plain, &["hooks", event])?;
            Ok(append(plain, list, &elements(list)?, &[value])?)
        })
    }

    /// Takes a piece out. What is empty then goes too, unless `original` had it.
    pub(crate) fn take(&mut self, piece: &Piece, original: Option<&Self>) -> Result<(), SettingsError> {
        let had = |path: &[&str]| original.is_some_and(|original| original.get(path).is_some());
        match piece {
            Piece::Server { at, .. } if self.has_server(at) => {
                self.unset(&[at], NAME)?;
                self.prune(&[at], &had)
            }
            Piece::Hook { event, .. } | Piece::NoHook { event } if self.has_hook(event) => {
                self.take_hooks(event)?;
                self.prune(&["hooks", event], &had)
            }
            _ => Ok(()),
        }
    }

    /// Whether our server is there.
    pub(crate) fn has_server(&self, at: &str) -> bool {
        self.get(&[at, NAME]).is_some_and(|server| is_our_server(&server))
    }

    /// Whether an event's list has a hook of ours.
    pub(crate) fn has_hook(&self, event: &str) -> bool {
        let list = self.get(&["hooks", event]);
        list.as_ref().and_then(Value::as_array).is_some_and(|list| list.iter().any(has_ours))
    }

    /// Whether nothing is left but what it began with.
    pub(crate) fn is_empty(&self, pieces: &[Piece]) -> bool {
        let first = |key: &str| {
            pieces.iter().any(|piece| matches!(piece, Piece::Beginning { key: k, .. } if *k == key))
        };
        matches!(self.get(&[]), Some(Value::Object(members)) if members.keys().all(|key| first(key)))
    }

    fn prune(&mut self, path: &[&str], had: &impl Fn(&[&str]) -> bool) -> Result<(), SettingsError> {
        for length in (1..=path.len()).rev() {
            let (parents, key) = path[..length].split_at(length - 1);
            let empty = match self.get(&path[..length]) {
                Some(Value::Array(list)) => list.is_empty(),
                Some(Value::Object(members)) => members.is_empty(),
                _ => return Ok(()),
            };
            if !empty || had(&path[..length]) {
                return Ok(());
            }
            self.unset(parents, key[0])?;
        }
        Ok(())
    }

    /// Takes our hooks out of an event's list, and out of groups that hold others' too.
    fn take_hooks(&mut self, event: &str) -> Result<(), SettingsError> {
        let Some(Value::Array(list)) = self.get(&["hooks", event]) else { return Ok(()) };
        for (index, group) in list.iter().enumerate().rev() {
            let inner = group.get("hooks").and_then(Value::as_array);
            let all_ours = inner.map_or_else(|| is_our_hook(group), |inner| inner.iter().all(is_our_hook));
            if all_ours && has_ours(group) {
                self.edit(|plain| {
                    let list = value_at(plain, &["hooks", event])?;
                    let found = elements(list)?;
                    Ok(remove(plain, list, &found, &BTreeSet::from([index])))
                })?;
            } else if let Some(inner) = inner {
                let ours = inner.iter().enumerate().filter(|(_, hook)| is_our_hook(hook));
                let ours: BTreeSet<usize> = ours.map(|(index, _)| index).collect();
                self.edit(|plain| {
                    let list = value_at(plain, &["hooks", event])?;
                    let group = elements(list)?.get(index).map_or("", |group| group.get());
                    let inner = value_at(group, &["hooks"])?;
                    Ok(remove(plain, inner, &elements(inner)?, &ours))
                })?;
            }
        }
        Ok(())
    }

    /// Sets a member of the object at a path; what is missing on the way is made.
    fn set(&mut self, path: &[&str], key: &str, value: &Value) -> Result<(), SettingsError> {
        let mut there = path.len();
        while there > 0 && self.get(&path[..there]).is_none() {
            there -= 1;
        }
        let (path, missing) = path.split_at(there);
        let names: Vec<&str> = missing.iter().copied().chain([key]).collect();
        let nested = names[1..]
            .iter()
            .rev()
            .fold(value.clone(), |inner, name| Value::Object(Map::from_iter([((*name).to_owned(), inner)])));
        let text = self.text.clone();
        self.edit(|plain| {
            let object = value_at(plain, path)?;
            if !Object::parse(object).map_err(|_| no_object(path))?.is_empty() {
                return Ok(set_member(plain, object, names[0], &nested)?);
            }
            let place = span(plain, object);
            let line = plain[..place.start].rfind('\n').map_or(0, |newline| newline + 1);
            let before = &plain[line..place.start];
            let base = &before[..before.len() - before.trim_start().len()];
            let (unit, newline) = layout(plain);
            let inside = format!("{base}{unit}");
            let style = Style::Pretty { base: inside.clone(), unit: unit.to_owned(), newline };
            let rendered = style.render(&nested)?;
            let name = serde_json::to_string(names[0])?;
            // A comment may stand in it.
            let inner = text[place.start + 1..place.end - 1].trim_end().len();
            let mut splices = Patch::default();
            let body = format!("{newline}{inside}{name}: {rendered}{newline}{base}");
            splices.replace(place.start + 1 + inner..place.end - 1, body);
            Ok(splices)
        })
    }

    fn unset(&mut self, path: &[&str], key: &str) -> Result<(), SettingsError> {
        let Some(Value::Object(members)) = self.get(path) else { return Ok(()) };
        if !members.contains_key(key) {
            return Ok(());
        }
        let text = self.text.clone();
        self.edit(|plain| {
            let object = value_at(plain, path)?;
            let place = span(plain, object);
            let inner = place.start + 1..place.end - 1;
            if members.len() > 1 || text[inner.clone()] == plain[inner.clone()] {
                return Ok(remove_member(plain, object, key)?);
            }
            // It is alone there, among comments, which stay.
            let mut splices = Patch::default();
            let blank = plain[inner.clone()].len() - plain[inner.clone()].trim_start().len();
            let last = Object::parse(object)?.get(key).map(|value| span(plain, value.get()).end);
            let end = last.unwrap_or(inner.end);
            let gap = text[end..].len() - text[end..].trim_start().len();
            let comma = if text[end + gap..].starts_with(',') { gap + 1 } else { 0 };
            splices.replace(inner.start + blank..end + comma, "");
            Ok(splices)
        })
    }

    fn edit(
        &mut self,
        change: impl FnOnce(&str) -> Result<Patch, SettingsError>,
    ) -> Result<(), SettingsError> {
        let plain = self.plain();
        self.text = change(&plain)?.apply(&self.text);
        Ok(())
    }
}

/// The text of the value at a path of a document without comments.
fn value_at<'a>(plain: &'a str, path: &[&str]) -> Result<&'a str, SettingsError> {
    let mut here = plain.trim();
    for key in path {
        let object = Object::parse(here).map_err(|_| no_object(path))?;
        here = object.get(key).ok_or_else(|| no_object(path))?.get();
    }
    Ok(here)
}

/// What one level deeper adds in this document, and how its lines end.
fn layout(plain: &str) -> (&str, &'static str) {
    let indents = plain.lines().filter(|line| !line.trim().is_empty());
    let mut indents = indents.map(|line| &line[..line.len() - line.trim_start().len()]);
    let unit = indents.find(|indent| !indent.is_empty()).unwrap_or("  ");
    (unit, if plain.contains("\r\n") { "\r\n" } else { "\n" })
}

/// Whether a group of hooks, or a hook, calls us.
fn has_ours(hook: &Value) -> bool {
    is_our_hook(hook)
        || hook.get("hooks").and_then(Value::as_array).is_some_and(|hooks| hooks.iter().any(is_our_hook))
}

/// Whether a hook calls us.
pub(crate) fn is_our_hook(hook: &Value) -> bool {
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend(hook.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str));
    words.starts_with(&[NAME, "hook"]) || words.starts_with(&[NAME, "wake", "wait"])
}

/// Whether a server is the one that we set up, wherever the program is.
pub(crate) fn is_our_server(server: &Value) -> bool {
    let command = server.get("command");
    let program = command.and_then(|command| command.as_str().or_else(|| command.get(0)?.as_str()));
    program.is_some_and(|program| Path::new(program).file_name().is_some_and(|name| name == NAME))
}

/// A server of ours that is there, with what it lacks and with what we say in its environment.
pub(crate) fn renewed(there: &Value, wanted: &Value) -> Map<String, Value> {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut server = members(there);
    for (key, value) in members(wanted) {
        if ["env", "environment"].contains(&key.as_str()) {
            let others = server.get(&key).map(members).unwrap_or_default().into_iter();
            let others = others.filter(|(name, _)| !name.starts_with("ATM_"));
            server.insert(key, Value::Object(others.chain(members(&value)).collect()));
        } else {
            server.entry(key).or_insert(value);
        }
    }
    server
}

fn no_object(path: &[&str]) -> SettingsError {
    SettingsError::OtherKind(path.join("."), "an object")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_looks_like_what_is_there() {
        for (text, expected) in [
            ("{}", "{\n  \"a\": {\n    \"b\": 1\n  }\n}"),
            ("{\r\n\t\"a\": {}\r\n}\r\n", "{\r\n\t\"a\": {\r\n\t\t\"b\": 1\r\n\t}\r\n}\r\n"),
            ("{\n    \"a\": { // none\n    }\n}", "{\n    \"a\": { // none\n        \"b\": 1\n    }\n}"),
        ] {
            let mut document = Document::new(text, Dialect::Loose).unwrap();
            document.set(&["a"], "b", &json!(1)).unwrap();
            assert_eq!(document.into_text(), expected);
        }
    }

    #[test]
    fn our_hooks_are_known_by_what_they_call() {
        for (hook, is_ours) in [
            (json!({ "command": "atm", "args": ["hook", "Stop"] }), true),
            (json!({ "command": "atm", "args": ["wake", "wait", "--as", "bob"] }), true),
            (json!({ "command": "atm hook stop --client cursor" }), true),
            (json!({ "command": "atm hook" }), true),
            (json!({ "command": "atm hooked" }), false),
            (json!({ "command": "atm", "args": ["send", "bob", "done"] }), false),
            (json!({ "command": "say", "args": ["atm", "hook"] }), false),
            (json!({ "command": 7 }), false),
        ] {
            assert_eq!(is_our_hook(&hook), is_ours, "{hook}");
        }
    }
}
