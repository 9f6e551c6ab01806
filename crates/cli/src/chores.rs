//! All that happens by the clock, with its settings.

use atm_notify::Notifier;
use atm_office::Office;
use atm_office::chores::health::Health;
use atm_office::chores::retry::Retry;
use atm_office::chores::wake::Waking;
use atm_office::chores::{Chore, Leases, Reservations, Sessions};
use atm_upkeep::archive::Archiving;
use atm_wire::Stamp;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::settings::{Notifications, Settings};

/// Every chore.
#[derive(Debug)]
pub(crate) struct Chores<'a> {
    retry: Retry<'a>,
    waking: Waking<'a>,
    archiving: Archiving<'a>,
    notifier: Option<&'a Notifier>,
}

impl<'a> Chores<'a> {
    pub(crate) fn of(settings: &'a Settings, notifier: Option<&'a Notifier>) -> Self {
        Self {
            retry: Retry(&settings.policies.value),
            waking: Waking(&settings.ladder.value),
            archiving: Archiving(&settings.upkeep.value),
            notifier,
        }
    }

    /// In the order in which they are run.
    pub(crate) fn list(&self) -> Vec<&dyn Chore> {
        let mut list: Vec<&dyn Chore> =
            vec![&Health, &Leases, &Reservations, &Sessions, &self.retry, &self.waking, &self.archiving];
        list.extend(self.notifier.map(|notifier| notifier as &dyn Chore));
        list
    }
}

/// Who tells people in one pass, while it waits; none if there is no channel.
pub(crate) fn notifier_of_pass(notifications: &Notifications) -> Option<Notifier> {
    let channels = Some(notifications.channels()).filter(|channels| !channels.is_empty())?;
    Some(Notifier::direct(notifications.rules.clone(), channels, minute_of_day))
}

/// Who tells people in a long-lived process, in which nobody waits for a slow receiver, and looks at the machine; none if
/// there is no channel.
pub(crate) fn notifier_in_background(notifications: &Notifications, office: &Office) -> Option<Notifier> {
    let channels = Some(notifications.channels()).filter(|channels| !channels.is_empty())?;
    let rules = notifications.rules.clone();
    let notifier = Notifier::in_background(rules, channels, minute_of_day, office.clone());
    notifier.inspect_err(|error| tracing::error!(%error, "there are no notifications")).ok()
}

/// The minute of the local day of a moment.
fn minute_of_day(moment: Stamp) -> u16 {
    let moment = Timestamp::from_millisecond(moment.as_millis()).unwrap_or_default();
    let time = moment.to_zoned(TimeZone::system()).time();
    u16::try_from(i32::from(time.hour()) * 60 + i32::from(time.minute())).unwrap_or_default()
}
