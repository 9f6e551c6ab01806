//! Which files a call of a tool is about to change, as far as the call says so. What a shell does cannot be told from its
//! command line, and reading changes nothing.

use std::borrow::Cow;

use atm_wire::json::{Object, elements, string};
use serde_json::value::RawValue;

use super::plain;

/// Tools that change a file that an argument names, in any client's spelling.
const EDITORS: [&str; 10] = [
    "write",
    "edit",
    "multiedit",
    "notebookedit",
    "writefile",
    "editfile",
    "replace",
    "strreplace",
    "delete",
    "deletefile",
];
/// Their arguments that name it.
const PATHS: [&str; 6] = ["file_path", "filePath", "notebook_path", "path", "target_file", "absolute_path"];
/// Tools that apply a patch, which names the files itself.
const PATCHERS: [&str; 2] = ["applypatch", "patch"];
/// Their arguments that hold it.
const PATCHES: [&str; 4] = ["command", "patchText", "input", "patch"];
/// As much of a tool's name as a log needs.
const LONGEST_NAME: usize = 80;
/// The lines of a patch that name a file.
const FILE_LINES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// A call of a tool that edits, of which cannot be told what it is about to change.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call of the tool {tool:?} was not checked: no file that it edits can be read from its arguments")]
pub struct UnreadableCall {
    tool: String,
}

/// The files that a call of a tool is about to change, as the call names them. The rest of the call is not looked at: it may
/// be nested deeply, and text that was cut in the middle of a character.
pub(super) fn edited_paths(tool: &str, input: &RawValue) -> Result<Vec<String>, UnreadableCall> {
    let plain = plain(tool);
    let (edits, patches) = (EDITORS.contains(&plain.as_str()), PATCHERS.contains(&plain.as_str()));
    if !edits && !patches {
        return Ok(Vec::new());
    }
    // Some clients send the arguments, or the patch itself, as a text.
    let text = string(input);
    let arguments = Object::parse(text.as_deref().unwrap_or(input.get()));
    let unreadable = || UnreadableCall { tool: tool.chars().take(LONGEST_NAME).collect() };
    if edits {
        let arguments = arguments.map_err(|_| unreadable())?;
        let named = PATHS.iter().filter_map(|key| arguments.string(key)).map(Cow::into_owned);
        let named: Vec<String> = named.collect();
        return if named.is_empty() { Err(unreadable()) } else { Ok(named) };
    }
    let patches: Vec<Cow<'_, str>> = match (arguments, &text) {
        (Ok(arguments), _) => PATCHES.iter().filter_map(|key| arguments.get(key)).flat_map(texts).collect(),
        (Err(_), Some(patch)) => vec![Cow::Borrowed(patch)],
        (Err(_), None) => Vec::new(),
    };
    if patches.is_empty() {
        Err(unreadable())
    } else {
        Ok(patches.iter().flat_map(|patch| in_patch(patch)).collect())
    }
}

/// A text, or the texts of a list.
fn texts(value: &RawValue) -> Vec<Cow<'_, str>> {
    match string(value) {
        Some(text) => vec![text],
        None => elements(value.get()).unwrap_or_default().into_iter().filter_map(string).collect(),
    }
}

fn in_patch(patch: &str) -> Vec<String> {
    let named = patch.lines().filter_map(|line| FILE_LINES.iter().find_map(|start| line.strip_prefix(start)));
    named.map(|path| path.trim().to_owned()).filter(|path| !path.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_edited_is_named_by_the_call_and_what_is_only_read_is_not() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-x\n+*** Add File: no\n*** Add \
                     File: /new.rs \n+y\n*** Delete File: old.rs\n*** End Patch\n";
        let patched = &["src/a.rs", "src/b.rs", "/new.rs", "old.rs"][..];
        for (tool, input, expected) in [
            ("Write", json!({ "file_path": "/a", "content": "x" }), &["/a"][..]),
            ("Edit", json!({ "file_path": "/a", "old_string": "x" }), &["/a"]),
            ("MultiEdit", json!({ "file_path": "/a", "edits": [] }), &["/a"]),
            ("NotebookEdit", json!({ "notebook_path": "/a.ipynb" }), &["/a.ipynb"]),
            ("write_file", json!({ "file_path": "/a" }), &["/a"]),
            ("replace", json!({ "file_path": "a" }), &["a"]),
            ("edit", json!({ "filePath": "/a" }), &["/a"]),
            ("Write", json!("{\"path\":\"/a\"}"), &["/a"]),
            ("apply_patch", json!({ "command": patch }), patched),
            ("apply_patch", json!({ "patchText": patch }), patched),
            ("apply_patch", json!({ "command": ["apply_patch", patch] }), patched),
            ("apply_patch", json!(patch), patched),
            ("Read", json!({ "file_path": "/a" }), &[]),
            ("read_file", json!({ "absolute_path": "/a" }), &[]),
            ("Bash", json!({ "command": patch }), &[]),
            ("mcp__fs__write", json!({ "path": "/a" }), &[]),
            ("apply_patch", json!({ "command": "*** Begin Patch\n*** End Patch\n" }), &[]),
            ("", json!({}), &[]),
        ] {
            let raw = RawValue::from_string(input.to_string()).unwrap();
            assert_eq!(edited_paths(tool, &raw).unwrap(), expected, "{tool} {input}");
        }
        for (tool, input) in [
            ("Write", json!({ "file_path": 7 })),
            ("Write", json!({ "where": "/a" })),
            ("Write", json!("/a")),
            ("Write", json!(null)),
            ("apply_patch", json!({ "diff": patch })),
            ("apply_patch", json!([patch])),
        ] {
            let raw = RawValue::from_string(input.to_string()).unwrap();
            let unreadable = edited_paths(tool, &raw).unwrap_err().to_string();
            assert!(unreadable.contains(tool), "{unreadable}");
        }
    }

    /// JavaScript cuts text in the middle of an emoji: such an edit went through, whoever had reserved the file.
    #[test]
    fn what_is_edited_is_named_also_where_the_rest_is_no_text() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let patch = r"*** Begin Patch\n*** Update File: /a\n+\ud83d\n*** End Patch";
        for (tool, input) in [
            ("Edit", r#"{"file_path":"/a","old_string":"\ud83d"}"#.to_owned()),
            ("Edit", format!(r#"{{"file_path":"/a","old_string":{deep}}}"#)),
            ("Write", format!(r#""{{\"path\":\"/a\",\"content\":{deep}}}""#)),
            ("apply_patch", format!(r#"{{"command":["apply_patch","{patch}"]}}"#)),
            ("apply_patch", format!(r#""{patch}""#)),
        ] {
            let call = format!(r#"{{"tool_name":"{tool}","tool_input":{input}}}"#);
            let call = super::super::HookInput::parse(call.as_bytes()).unwrap();
            assert_eq!(call.edited_paths().unwrap(), ["/a"], "{tool} {}", &input[..40]);
        }
    }
}
