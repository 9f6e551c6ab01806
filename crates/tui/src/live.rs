//! Follows the ledger's events by cursor, so that the screen is live, and tells when that cannot be done.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use atm_office::watch::{EventStream, Since, Wake};
use atm_office::{Office, OfficeError};
use atm_store::watch::Stop;
use atm_wire::TeamName;

use crate::event::{Event, Loaded, Trouble};
use crate::settings::Settings;

/// So many events that happened before are shown.
const BEFORE: usize = 200;
/// After this time it is looked which teams there are, also when nothing happens.
const LOOK_AGAIN: Duration = Duration::from_secs(3);
/// After this time it is tried again what failed.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Tells what happens, until somebody says stop.
pub(crate) fn follow(settings: &Settings, stop: &Stop, told: &Sender<Event>) {
    let mut place = Since::Last(BEFORE);
    while !stop.is_stopped() {
        let outcome = follow_from(settings, &mut place, stop, told);
        if told.send(Event::Followed(outcome.map_err(|error| Trouble::of(&error, settings)))).is_err() {
            return;
        }
        wait(&settings.office, stop);
    }
}

/// The same from a place on, until the ledger cannot be read.
fn follow_from(
    settings: &Settings,
    place: &mut Since,
    stop: &Stop,
    told: &Sender<Event>,
) -> Result<(), OfficeError> {
    let office = &settings.office;
    while !stop.is_stopped() {
        let teams = office.team_names()?;
        let mut stream = office.follow(&teams, &[], place, stop)?;
        if told.send(Event::Followed(Ok(()))).is_err() {
            return Ok(());
        }
        let teams = tell_while_same(office, &teams, &mut stream, stop, told)?;
        *place = Since::Cursor(stream.cursor().clone());
        if told.send(Event::Loaded(Box::new(Loaded::Teams(Ok(teams))))).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Tells what happens for as long as these are the teams; gives those that there are then.
fn tell_while_same(
    office: &Office,
    teams: &[TeamName],
    stream: &mut EventStream,
    stop: &Stop,
    told: &Sender<Event>,
) -> Result<Vec<TeamName>, OfficeError> {
    loop {
        if let Some(events) = stream.next(Some(Instant::now() + LOOK_AGAIN))?
            && told.send(Event::News(events)).is_err()
        {
            return Ok(teams.to_vec());
        }
        let now = office.team_names()?;
        if stop.is_stopped() || now != teams {
            return Ok(now);
        }
    }
}

/// A pause that ends when somebody says stop.
fn wait(office: &Office, stop: &Stop) {
    let until = Instant::now() + TRY_AGAIN;
    while !stop.is_stopped() && Instant::now() < until {
        let soon = office.now().saturating_add(TRY_AGAIN / 10);
        if office.watch_teams(&[]).sleep_until(Some(soon)) == Wake::Over {
            return;
        }
    }
}

/// Waits for the process to be told to stop.
pub(crate) fn end(office: &Office, stop: &Stop, told: &Sender<Event>) {
    while office.watch_teams(&[]).sleep_until(None) != Wake::Over {}
    stop.stop();
    let _ = told.send(Event::Over);
}
