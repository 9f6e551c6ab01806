//! `atm search`

use atm_ledger::{MARK_END, MARK_START};
use clap::Args;

use super::duration::time;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(
    after_help = "All words have to be there; the last may be cut short if nothing has it whole; \"…\" is a phrase."
)]
pub(crate) struct Search {
    /// What to look for
    #[arg(required = true)]
    words: Vec<String>,
    /// Only from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only for this recipient
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Only of this type
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    /// Only sent then or later
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only sent then or earlier
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Search {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let now = context.office.now();
        let search = atm_office::trail::history::Search {
            party: None,
            words: self.words.join(" "),
            team: context.remembered_team()?,
            from: self.from,
            to: self.to,
            r#type: self.r#type,
            since: time("--since", self.since.as_deref(), now)?,
            until: time("--until", self.until.as_deref(), now)?,
            limit: self.limit,
        };
        let found = context.office.search(&search)?;
        let out = &mut context.out;
        if out.json {
            out.document(&found)?;
            return Ok(0);
        }
        if found.is_empty() {
            out.note("nothing found")?;
        }
        for message in &found {
            let head = format!("{} → {}@{}  {}", message.from, message.to, message.team, message.timestamp);
            let (stage, id) = (message.stage_words(), out.paint.dim(&safe::line(&message.id)));
            out.line(format!("{}  {stage}  {id}", safe::line(&head)))?;
            let found = safe::line(message.found.as_deref().unwrap_or(&message.text)).into_owned();
            out.line(format!("  {}", highlight(&found, |word| out.paint.attention(word))))?;
        }
        Ok(0)
    }
}

/// Paints what stands between the marks.
fn highlight(text: &str, paint: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(MARK_END) {
        match (part.find(MARK_START), part.strip_suffix(MARK_END)) {
            (Some(start), Some(marked)) => {
                out.push_str(&part[..start]);
                out.push_str(&paint(marked.get(start + MARK_START.len_utf8()..).unwrap_or_default()));
            }
            _ => out.push_str(part),
        }
    }
    out
}
