//! `atm team join`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use atm_office::people::join::Adoption;
use clap::Args;

use crate::cmd::recipient::session_here;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
You lead as the lead of before, or with --as under another name. Refused (exit 4) while the lead's recorded process
or its pane runs, or cannot be asked from here.")]
pub(crate) struct Join {
    /// Which [default: the one that commands would use here]
    name: Option<String>,
    /// The conversation that leads from now on [default: $CLAUDE_CODE_SESSION_ID]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Record this process as the lead's, so that nobody else joins while it runs
    #[arg(long, value_name = "PID")]
    pid: Option<u64>,
    /// Even if the lead of before runs
    #[arg(long)]
    force: bool,
}

impl Join {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let team = match &self.name {
            Some(name) => context.office.choose_team(Some(name), &context.cwd)?,
            None => context.team()?,
        };
        let session = self.session.or_else(|| session_here(context));
        let session = session.filter(|session| !session.trim().is_empty()).ok_or_else(|| {
            Failure::usage("which conversation leads from now on?")
                .hint("give --session ID; in a hook of Claude Code it is $CLAUDE_CODE_SESSION_ID")
        })?;
        let adopted = context.office.join_team(
            &team,
            &Adoption {
                session,
                lead: context.identity()?.map(|address| address.name),
                pid: self.pid,
                cwd: Some(context.cwd.clone()),
                force: self.force,
            },
        )?;
        let out = &mut context.out;
        if out.json {
            out.document(&adopted)?;
        } else {
            let before = adopted.before.as_deref().unwrap_or("none");
            out.note(format!(
                "you lead team {team} as {}; the conversation of before was {} ({})",
                adopted.lead,
                safe::line(before),
                safe::line(&adopted.evidence)
            ))?;
        }
        Ok(())
    }
}
