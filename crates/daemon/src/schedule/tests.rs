use super::*;

fn at(millis: i64) -> Stamp {
    Stamp::from_millis(1_794_768_000_000 + millis)
}

fn team(name: &str) -> TeamName {
    TeamName::parse(name).unwrap()
}

fn quiet(names: &[&str]) -> Schedule {
    let mut schedule = Schedule::default();
    schedule.set_teams(&names.iter().map(|name| team(name)).collect(), at(-9_999));
    while let Some(job) = schedule.due(at(-9_999)) {
        schedule.begin(&job);
        schedule.end(&job, &Done::default(), at(-9_999));
    }
    schedule
}

fn words(job: Option<Job>) -> String {
    job.map_or("nothing".to_owned(), |job| {
        let parts = [(job.look, "look"), (job.presence, "presence"), (job.tend, "tend")];
        let parts: Vec<&str> =
            parts.into_iter().filter_map(|(is_due, part)| is_due.then_some(part)).collect();
        format!("{} {}", job.team, parts.join(" "))
    })
}

#[test]
fn nothing_is_due_while_nothing_happens() {
    let mut schedule = quiet(&["a", "b"]);
    assert_eq!(schedule.due(at(99_999_999)), None);
    assert_eq!(schedule.next(), None);
    assert_eq!(schedule.behind_since(), None);
}

#[test]
fn a_change_is_looked_at_at_once_and_tended_after_a_moment() {
    let mut schedule = quiet(&["a", "b"]);
    schedule.happened(&team("b"), News::Files, at(0));
    assert_eq!(schedule.behind_since(), Some(at(0)));
    let job = schedule.due(at(0)).unwrap();
    assert_eq!(words(Some(job.clone())), "b look presence");
    schedule.begin(&job);
    schedule.end(&job, &Done { took: Duration::from_millis(3), ..Done::default() }, at(3));
    assert_eq!(schedule.behind_since(), None);
    assert_eq!(words(schedule.due(at(249))), "nothing");
    assert_eq!(words(schedule.due(at(250))), "b tend");
}

#[test]
fn what_happens_during_a_look_is_for_the_next_one_after_a_rest() {
    let mut schedule = quiet(&["a"]);
    schedule.happened(&team("a"), News::Files, at(0));
    let job = schedule.due(at(0)).unwrap();
    schedule.begin(&job);
    schedule.happened(&team("a"), News::Files, at(5));
    schedule.end(&job, &Done { took: Duration::from_millis(10), ..Done::default() }, at(10));
    assert_eq!(words(schedule.due(at(29))), "nothing");
    assert_eq!(words(schedule.due(at(30))), "a look", "who is there is judged once a second");
    assert_eq!(schedule.next(), Some((at(30), &team("a"))));
}

#[test]
fn nobody_else_is_sent_where_somebody_is() {
    let mut schedule = quiet(&["a", "b"]);
    schedule.happened(&team("a"), News::Files, at(0));
    let job = schedule.due(at(0)).unwrap();
    schedule.begin(&job);
    assert_eq!(schedule.behind_since(), Some(at(0)), "what is being looked at is not known yet");
    schedule.happened(&team("a"), News::Files, at(5));
    schedule.happened(&team("b"), News::Files, at(6));
    assert_eq!(words(schedule.due(at(6))), "b look presence");
    assert_eq!(schedule.next(), Some((at(6), &team("b"))));
    schedule.set_teams(&BTreeSet::from([team("b")]), at(7));
    let other = schedule.due(at(7)).unwrap();
    schedule.begin(&other);
    assert_eq!(schedule.due(at(8)), None, "nor when it is gone");
    schedule.end(&other, &Done::default(), at(8));
    schedule.fail(&job, at(9));
    assert_eq!(schedule.behind_since(), Some(at(0)), "a look that failed knows nothing");
    assert!(schedule.due(at(90_000)).is_some());
}

#[test]
fn the_end_of_a_process_is_judged_at_once() {
    let mut schedule = quiet(&["a"]);
    schedule.happened(&team("a"), News::Files, at(0));
    let job = schedule.due(at(0)).unwrap();
    schedule.begin(&job);
    schedule.end(&job, &Done::default(), at(0));
    schedule.happened(&team("a"), News::People, at(1));
    assert_eq!(words(schedule.due(at(1))), "a presence");
}

#[test]
fn looks_come_before_all_else_but_nothing_waits_for_long() {
    let mut schedule = quiet(&["a", "b", "c"]);
    schedule.happened(&team("a"), News::People, at(0));
    schedule.happened(&team("b"), News::Files, at(100));
    schedule.happened(&team("c"), News::Files, at(200));
    assert_eq!(words(schedule.due(at(200))), "b look");
    let job = schedule.due(at(200)).unwrap();
    schedule.begin(&job);
    schedule.end(&job, &Done::default(), at(200));
    assert_eq!(words(schedule.due(at(200))), "c look presence");
    assert_eq!(words(schedule.due(at(5_001))), "a presence", "late is late");
}

#[test]
fn what_is_due_by_the_clock_comes_by_the_clock() {
    let mut schedule = quiet(&["a"]);
    schedule.happened(&team("a"), News::People, at(0));
    for _ in 0..2 {
        let now = schedule.next().unwrap().0;
        let job = schedule.due(now).unwrap();
        schedule.begin(&job);
        let done = Done { presence_next: Some(at(60_000)), tend_next: Some(at(90_000)), ..Done::default() };
        schedule.end(&job, &done, now);
    }
    assert_eq!(schedule.next(), Some((at(60_000), &team("a"))));
    assert_eq!(words(schedule.due(at(90_000))), "a presence tend");
}

#[test]
fn one_that_fails_rests_longer_each_time_and_holds_nobody_up() {
    let mut schedule = quiet(&["a", "b"]);
    schedule.happened(&team("a"), News::Files, at(0));
    let mut now = at(0);
    let mut rests = Vec::new();
    for _ in 0..12 {
        let job = schedule.due(now).unwrap();
        schedule.begin(&job);
        schedule.fail(&job, now);
        assert_eq!(words(schedule.due(now)), "nothing");
        let next = schedule.next().unwrap().0;
        rests.push(next.since(now).as_secs());
        now = next;
    }
    assert_eq!(rests, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    schedule.happened(&team("b"), News::Files, now);
    schedule.happened(&team("a"), News::Files, now);
    let job = schedule.due(now).unwrap();
    schedule.begin(&job);
    schedule.end(&job, &Done::default(), now);
    assert_eq!(words(schedule.due(now)), "b look presence");
}

#[test]
fn one_that_failed_often_is_tried_soon_after_its_files_changed() {
    let mut schedule = quiet(&["a"]);
    schedule.happened(&team("a"), News::Files, at(0));
    let mut now = at(0);
    for _ in 0..12 {
        let job = schedule.due(now).unwrap();
        schedule.begin(&job);
        schedule.fail(&job, now);
        now = schedule.next().unwrap().0;
    }
    let failed = now.saturating_sub(LONGEST_REST);
    schedule.happened(&team("a"), News::Conversation, failed);
    assert_eq!(schedule.next(), Some((now, &team("a"))), "that mends nothing");
    schedule.happened(&team("a"), News::Files, failed);
    assert_eq!(schedule.next(), Some((failed.saturating_add(CHANGED_REST), &team("a"))));
}

#[test]
fn one_that_is_gone_is_looked_at_once_more() {
    let mut schedule = quiet(&["a", "b"]);
    schedule.set_teams(&BTreeSet::from([team("b")]), at(0));
    assert_eq!(words(schedule.due(at(0))), "a look");
    schedule.forget(&team("a"));
    assert_eq!((schedule.due(at(0)), schedule.teams()), (None, 1));
}

#[test]
fn a_conversation_concerns_those_in_which_something_happened() {
    let mut schedule = quiet(&["a", "b"]);
    schedule.happened(&team("a"), News::Files, at(0));
    while let Some(job) = schedule.due(at(300)) {
        schedule.begin(&job);
        schedule.end(&job, &Done::default(), at(300));
    }
    schedule.conversation_went_on(at(2_000));
    schedule.conversation_went_on(at(2_100));
    assert_eq!(words(schedule.due(at(2_499))), "a presence tend");
    let job = schedule.due(at(2_500)).unwrap();
    assert!(job.look);
}

#[test]
fn a_clock_that_was_set_back_makes_everything_due() {
    let mut schedule = quiet(&["a"]);
    schedule.happened(&team("a"), News::Files, at(3_600_000));
    assert!(schedule.due(at(3_600_000)).is_some());
    assert_eq!(words(schedule.due(at(0))), "a look presence tend");
}
