//! Log inboxes that others rotate, cut and rewrite: what is in doubt is shown again, nothing is passed over.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use atm_support::{Foreign, TestTeam, draft, drafts};
use atm_wire::Draft;
use atm_wire::message::{Ours, Priority};

use crate::scene::{line, listed, log_team, sorted, take, unread};

/// `mv inbox inbox.<time>; touch inbox`, as recipes do when it is large.
fn rotate(inbox: &Path, number: usize) {
    let rotated = format!("{}.20260101-{number:06}", inbox.display());
    fs::rename(inbox, rotated).unwrap();
    fs::OpenOptions::new().create(true).append(true).open(inbox).unwrap();
}

/// `tail -n <lines> inbox > inbox.tmp; mv inbox.tmp inbox`.
fn cut(inbox: &Path, lines: usize) {
    let text = fs::read_to_string(inbox).unwrap();
    let all: Vec<_> = text.split_inclusive('\n').collect();
    let temp = inbox.with_file_name("inbox.tmp");
    fs::write(&temp, all[all.len().saturating_sub(lines)..].concat()).unwrap();
    fs::rename(temp, inbox).unwrap();
}

fn state(team: &TestTeam) -> PathBuf {
    team.inbox("bob").with_file_name("state.json")
}

#[test]
fn the_unread_rest_of_a_rotated_file_is_read_before_what_came_after() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("old ", 3), false).unwrap();
    assert_eq!(take(&bob, 1), ["old 0"]);
    rotate(&team.inbox("bob"), 0);
    assert_eq!(unread(&bob), ["old 1", "old 2"]);
    bob.append(&drafts("new ", 3), false).unwrap();
    assert_eq!(take(&bob, 1), ["old 1"]);
    rotate(&team.inbox("bob"), 1);
    bob.append(&drafts("newest ", 1), false).unwrap();
    assert_eq!(take(&bob, 3), ["old 2", "new 0", "new 1"]);
    assert_eq!(take(&bob, 9), ["new 2", "newest 0"]);
    assert!(unread(&bob).is_empty());
}

/// Kernels stamp files with the last tick of a coarse clock: a message that was made in the first milliseconds of a second could be
/// in a file of the second before, and was appended again.
#[test]
fn a_message_is_found_in_a_rotated_file_whose_time_is_a_tick_before_the_messages_own() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let sent = draft("once");
    bob.append(std::slice::from_ref(&sent), false).unwrap();
    rotate(&team.inbox("bob"), 0);
    let made = u64::from_str_radix(&sent.id.replace('-', "")[..12], 16).unwrap();
    let tick_before = UNIX_EPOCH + Duration::from_millis(made / 1000 * 1000 - 4);
    let rotated = format!("{}.20260101-000000", team.inbox("bob").display());
    fs::File::options().write(true).open(rotated).unwrap().set_modified(tick_before).unwrap();
    let known = bob.append(std::slice::from_ref(&sent), false).unwrap().known;
    assert_eq!(known, [sent.id.as_str()]);
    assert_eq!(listed(&bob), ["once"]);
}

#[test]
fn the_recipe_finds_the_new_file_from_its_start_after_we_read_the_old_one() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("old ", 3), false).unwrap();
    assert_eq!(take(&bob, 2), ["old 0", "old 1"]);
    rotate(&team.inbox("bob"), 0);
    bob.append(&drafts("new ", 2), false).unwrap();
    assert_eq!(take(&bob, 1), ["old 2"]);
    let recipe = Foreign::shell_reader(&team.inbox("bob"), &state(&team)).run();
    assert_eq!(recipe.texts(), ["new 0", "new 1"]);
    assert!(unread(&bob).is_empty());
}

#[test]
fn a_recipes_cursor_into_a_rotated_file_does_not_pass_over_new_mail() {
    // The recipe's number is about the old file, and the new one has as many lines by now.
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("old ", 2), false).unwrap();
    Foreign::shell_reader(&team.inbox("bob"), &state(&team)).run();
    bob.append(&drafts("unread ", 1), false).unwrap();
    rotate(&team.inbox("bob"), 0);
    bob.append(&drafts("new ", 3), false).unwrap();
    assert_eq!(take(&bob, 9), ["unread 0", "new 0", "new 1", "new 2"]);
    assert!(unread(&bob).is_empty());
}

#[test]
fn mail_that_was_rotated_before_anybody_read_it_is_not_passed_over() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("old ", 2), false).unwrap();
    rotate(&team.inbox("bob"), 0);
    bob.append(&[draft("new")], false).unwrap();
    assert_eq!(take(&bob, 9), ["old 0", "old 1", "new"]);

    // Nor where there was no cursor until then.
    let team = log_team();
    team.write_inbox("bob", format!("{}\n", line("old")));
    rotate(&team.inbox("bob"), 0);
    let bob = team.mailbox("bob");
    bob.append(&[draft("new")], false).unwrap();
    assert_eq!(take(&bob, 9), ["old", "new"]);
}

#[test]
fn reading_urgent_mail_moves_no_other_cursor() {
    // Our writing the cursor's file must not make the recipe's number in it look newer than the rotation.
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("old ", 2), false).unwrap();
    rotate(&team.inbox("bob"), 0);
    let urgent = Ours { priority: Priority::High, ..Ours::default() };
    bob.append(&[Draft { ours: urgent, ..draft("urgent") }, draft("new")], false).unwrap();
    assert_eq!(take(&bob, 1), ["urgent"]);
    assert_eq!(take(&bob, 9), ["old 0", "old 1", "new"]);
}

#[test]
fn a_retry_after_a_rotation_is_not_written_again() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let sent = drafts("m", 2);
    bob.append(&sent, false).unwrap();
    rotate(&team.inbox("bob"), 0);
    bob.append(&[draft("new")], false).unwrap();
    rotate(&team.inbox("bob"), 1);
    assert_eq!(bob.append(&sent, false).unwrap().known.len(), 2);
    assert_eq!(listed(&bob), ["m0", "m1", "new"]);
}

#[test]
fn a_file_that_was_cut_is_read_on_where_we_were() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 5), false).unwrap();
    assert_eq!(take(&bob, 3), ["m0", "m1", "m2"]);
    cut(&team.inbox("bob"), 3);
    assert_eq!(unread(&bob), ["m3", "m4"], "the last line that was read is still there");
    cut(&team.inbox("bob"), 1);
    bob.append(&drafts("n", 1), false).unwrap();
    assert_eq!(take(&bob, 9), ["m4", "n0"], "it is gone, and only unread lines are left");
}

#[test]
fn a_file_that_was_emptied_is_read_from_its_start() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    take(&bob, 9);
    team.write_inbox("bob", "");
    bob.append(&drafts("n", 4), false).unwrap();
    assert_eq!(take(&bob, 9), ["n0", "n1", "n2", "n3"]);
}

#[test]
fn mail_of_a_clock_that_is_behind_is_not_passed_over() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let behind = draft("from the past");
    bob.append(&drafts("m", 3), false).unwrap();
    take(&bob, 9);
    team.write_inbox("bob", "");
    bob.append(&[behind], false).unwrap();
    assert_eq!(take(&bob, 9), ["from the past"]);
}

#[test]
fn a_cursor_beyond_the_end_hides_nothing() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    for number in ["99", "18446744073709551615", "-1", "\"x\""] {
        fs::write(state(&team), format!("{{\"lastProcessedLine\": {number}}}")).unwrap();
        assert_eq!(unread(&bob), ["m0", "m1", "m2"], "{number}");
    }
    bob.append(&[draft("new")], false).unwrap();
    assert_eq!(take(&bob, 9), ["m0", "m1", "m2", "new"]);
    assert!(unread(&bob).is_empty());
}

/// Runs `disturb` on the inbox again and again while we append `count` messages.
fn append_beside(team: &TestTeam, count: usize, mut disturb: impl FnMut(&Path, usize) + Send) {
    let done = AtomicBool::new(false);
    let inbox = team.inbox("bob");
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                disturb(&inbox, number);
            }
        });
        let bob = team.mailbox("bob");
        let results: Vec<_> =
            drafts("m", count).into_iter().map(|draft| bob.append(&[draft], false)).collect();
        done.store(true, Ordering::Relaxed);
        for result in results {
            result.unwrap();
        }
    });
}

#[test]
fn lines_that_are_written_while_the_file_is_rotated_are_neither_lost_nor_doubled() {
    let team = log_team();
    append_beside(&team, 60, |inbox, number| {
        // An empty rotated file would tell nothing.
        if fs::metadata(inbox).is_ok_and(|found| found.len() > 2_000) {
            rotate(inbox, number);
        }
        thread::yield_now();
    });
    let bob = team.mailbox("bob");
    let expected: Vec<_> = (0..60).map(|number| format!("m{number}")).collect();
    assert_eq!(sorted(listed(&bob)), sorted(expected.clone()));
    assert_eq!(sorted(take(&bob, usize::MAX)), sorted(expected));
}

#[test]
fn a_line_that_survived_a_rewrite_is_not_written_again() {
    // The rewriter read the file after our line was in it: the file is another one, the line is there.
    let team = log_team();
    let mut last = 0;
    append_beside(&team, 150, |inbox, _| {
        let size = fs::metadata(inbox).unwrap().len();
        if size != last {
            last = size;
            cut(inbox, usize::MAX);
        }
    });
    let texts = sorted(listed(&team.mailbox("bob")));
    let mut once = texts.clone();
    once.dedup();
    assert_eq!(texts, once);
}
