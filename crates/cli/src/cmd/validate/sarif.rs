//! Findings as SARIF 2.1.0, which editors and code review understand.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use atm_upkeep::validate::FileReport;
use atm_wire::lint::{Finding, Level, Rule};
use serde_json::{Value, json};

/// The whole log.
pub(super) fn log(shown: &[(&FileReport, &Finding)]) -> Value {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code(),
                "shortDescription": { "text": rule.title() },
                "fullDescription": { "text": rule.why() },
                "help": { "text": rule.advice() },
                "defaultConfiguration": { "level": level(rule.level()) },
            })
        })
        .collect();
    let results: Vec<Value> = shown.iter().map(|(report, finding)| result(report, finding)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "atm", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(report: &FileReport, finding: &Finding) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(&report.file) } });
    if let Some(at) = finding.place {
        place["region"] = json!({ "startLine": at.line, "startColumn": at.column });
    }
    let mut location = json!({ "physicalLocation": place });
    if let Some(path) = &finding.path {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": path }]);
    }
    let index = Rule::ALL.iter().position(|rule| *rule == finding.rule);
    json!({
        "ruleId": finding.rule.code(),
        "ruleIndex": index,
        "level": level(finding.rule.level()),
        "message": { "text": format!("{}. {}", finding.message, finding.rule.advice()) },
        "locations": [location],
    })
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Dialect => "note",
    }
}

/// A file as a URI: absolute, or relative to wherever the log is read.
fn uri(path: &Path) -> String {
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_in_addresses() {
        assert_eq!(uri(Path::new("/a b/é.json")), "file:///a%20b/%C3%A9.json");
        assert_eq!(uri(Path::new("x.json")), "x.json");
    }
}
