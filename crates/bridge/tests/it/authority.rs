//! What leads of other machines may order, over the whole way of a letter.

use atm_bridge::local::Local as _;
use atm_bridge::name::Machine;
use atm_office::mail::send::{Letter as Words, SendOptions};

use crate::house::{Site, all, machine, name, team};

const PLAN: &str = r#"{"type":"plan_approval_request","requestId":"p-1","from":"bob","plan":"do it","timestamp":"2026-11-15T18:42:20.463Z"}"#;
const DECISION: &str = r#"{"type":"plan_approval_response","requestId":"p-1","approved":true,"timestamp":"2026-11-15T18:42:20.463Z"}"#;
const SHUTDOWN: &str = r#"{"type":"shutdown_request","requestId":"shutdown-1@bob","from":"FROM","reason":"r","timestamp":"2026-11-15T18:42:20.463Z"}"#;

/// A client's own words, which nothing here checks but the rules of mail.
fn payload(site: &Site, from: &str, to: &str, text: &str) -> String {
    let letter = Words::new(to.parse().unwrap(), text.replace("FROM", from));
    let options = SendOptions { force: true, ..SendOptions::default() };
    site.office.send(&team(), &name(from), &letter, options).unwrap().id
}

/// What waits at one machine comes to the other one, and what became of it comes home.
fn carry(from: &mut Site, to: &mut Site) {
    let letters = from.outgoing();
    let receipts = to.take_in(&from.name, &letters);
    from.house.confirm(&to.name, &receipts).unwrap();
}

fn stage(site: &Site, id: &str) -> String {
    site.office.track(Some(&team()), id).unwrap().stage.to_string()
}

/// Ann and the lead on laptop, bob on hub. Hub trusts the leads of these machines.
fn machines(as_lead: &[&str]) -> (Site, Site) {
    let (mut laptop, mut hub) = (Site::new("laptop", &["ann"]), Site::new("hub", &["bob"]));
    let announced = |site: &mut Site| all(site.house.shared());
    let (of_laptop, of_hub) = (announced(&mut laptop), announced(&mut hub));
    laptop.know("hub", of_hub);
    hub.know("laptop", of_laptop);
    hub.house.set_as_lead(as_lead.iter().map(|name| machine(name)).collect::<Vec<Machine>>());
    (laptop, hub)
}

/// The orders of one member of laptop: the stages of a shutdown request and of a decision of a plan that bob asked it for.
fn orders_of(from: &str, called: &str, as_lead: &[&str]) -> [String; 2] {
    let (mut laptop, mut hub) = machines(as_lead);
    payload(&hub, "bob", called, PLAN);
    carry(&mut hub, &mut laptop);
    let orders = [SHUTDOWN, DECISION].map(|text| payload(&laptop, from, "bob", text));
    carry(&mut laptop, &mut hub);
    assert!(laptop.outgoing().is_empty(), "nothing waits");
    orders.map(|id| stage(&laptop, &id))
}

#[test]
fn orders_of_a_lead_are_taken_in_from_a_machine_that_is_trusted_as_lead_alone() {
    assert_eq!(orders_of("team-lead", "team-lead.laptop", &[]), ["failed", "failed"]);
    assert_eq!(orders_of("team-lead", "team-lead.laptop", &["desk"]), ["failed", "failed"]);
    assert_eq!(orders_of("team-lead", "team-lead.laptop", &["desk", "laptop"]), ["written", "written"]);
}

/// Its machine is trusted as lead, and says itself who leads there.
#[test]
fn orders_of_an_ordinary_member_are_refused_whatever_its_machine_is_trusted_with() {
    let (mut laptop, mut hub) = machines(&["laptop"]);
    // A machine whose own atm does not check it.
    let order = payload(&laptop, "team-lead", "bob", SHUTDOWN);
    let mut letters = laptop.outgoing();
    assert!(letters.iter().all(|letter| letter.from_lead), "the lead's own");
    for letter in &mut letters {
        "ann".clone_into(&mut letter.from);
        letter.from_lead = false;
        letter.letter = letter.letter.replace("team-lead", "ann");
    }
    let receipts = hub.take_in(&laptop.name, &letters);
    laptop.house.confirm(&hub.name, &receipts).unwrap();
    assert_eq!(stage(&laptop, &order), "failed");
    assert!(hub.texts("bob").is_empty());
    laptop.send("ann", "bob", "hello");
    assert_eq!(laptop.outgoing().iter().map(|letter| letter.from_lead).collect::<Vec<_>>(), [false]);
}
