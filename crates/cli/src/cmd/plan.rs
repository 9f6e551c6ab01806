//! `atm plan`

use atm_office::protocol::plan::{Plan as Proposal, PlanAnswer, PlanState};
use atm_wire::{Address, Stamp};
use clap::{Args, Subcommand};

use super::send::tell;
use super::shutdown::{Wait, tell_asked};
use super::text::Words;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::table::{cut, spare, whole};
use crate::output::times::brief_age;

#[derive(Debug, Subcommand)]
pub(crate) enum Plan {
    /// Ask your lead whether you may carry out a plan; prints the request's id
    Submit(Submit),
    /// The member may go on (the lead decides)
    Approve(Approve),
    /// The member has to change its plan (the lead decides)
    Reject {
        /// The request's id
        request: String,
        /// What to change
        #[arg(long, value_name = "TEXT")]
        feedback: String,
    },
    /// The plans of the team, and what became of them
    List {
        /// Only those that nobody has decided
        #[arg(long)]
        open: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    wait: Wait,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The request's id
    request: String,
    /// What to mind
    #[arg(long, value_name = "TEXT")]
    feedback: Option<String>,
    /// The mode that the member goes on in, like `default` or `acceptEdits`
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
}

impl Plan {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (request, answer) = match self {
            Self::Submit(submit) => return submit.run(context),
            Self::List { open } => return list(context, open),
            Self::Approve(Approve { request, feedback, permission_mode }) => {
                (request, PlanAnswer { approved: true, feedback, permission_mode })
            }
            Self::Reject { request, feedback } => {
                (request, PlanAnswer { feedback: Some(feedback), ..PlanAnswer::default() })
            }
        };
        let team = context.office.team(&context.team()?)?;
        let who = context.sender_in(&team)?;
        let sent = team.decide_plan(&who, &request, &answer)?;
        tell(context, &sent)?;
        Ok(0)
    }
}

impl Submit {
    fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let mut team = context.office.team(&context.team()?)?;
        let who = context.member_in(&team)?;
        let letter = self.words.letter(Address { name: who.clone(), team: None })?;
        let file = self.words.file().map(|file| context.cwd.join(file).display().to_string());
        let plan = Proposal { text: letter.text, summary: letter.summary, file, priority: letter.priority };
        let asked = team.submit_plan(&who, &plan, self.wait.time())?;
        tell_asked(context, &asked)
    }
}

fn list(context: &mut Context, open: bool) -> Result<i32, Failure> {
    let team = context.team()?;
    let mut plans = context.office.plans(&team)?;
    plans.retain(|plan| !open || plan.state == PlanState::Open);
    let now = context.office.now();
    let out = &mut context.out;
    if out.json {
        out.document(&plans)?;
    } else if plans.is_empty() {
        out.note(format!("there are no plans in team {}", safe::line(team.as_str())))?;
    } else {
        out.page();
        let ago = |at: Stamp| brief_age(now.as_millis() - at.as_millis());
        let rows = plans.iter().map(|plan| {
            let feedback = plan.decision.as_ref().and_then(|decision| decision.feedback.as_deref());
            vec![
                (&plan.from).into(),
                plan.state.as_str().into(),
                ago(plan.timestamp).into(),
                plan.summary.as_deref().unwrap_or("-").into(),
                feedback.unwrap_or("-").into(),
                (&plan.request).into(),
            ]
        });
        let columns = [
            cut("FROM", 8),
            whole("STATE"),
            spare("SINCE", 1),
            cut("PLAN", 12),
            spare("FEEDBACK", 2),
            whole("REQUEST"),
        ];
        out.table(&columns, rows)?;
    }
    Ok(0)
}
