//! The table `[delivery]`, and how much of it counts without anybody's trust.

use atm_office::chores::retry::{Policies, Policy};
use atm_wire::stamp::parse_duration;
use serde::Deserialize;

/// The policy for queued mail, with exceptions by priority.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delivery {
    retry_after: Option<Vec<String>>,
    escalate_to: Option<Vec<String>>,
    expire_after: Option<String>,
    high: Option<Box<Delivery>>,
    low: Option<Box<Delivery>>,
}

impl Delivery {
    /// Changes `policy` where this says something.
    fn apply(&self, policy: &mut Policy) -> Result<(), String> {
        let span = |text: &String| parse_duration(text).map_err(|error| error.to_string());
        if let Some(after) = &self.retry_after {
            policy.retry_after = after.iter().map(span).collect::<Result<_, _>>()?;
        }
        if let Some(after) = &self.expire_after {
            policy.expire_after = Some(span(after)?);
        }
        if let Some(to) = &self.escalate_to {
            policy.escalate_to.clone_from(to);
        }
        Ok(())
    }

    pub(super) fn apply_to_all(&self, policies: &mut Policies) -> Result<(), String> {
        for policy in [&mut policies.high, &mut policies.normal, &mut policies.low] {
            self.apply(policy)?;
        }
        self.high.as_ref().map_or(Ok(()), |high| high.apply(&mut policies.high))?;
        self.low.as_ref().map_or(Ok(()), |low| low.apply(&mut policies.low))
    }

    /// Takes out what only a person may decide.
    pub(super) fn keep_harmless(&mut self, taken: &mut TakenOut) {
        taken.retries |= self.retry_after.take_if(|after| !only_lengthens(after)).is_some();
        taken.escalates |= self.escalate_to.take().is_some();
        taken.expires |= self.expire_after.take().is_some();
        for part in [&mut self.high, &mut self.low].into_iter().flatten() {
            part.keep_harmless(taken);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let says_nothing = |part: &Option<Box<Delivery>>| part.as_ref().is_none_or(|part| part.is_empty());
        self.retry_after.is_none()
            && self.escalate_to.is_none()
            && self.expire_after.is_none()
            && says_nothing(&self.high)
            && says_nothing(&self.low)
    }
}

/// What was taken out of the policies.
#[derive(Default)]
pub(super) struct TakenOut {
    pub(super) retries: bool,
    pub(super) escalates: bool,
    pub(super) expires: bool,
}

/// Whether mail is offered again no sooner and no more often than by default. The last pause counts on its own: telling
/// others goes by it.
fn only_lengthens(after: &[String]) -> bool {
    let usual = Policy::default().retry_after;
    let after: Result<Vec<_>, _> = after.iter().map(|text| parse_duration(text)).collect();
    after.is_ok_and(|after| {
        after.len() <= usual.len()
            && after.iter().zip(&usual).all(|(after, usual)| after >= usual)
            && after.last().is_none_or(|last| Some(last) >= usual.last())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_trust_mail_is_offered_no_sooner_and_no_more_often() {
        let lengthens =
            |after: &[&str]| only_lengthens(&after.iter().map(ToString::to_string).collect::<Vec<_>>());
        for after in [&[][..], &["15m"], &["5m", "15m"], &["1h", "2h"], &["18446744073709551615s"]] {
            assert!(lengthens(after), "{after:?}");
        }
        for after in [&["5m"][..], &["1ms"], &["5m", "14m"], &["1h", "1h", "1h"], &["soon"]] {
            assert!(!lengthens(after), "{after:?}");
        }
    }
}
