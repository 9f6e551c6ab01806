//! Which files a call of a tool is about to change, as far as the call says so. What a shell does cannot be told from its
//! command line, and reading changes nothing.

use serde_json::Value;

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
/// The lines of a patch that name a file.
const FILE_LINES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The files that a call of a tool is about to change, as the call names them.
pub(super) fn edited_paths(tool: &str, input: &Value) -> Vec<String> {
    let tool = plain(tool);
    // Some clients send it as a text.
    let parsed = input.as_str().and_then(|text| serde_json::from_str(text).ok());
    let input = parsed.as_ref().unwrap_or(input);
    if EDITORS.contains(&tool.as_str()) {
        let named = PATHS.iter().filter_map(|key| input.get(key).and_then(Value::as_str));
        return named.map(ToOwned::to_owned).collect();
    }
    if PATCHERS.contains(&tool.as_str()) {
        let whole = input.as_str().map(ToOwned::to_owned);
        let texts = PATCHES.iter().filter_map(|key| input.get(key)).flat_map(texts);
        return whole.into_iter().chain(texts).flat_map(|patch| in_patch(&patch)).collect();
    }
    Vec::new()
}

/// A text, or the texts of a list.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().filter_map(|one| one.as_str().map(ToOwned::to_owned)).collect(),
        _ => Vec::new(),
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
            ("Write", json!({ "file_path": 7 }), &[]),
            ("Write", json!(null), &[]),
            ("", json!({}), &[]),
        ] {
            assert_eq!(edited_paths(tool, &input), expected, "{tool} {input}");
        }
    }
}
