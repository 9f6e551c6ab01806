//! One request of a client to the model: whose conversation it is, what is in it, and what the script answers.

use serde_json::{Value, json};

/// First prompt of the in-process member. It tells the member's requests from its lead's, which come from the
/// same process.
pub(super) const MEMBER_PROMPT: &str = "Wait for mail (first prompt of the member).";
/// First prompt of a lead.
pub(super) const LEAD_PROMPT: &str = "Start the member bob.";
/// The name that a lead gives its team, in versions whose teams have one.
pub(super) const TEAM: &str = "crew";

/// Whose conversation a request continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Speaker {
    /// The process's own conversation.
    Main,
    /// The in-process member's.
    Member,
}

/// What the script needs to know of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) speaker: Speaker,
    /// All text that the model did not write itself.
    pub(super) heard: String,
    /// The part of it that came since the model's last answer.
    new: String,
    /// The tool that the last answer called.
    called: Option<String>,
    has_team_tool: bool,
    /// What its own tool for mail takes, if there is one.
    mail_tool: Option<Value>,
    can_look_up: bool,
    can_list: bool,
}

/// What the model does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Ends the turn.
    Words,
    /// Ends the turn when it is released.
    Hold(u32),
    /// Calls a tool.
    Tool { name: &'static str, input: Value },
    /// Calls a shell that runs until it is released.
    Wait(u32),
}

impl Request {
    /// Nothing for requests beside the conversation (titles, suggestions), which offer no tools.
    pub(super) fn parse(body: &Value) -> Option<Self> {
        let tools: Vec<&str> =
            body["tools"].as_array()?.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let messages = body["messages"].as_array().filter(|_| !tools.is_empty())?;
        let is_ours = |message: &&Value| message["role"] == "assistant";
        let first = messages.iter().position(|message| is_ours(&message)).unwrap_or(messages.len());
        let last = messages.iter().rposition(|message| is_ours(&message));
        let text = |messages: &[Value]| {
            messages
                .iter()
                .filter(|message| !is_ours(message))
                .map(|message| words(&message["content"]))
                .collect()
        };
        let opening: String = text(&messages[..first]);
        let called = last.and_then(|last| {
            messages[last]["content"].as_array()?.iter().rev().find_map(|block| block["name"].as_str())
        });
        Some(Self {
            speaker: if opening.contains(MEMBER_PROMPT) { Speaker::Member } else { Speaker::Main },
            heard: text(messages),
            new: text(&messages[last.map_or(0, |last| last + 1)..]),
            called: called.map(ToOwned::to_owned),
            has_team_tool: tools.contains(&"TeamCreate"),
            mail_tool: body["tools"]
                .as_array()?
                .iter()
                .find(|tool| tool["name"] == "SendMessage")
                .map(|tool| tool["input_schema"]["properties"].clone()),
            can_look_up: tools.contains(&"ToolSearch"),
            can_list: tools.contains(&"ListAgents"),
        })
    }

    pub(super) fn answer(&self) -> Answer {
        let starts = self.speaker == Speaker::Main && self.new.contains(LEAD_PROMPT);
        if starts && self.has_team_tool {
            let input = json!({ "team_name": TEAM, "description": "a team" });
            return Answer::Tool { name: "TeamCreate", input };
        }
        if starts || (self.called.as_deref() == Some("TeamCreate") && !self.heard.contains("bob@")) {
            let input = json!({ "name": "bob", "team_name": TEAM, "subagent_type": "general-purpose",
                                "description": "a member", "prompt": MEMBER_PROMPT });
            return Answer::Tool { name: "Agent", input };
        }
        if let Some(answer) = self.own_mail().or_else(|| self.peers()) {
            return answer;
        }
        if let Some(number) = directive(&self.new, "hold") {
            return Answer::Hold(number);
        }
        directive(&self.new, "tool").map_or(Answer::Words, Answer::Wait)
    }
}

impl Request {
    /// The list of agents, or a message to one of them, by the client's own tools.
    fn peers(&self) -> Option<Answer> {
        let looked_up = self.called.as_deref() == Some(LOOK_UP);
        let text = if looked_up { &self.heard } else { &self.new };
        let (name, input, has_it) = match peer_directive(text)? {
            PeerDirective::List => ("ListAgents", json!({}), self.can_list),
            PeerDirective::Write { to, words } => {
                let takes = self.mail_tool.clone().unwrap_or_else(|| json!({ "to": {} }));
                ("SendMessage", mail(to, words, &takes), self.mail_tool.is_some())
            }
        };
        if has_it || looked_up {
            return Some(Answer::Tool { name, input });
        }
        let look_up = json!({ "query": format!("select:{name}"), "max_results": 1 });
        self.can_look_up.then_some(Answer::Tool { name: LOOK_UP, input: look_up })
    }

    /// Mail that the lead is to write by its own tool, which new versions have to look up first.
    fn own_mail(&self) -> Option<Answer> {
        let looked_up = self.called.as_deref() == Some(LOOK_UP);
        let number = directive(if looked_up { &self.heard } else { &self.new }, "say")?;
        match &self.mail_tool {
            None if looked_up => {
                Some(Answer::Tool { name: "SendMessage", input: own_mail(number, &json!({ "to": {} })) })
            }
            None if self.can_look_up => Some(Answer::Tool {
                name: LOOK_UP,
                input: json!({ "query": "select:SendMessage", "max_results": 1 }),
            }),
            None => None,
            Some(takes) => Some(Answer::Tool { name: "SendMessage", input: own_mail(number, takes) }),
        }
    }
}

/// The tool by which new versions find others.
const LOOK_UP: &str = "ToolSearch";

/// What its user wants of the client's own list of agents.
enum PeerDirective<'a> {
    List,
    Write { to: &'a str, words: &'a str },
}

/// How a user asks for the list of agents.
pub(super) const LIST_AGENTS: &str = "[list agents]";

/// How a user asks for a message to one of them.
pub(super) fn write_to(name: &str, words: &str) -> String {
    format!("[write to {name}: {words}]")
}

/// The last one.
fn peer_directive(text: &str) -> Option<PeerDirective<'_>> {
    let list = text.rfind(LIST_AGENTS);
    let write = text.rfind("[write to ");
    if list > write {
        return Some(PeerDirective::List);
    }
    let (to, words) = text[write?..].strip_prefix("[write to ")?.split_once(']')?.0.split_once(": ")?;
    Some(PeerDirective::Write { to, words })
}

/// The text of mail that a lead writes by its own tool.
pub(super) fn own_words(number: u32) -> String {
    format!("own words number {number:03} for bob")
}

fn own_mail(number: u32, takes: &Value) -> Value {
    mail("bob", &own_words(number), takes)
}

/// What the client's own tool is called with: versions name its parts differently.
fn mail(to: &str, words: &str, takes: &Value) -> Value {
    if takes.get("recipient").is_some() {
        json!({ "type": "message", "recipient": to, "content": words, "summary": "a word" })
    } else {
        json!({ "to": to, "message": words, "summary": "a word" })
    }
}

/// How mail asks for a long turn.
pub(super) fn write_directive(name: &str, number: u32) -> String {
    format!("[{name} {number}]")
}

fn directive(text: &str, name: &str) -> Option<u32> {
    let (_, rest) = text.rsplit_once(&format!("[{name} "))?;
    rest.split_once(']')?.0.parse().ok()
}

/// The text of a message's content, also where a tool's result holds it.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => format!("{text}\n"),
        Value::Array(blocks) => blocks.iter().map(words).collect(),
        Value::Object(block) => {
            ["text", "content"].iter().filter_map(|key| block.get(*key)).map(words).collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(tools: &[&str], messages: &Value) -> Option<Request> {
        let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name })).collect();
        Request::parse(&json!({ "tools": tools, "messages": messages }))
    }

    #[test]
    fn the_model_hears_all_but_its_own_words() {
        let messages = json!([
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": [{ "type": "text", "text": "mine" },
                                               { "type": "tool_use", "name": "Bash", "input": { "command": "x" } }] },
            { "role": "user", "content": [{ "type": "tool_result", "content": [{ "type": "text", "text": "two" }] },
                                          { "type": "text", "text": "three" }] },
            { "role": "system", "content": "four" },
        ]);
        let request = request(&["Bash"], &messages).unwrap();
        assert_eq!(request.heard, "one\ntwo\nthree\nfour\n");
        assert_eq!(request.new, "two\nthree\nfour\n");
        assert_eq!((request.speaker, request.called.as_deref()), (Speaker::Main, Some("Bash")));
    }

    #[test]
    fn titles_and_other_requests_without_tools_are_no_part_of_the_conversation() {
        assert_eq!(request(&[], &json!([{ "role": "user", "content": "[hold 1]" }])), None);
        assert_eq!(Request::parse(&json!({ "messages": [] })), None);
    }

    #[test]
    fn the_members_requests_are_told_from_its_leads_by_the_first_prompt() {
        let first = json!([{ "role": "user", "content": MEMBER_PROMPT }]);
        assert_eq!(request(&["Bash"], &first).unwrap().speaker, Speaker::Member);
        let lead = json!([{ "role": "user", "content": LEAD_PROMPT },
                          { "role": "assistant", "content": "" },
                          { "role": "user", "content": MEMBER_PROMPT }]);
        assert_eq!(request(&["Bash"], &lead).unwrap().speaker, Speaker::Main);
    }

    #[test]
    fn a_lead_makes_its_team_where_there_is_a_tool_for_it_and_starts_one_member() {
        let name = |answer: Answer| match answer {
            Answer::Tool { name, .. } => name,
            _ => "",
        };
        let prompt = json!({ "role": "user", "content": LEAD_PROMPT });
        let call =
            |tool: &str| json!({ "role": "assistant", "content": [{ "type": "tool_use", "name": tool }] });
        let result =
            |text: &str| json!({ "role": "user", "content": [{ "type": "tool_result", "content": text }] });
        let old = ["TeamCreate", "Agent"];
        let answer = |tools: &[&str], messages: Value| name(request(tools, &messages).unwrap().answer());
        assert_eq!(answer(&["Agent"], json!([prompt])), "Agent");
        assert_eq!(answer(&["Agent"], json!([prompt, call("Agent"), result("agent_id: bob@crew")])), "");
        assert_eq!(answer(&old, json!([prompt])), "TeamCreate");
        assert_eq!(answer(&old, json!([prompt, call("TeamCreate"), result("done")])), "Agent");
        let both =
            json!([prompt, call("TeamCreate"), result("done"), call("Agent"), result("agent_id: bob@crew")]);
        assert_eq!(answer(&old, both), "");
    }

    #[test]
    fn a_lead_writes_by_its_own_tool_as_the_tool_wants_it() {
        let said = |takes: Value| {
            let tools = json!([{ "name": "SendMessage", "input_schema": { "properties": takes } }]);
            let messages = json!([{ "role": "user", "content": write_directive("say", 7) }]);
            match Request::parse(&json!({ "tools": tools, "messages": messages })).unwrap().answer() {
                Answer::Tool { input, .. } => input,
                _ => Value::Null,
            }
        };
        assert_eq!(said(json!({ "to": {}, "message": {} }))["message"], own_words(7));
        assert_eq!(said(json!({ "recipient": {}, "content": {} }))["content"], own_words(7));
        let messages = json!([{ "role": "user", "content": "[say 7]" }]);
        assert_eq!(request(&["Bash"], &messages).unwrap().answer(), Answer::Words, "there is no tool");
        let looks_up = request(&["ToolSearch"], &messages).unwrap().answer();
        assert!(matches!(looks_up, Answer::Tool { name: "ToolSearch", .. }));
        let found = json!([messages[0], { "role": "assistant", "content": [{ "type": "tool_use", "name": "ToolSearch" }] },
                           { "role": "user", "content": [{ "type": "tool_result", "content": "found" }] }]);
        let says = request(&["ToolSearch"], &found).unwrap().answer();
        assert!(
            matches!(says, Answer::Tool { name: "SendMessage", input } if input["message"] == own_words(7))
        );
    }

    #[test]
    fn peers_are_listed_and_written_to_when_the_user_says_so() {
        let said =
            |tools: &[&str], text: &str| match request(tools, &json!([{ "role": "user", "content": text }]))
                .unwrap()
                .answer()
            {
                Answer::Tool { name, input } => (name, input["to"].as_str().unwrap_or_default().to_owned()),
                _ => ("", String::new()),
            };
        assert_eq!(said(&["ListAgents"], LIST_AGENTS).0, "ListAgents");
        assert_eq!(said(&["ToolSearch"], LIST_AGENTS).0, "ToolSearch");
        assert_eq!(said(&["Bash"], LIST_AGENTS).0, "");
        let write = write_to("bob (codex, team shop)", "look, please");
        assert_eq!(said(&["SendMessage"], &write), ("SendMessage", "bob (codex, team shop)".to_owned()));
        assert_eq!(said(&["SendMessage"], "[write to bob"), ("", String::new()));
    }

    #[test]
    fn mail_asks_for_a_long_turn_once() {
        let mail = json!({ "role": "user", "content": format!("mail {}", write_directive("hold", 3)) });
        assert_eq!(request(&["Bash"], &json!([mail])).unwrap().answer(), Answer::Hold(3));
        let later =
            json!([mail, { "role": "assistant", "content": "Ok" }, { "role": "user", "content": "more" }]);
        assert_eq!(request(&["Bash"], &later).unwrap().answer(), Answer::Words);
        let tool = json!([{ "role": "user", "content": "[tool 4]" }]);
        assert_eq!(request(&["Bash"], &tool).unwrap().answer(), Answer::Wait(4));
        let no = json!([{ "role": "user", "content": "[tool four]" }]);
        assert_eq!(request(&["Bash"], &no).unwrap().answer(), Answer::Words);
    }
}
