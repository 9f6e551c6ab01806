//! A bucket of homes was lost, and the one machine that remembered a home has forgotten it: the member's next home is its first one, for
//! all that is known, and nobody tells of a move. The simulation's ledgers do the same.

use super::*;

#[test]
fn mail_for_a_member_that_is_here_now_is_written_here() {
    for is_taken in [true, false] {
        let (mut laptop, _hub) = pair();
        for text in ["first", "second"] {
            laptop.send("ann", "bob", text);
        }
        assert_eq!(laptop.outgoing().len(), 2);
        laptop.house.set_homes(Homes::default());
        if is_taken {
            laptop.office.machines().take_member(&team(), &name("bob")).unwrap();
        } else {
            // The hub has removed him.
            laptop.place(&[("hub", "carl", Some(1))]);
            laptop.office.add_member(&team(), &MemberPlan::new("bob")).unwrap();
        }
        laptop.hear("laptop", 1, &[], NOW + DAY);
        laptop.place(&[("hub", "carl", Some(1))]);
        assert_eq!(laptop.outgoing(), [], "taken: {is_taken}");
        assert_eq!(laptop.texts("bob"), ["first", "second"], "taken: {is_taken}");
    }
}

#[test]
fn mail_in_the_file_of_a_name_that_is_another_machines_now_goes_there() {
    let mut laptop = Site::new("laptop", &["ann", "bob"]);
    laptop.hear("laptop", 1, &[], NOW);
    laptop.place(&[("hub", "carl", Some(1))]);
    for text in ["first", "second"] {
        laptop.send("ann", "bob", text);
    }
    assert_eq!(laptop.texts("bob"), ["first", "second"]);
    laptop.office.remove_member(&team(), &name("bob")).unwrap();
    laptop.house.set_homes(Homes::default());
    laptop.hear("hub", 1, &[], NOW + DAY);
    laptop.place(&[("hub", "bob", Some(1))]);
    laptop.house.collector().unwrap().collect().unwrap();
    let found: Vec<_> =
        laptop.outgoing().iter().map(|letter| (letter.machine.to_string(), words(letter))).collect();
    assert_eq!(found, [("hub".to_owned(), "first".to_owned()), ("hub".to_owned(), "second".to_owned())]);
}
