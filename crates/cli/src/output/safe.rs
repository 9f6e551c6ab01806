//! Foreign text on a terminal and in prompts: what cannot be seen, or would be obeyed, is spelled out.

pub(crate) use atm_wire::visible::{json, json_line, line, lines};
