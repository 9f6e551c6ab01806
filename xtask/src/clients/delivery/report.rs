//! The rows as a table and as JSON.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::findings::{Findings, Wrong};
use super::session::Role;
use super::tally::{Group, Tally};

/// What was seen of one version in one role.
pub(super) struct Row {
    pub(super) version: String,
    pub(super) role: Role,
    /// Or why it did not run.
    pub(super) outcome: Result<Outcome>,
}

pub(super) struct Outcome {
    pub(super) groups: Vec<Group>,
    pub(super) findings: Findings,
    /// The home, if it was left there.
    pub(super) kept: Option<PathBuf>,
}

impl Row {
    pub(super) fn is_true(&self) -> bool {
        self.outcome
            .as_ref()
            .is_ok_and(|outcome| Tally::sum(&outcome.groups).is_true() && outcome.findings.wrong.is_empty())
    }

    pub(super) fn json(&self) -> Value {
        let mut row = json!({ "version": self.version, "role": self.role.word() });
        match &self.outcome {
            Err(error) => row["failed"] = format!("{error:#}").into(),
            Ok(outcome) => {
                let findings = &outcome.findings;
                row["total"] = Tally::sum(&outcome.groups).json();
                row["kept"] = outcome.kept.as_ref().map(|folder| folder.display().to_string()).into();
                row["commands_failed"] = findings.failed.len().into();
                row["came_back"] =
                    findings.came_back.map(|(came, lost)| json!({ "came": came, "of": lost })).into();
                row["called_offline"] = findings.called_offline.into();
                row["state_at_end"] = findings.state_at_end.as_str().into();
                row["noticed_after_ms"] = findings
                    .noticed_after
                    .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
                    .into();
                let wrong = |wrong: &Wrong| json!({ "what": wrong.what, "phase": wrong.phase, "ids": wrong.ids, "said": wrong.said });
                row["wrong"] = findings.wrong.iter().map(wrong).collect();
                let group = |group: &Group| json!({ "phase": group.phase, "ids": group.ids, "shown": group.shown, "tally": group.tally().json() });
                row["mail"] = outcome.groups.iter().map(group).collect();
            }
        }
        row
    }
}

/// A line for each kind of wrong answer and phase, with one message as an example.
pub(super) fn summary(wrong: &[Wrong]) -> Vec<String> {
    let mut kinds: Vec<(&Wrong, usize)> = Vec::new();
    for one in wrong {
        match kinds.iter_mut().find(|(kind, _)| (kind.what, kind.phase) == (one.what, one.phase)) {
            Some((_, count)) => *count += 1,
            None => kinds.push((one, 1)),
        }
    }
    let line = |(one, count): (&Wrong, usize)| {
        let example = one.ids.first().map_or("", String::as_str);
        format!("{}: {} ({count} times, like {example}): {}", one.phase, one.what, one.said)
    };
    kinds.into_iter().map(line).collect()
}

/// The rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| version | role | sent | in the conversation once | shown twice | tracked `seen` | missed | false `seen` | \
         still unread | lost, noticed | lost, not noticed | called offline | commands failed | at the end | after respawn |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|\n",
    );
    for row in rows {
        let _ = write!(table, "| {} | {} |", row.version, row.role.name());
        match &row.outcome {
            Err(error) => {
                let reason = format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ");
                let _ = writeln!(table, " did not run: {} |", reason.replace('|', "\\|"));
            }
            Ok(outcome) => {
                let t = Tally::sum(&outcome.groups);
                let cells = [
                    t.sent,
                    t.once,
                    t.doubled,
                    t.seen,
                    t.missed,
                    t.false_seen,
                    t.unread,
                    t.noticed,
                    t.unnoticed,
                    outcome.findings.called_offline,
                    outcome.findings.failed.len(),
                ];
                for cell in cells {
                    let _ = write!(table, " {cell} |");
                }
                let came_back = |(came, lost)| format!("{came} of {lost} lost came");
                let came_back = outcome.findings.came_back.map_or("–".to_owned(), came_back);
                let _ = writeln!(table, " {} | {came_back} |", outcome.findings.state_at_end);
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn row(outcome: Result<Outcome>) -> Row {
        Row { version: "1.0".to_owned(), role: Role::Lead, outcome }
    }

    #[test]
    fn a_row_has_its_numbers_or_its_reason() {
        let group = Group { ids: vec!["a".to_owned()], shown: 1, seen: 1, ..Group::default() };
        let findings = Findings { state_at_end: "offline".to_owned(), ..Findings::default() };
        let good = row(Ok(Outcome { groups: vec![group], findings, kept: None }));
        let bad = row(Err(anyhow!("no | tmux\nhere")));
        assert!(good.is_true() && !bad.is_true());
        let table = table(&[good, bad]);
        assert!(
            table.contains("| 1.0 | lead | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | offline | – |\n"),
            "{table}"
        );
        assert!(table.ends_with("| 1.0 | lead | did not run: no \\| tmux here |\n"), "{table}");
    }

    #[test]
    fn wrong_answers_are_summed_up_by_kind_and_phase() {
        let wrong =
            |phase| Wrong { what: "missed", phase, ids: vec!["a".to_owned()], said: "taken".to_owned() };
        let lines = summary(&[wrong("idle"), wrong("killed"), wrong("idle")]);
        assert_eq!(
            lines,
            ["idle: missed (2 times, like a): taken", "killed: missed (1 times, like a): taken"]
        );
    }

    #[test]
    fn the_json_names_every_group_and_what_was_wrong() {
        let group = Group { phase: "idle", ids: vec!["a".to_owned()], shown: 1, ..Group::default() };
        let wrong = Wrong { what: "missed", phase: "idle", ids: Vec::new(), said: "taken".to_owned() };
        let findings = Findings { wrong: vec![wrong], ..Findings::default() };
        let row = row(Ok(Outcome { groups: vec![group], findings, kept: None }));
        let json = row.json();
        assert_eq!((&json["total"]["missed"], &json["wrong"][0]["what"]), (&json!(1), &json!("missed")));
        assert_eq!((&json["mail"][0]["phase"], &json["noticed_after_ms"]), (&json!("idle"), &Value::Null));
    }
}
