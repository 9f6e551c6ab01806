//! `cargo xtask clients --reservations`: each client, with a model that wants to write a file, in a tree in which another member
//! has reserved it: the file stays as it is, and the model is told why. Then the same with nothing reserved.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::client::Client;
use super::home::{self, Home};
use super::model::{Event, Model};
use super::npm;

const BEFORE: &str = "as it was\n";
const AFTER: &str = "written by the model\n";
const REFUSAL: &str = "is reserved by bob@dev";

/// What came of each client, as a Markdown table, and whether all is as it should be.
pub(super) fn run(only: Option<&str>, newest: bool, atm: &Path) -> Result<(String, bool)> {
    let mut table =
        String::from("| client | version | reserved by another | reserved by nobody |\n|---|---|---|---|\n");
    let mut all_well = true;
    for (client, programs) in npm::each(only, newest)? {
        eprintln!("clients: {} {}, editing", client.title, client.version);
        let tried = Home::new(atm, &programs).and_then(|home| try_out(client, &home));
        all_well &= tried.is_ok();
        let cells = match tried {
            Ok([refused, written]) => format!("{refused} | {written}"),
            Err(error) => format!("**no**: {error:#} |").replace('\n', " "),
        };
        let _ = writeln!(table, "| {} | {} | {cells} |", client.title, client.version);
    }
    Ok((table, all_well))
}

fn try_out(client: Client, home: &Home) -> Result<[&'static str; 2]> {
    let tree = home.work();
    fs::create_dir_all(tree.join(".git"))?;
    fs::create_dir_all(tree.join("src"))?;
    let file = tree.join("src/a.rs");
    let model = Model::editing(&file)?;
    let (name, text) = client.file(&model);
    let settings = home.file(name);
    if let Some(folder) = settings.parent() {
        fs::create_dir_all(folder)?;
    }
    // Only a model that Codex knows is given its tool for patches.
    fs::write(&settings, text.replace("model = \"m\"", "model = \"gpt-5.5\""))?;
    home.atm(&["member", "add", "alice"])?;
    home.atm(&["install", client.name, "--reservations"])?;
    let turn = |about: &str| -> Result<String> {
        fs::write(&file, BEFORE)?;
        let mut command = home.command(client.name);
        client.turn(&mut command, &model);
        command.args(permission(client)).env("ATM_AS", "alice").env("ATM_TEAM", "dev");
        home::run(&mut command).map_err(|error| error.context(about.to_owned()))?;
        Ok(fs::read_to_string(&file)?)
    };
    home.atm(&["--as", "bob", "reserve", "src", "--reason", "the lexer"])?;
    let refused = turn("while it is reserved")?;
    ensure!(refused == BEFORE, "a reserved file was edited");
    ensure!(model.was_told(REFUSAL), "the model was not told why");
    home.atm(&["--as", "bob", "release", "--all"])?;
    let written = turn("while it is free")?;
    ensure!(written == AFTER, "a file that nobody holds was not edited");
    Ok(["refused; the model is told who, why, until when", "written"])
}

/// What lets it edit without asking anybody.
fn permission(client: Client) -> &'static [&'static str] {
    match client.name {
        "claude" => &["--permission-mode", "acceptEdits"],
        "codex" => &["-s", "workspace-write"],
        "gemini" | "qwen" => &["--approval-mode", "yolo"],
        _ => &[],
    }
}

/// The call of a tool that writes `file`, in the format of the provider whose path was asked; nothing if the request offers
/// no such tool, or has its result already.
pub(super) fn call(path: &str, request: &Value, file: &Path) -> Option<Vec<Event>> {
    let offers = |tool: &str| request["tools"].to_string().contains(&format!("\"name\":\"{tool}\""));
    let has = |words: &str| request.to_string().contains(words);
    if path.contains("/messages") && offers("Write") {
        // Older versions write no file that their model has not read.
        return match request.to_string().matches("\"tool_result\"").count() {
            0 => Some(anthropic("Read", &json!({ "file_path": file }))),
            1 => Some(anthropic("Write", &json!({ "file_path": file, "content": AFTER }))),
            _ => None,
        };
    }
    if path.contains(":streamGenerateContent") && offers("write_file") && !has("\"functionResponse\"") {
        let args = json!({ "file_path": file, "content": AFTER });
        let parts = json!([{ "functionCall": { "name": "write_file", "args": args } }]);
        let content = json!({ "role": "model", "parts": parts });
        let usage = json!({ "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 });
        let candidates = json!([{ "index": 0, "content": content, "finishReason": "STOP" }]);
        return Some(vec![("", json!({ "candidates": candidates, "usageMetadata": usage }))]);
    }
    if path.ends_with("/responses") && offers("apply_patch") && !has("call_output\"") {
        let changes = format!(
            "*** Begin Patch\n*** Update File: {}\n@@\n-{BEFORE}+{AFTER}*** End Patch\n",
            file.display()
        );
        let item = json!({ "type": "custom_tool_call", "id": "1", "call_id": "c1", "status": "completed",
                           "name": "apply_patch", "input": changes });
        return Some(super::model::response(&item));
    }
    // Qwen Code writes no file that its model has not read.
    let results = request.to_string().matches("\"role\":\"tool\"").count();
    let (name, arguments) = match (offers("write_file"), results) {
        (true, 0) => ("read_file", json!({ "file_path": file })),
        (true, 1) => ("write_file", json!({ "file_path": file, "content": AFTER })),
        (false, 0) => ("write", json!({ "filePath": file, "content": AFTER })),
        _ => return None,
    };
    if path.ends_with("/chat/completions") && offers(name) {
        let arguments = arguments.to_string();
        let function = json!({ "name": name, "arguments": arguments });
        let calls = json!([{ "index": 0, "id": "call_1", "type": "function", "function": function }]);
        let chunk = |delta: Value, end: Value| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
            (
                "",
                json!({ "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice] }),
            )
        };
        let first = chunk(json!({ "role": "assistant", "tool_calls": calls }), Value::Null);
        return Some(vec![first, chunk(json!({}), json!("tool_calls"))]);
    }
    None
}

fn anthropic(tool: &str, input: &Value) -> Vec<Event> {
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                          "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } });
    let block = json!({ "type": "tool_use", "id": format!("toolu_{tool}"), "name": tool, "input": {} });
    let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
    let end = json!({ "stop_reason": "tool_use", "stop_sequence": null });
    let typed = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        (name, data)
    };
    vec![
        typed("message_start", json!({ "message": message })),
        typed("content_block_start", json!({ "index": 0, "content_block": block })),
        typed("content_block_delta", json!({ "index": 0, "delta": delta })),
        typed("content_block_stop", json!({ "index": 0 })),
        typed("message_delta", json!({ "delta": end, "usage": { "output_tokens": 1 } })),
        typed("message_stop", json!({})),
    ]
}
