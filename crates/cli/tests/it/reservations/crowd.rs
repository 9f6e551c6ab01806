//! Many agents of four clients at one working tree, as processes of their own: no edit is lost, and nobody is refused for
//! nobody.

use atm_support::Foreign;

use super::Shop;
use crate::scene::ATM;

const AGENTS: usize = 16;
const EDITS: usize = 2;
const FILES: usize = 4;
/// So many die with a path in their hands.
const DEATHS: usize = 2;

#[test]
fn sixteen_agents_of_four_clients_lose_no_edit_and_are_refused_for_a_holder_alone() {
    let shop = Shop::new();
    for number in 0..AGENTS {
        shop.world.ok(&["member", "add", &format!("agent-{number}")]);
    }
    let number = |number: usize| number.to_string();
    let said = Foreign::editors(&shop.tree)
        .with("--atm", ATM)
        .with("--root", shop.world.root())
        .with("--state", shop.world.state())
        .with("--home", shop.world.home())
        .with("--team", "dev")
        .with("--agents", number(AGENTS))
        .with("--files", number(FILES))
        .with("--edits", number(EDITS))
        .with("--deaths", number(DEATHS))
        .run();
    let report = &said.lines[0];
    let count = |key: &str| report[key].as_u64().unwrap_or_else(|| panic!("{key}: {report}"));
    assert_eq!(count("edits"), (AGENTS * EDITS) as u64, "{report}");
    for none in ["lost", "doubled", "refused_without_holder", "holders_kept_out"] {
        assert_eq!(count(none), 0, "{none}: {report}");
    }
    assert_eq!(shop.held(), [] as [&str; 0], "the dead hold nothing");
    assert_eq!(shop.log(), "", "no hook had trouble");
}
