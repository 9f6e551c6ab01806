//! How urgent a task is and how long it should take; both below `metadata`.

use serde_json::value::{RawValue, to_raw_value};

use super::Task;
use crate::json::Object;
use crate::payload::Level;
use crate::payload::field::{read, spell};

const PRIORITY: [&str; 1] = ["priority"];
const ESTIMATED_HOURS: [&str; 2] = ["estimatedHours", "estimated_hours"];

/// How urgent a task is and how long it should take, as far as that is said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effort {
    /// A number or a word.
    pub priority: Option<Level>,
    /// How long it should take.
    pub estimated_hours: Option<f64>,
}

impl Effort {
    /// The keys of `metadata` that say so.
    pub fn metadata(&self) -> Vec<(String, Box<RawValue>)> {
        let priority = self.priority.as_ref().and_then(|level| to_raw_value(level).ok());
        let hours = self.estimated_hours.as_ref().and_then(spell);
        let hours = hours.and_then(|spelling| RawValue::from_string(spelling).ok());
        let named = [(PRIORITY[0], priority), (ESTIMATED_HOURS[0], hours)];
        named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

impl Task {
    /// What `metadata` says of it.
    pub fn effort(&self) -> Effort {
        let metadata = self.metadata.as_ref().and_then(|raw| Object::parse(raw.get()).ok());
        let metadata = metadata.unwrap_or_default();
        Effort { priority: read(&metadata, &PRIORITY), estimated_hours: read(&metadata, &ESTIMATED_HOURS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_a_number_and_a_word_a_word() {
        let effort = Effort { priority: Some(Level("4".into())), estimated_hours: Some(8.0) };
        let pairs = effort.metadata();
        let said: Vec<(&str, &str)> = pairs.iter().map(|(key, raw)| (key.as_str(), raw.get())).collect();
        assert_eq!(said, [("priority", "4"), ("estimatedHours", "8")]);
        let word = Effort { priority: Some(Level("high".into())), estimated_hours: None }.metadata();
        assert_eq!(word[0].1.get(), "\"high\"");
        let mut task = Task::new("1".to_owned(), "s", "d");
        assert_eq!(task.effort(), Effort::default());
        task.metadata = RawValue::from_string(r#"{"priority":4,"estimated_hours":"8"}"#.to_owned()).ok();
        assert_eq!(task.effort(), effort);
    }
}
