//! An answer goes to the session that asked, where several share a folder's mailbox.

use atm_clients::claude::peer_frame::Message;

use super::*;
use crate::sessions::peers::{Peer, PeerTarget};

const ASKED: &str = "2d9a3e74-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const ASKER_PID: u64 = 11;
const OTHER_PID: u64 = 12;
const ASKED_PID: u64 = 13;

/// Two sessions in one folder, `ONE` and `TWO`, and one in another.
struct Folders {
    scene: Scene,
    shop: PathBuf,
    web: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let scene = Scene::new();
        let (shop, web) = (scene.make("shop"), scene.make("web"));
        for (session, folder, pid) in
            [(ONE, &shop, ASKER_PID), (TWO, &shop, OTHER_PID), (ASKED, &web, ASKED_PID)]
        {
            scene.office.register_session(&arrival(session, folder, pid)).unwrap();
        }
        Self { scene, shop, web }
    }

    /// Where a letter of a session to a name goes.
    fn route(&self, from: &str, to: &str) -> Route<'_> {
        let find = || Some(from.to_owned());
        let office = &self.scene.office;
        let team = office.choose_team(None, Path::new("/"));
        let sender = Sender { team, names_team: false, is_named: false, session: Some(&find) };
        office.route(sender, to.parse().unwrap(), false).unwrap()
    }

    /// The session `ONE` asks the one in the other folder.
    fn ask(&self) -> String {
        let route = self.route(ONE, "web");
        let from = route.from.clone().unwrap();
        route.team.send(&from, &route.letter("which port?"), SendOptions::default()).unwrap().id
    }

    fn team_of(&self, session: &str) -> Team<'_> {
        self.scene.office.team(&team_name()).unwrap().in_session(Some(session.to_owned()))
    }

    fn reply(&self, id: &str) {
        let who = self.scene.office.mailbox_of_folder(&self.web).unwrap();
        let letter = |to| Letter::new(to, "8080");
        self.team_of(ASKED).reply(&who, id, letter, SendOptions::default()).unwrap();
    }

    fn offered(&self, session: &str, pid: u64) -> usize {
        offered(&self.scene.office, &arrival(session, &self.shop, pid))
    }
}

/// The first of the two that took a turn got the answer to the other's question.
#[test]
fn of_two_sessions_in_a_folder_the_one_that_asked_gets_the_answer() {
    let folders = Folders::new();
    folders.reply(&folders.ask());
    assert_eq!(folders.offered(TWO, OTHER_PID), 0);
    assert_eq!(folders.offered(ONE, ASKER_PID), 1);
}

#[test]
fn the_answer_to_a_session_that_has_ended_is_for_any_that_works_there() {
    for ends_before_the_answer in [true, false] {
        let folders = Folders::new();
        let id = folders.ask();
        let end = || folders.scene.office.end_session(ONE).unwrap();
        if ends_before_the_answer {
            end();
        }
        folders.reply(&id);
        if !ends_before_the_answer {
            end();
        }
        assert_eq!(folders.offered(TWO, OTHER_PID), 1, "{ends_before_the_answer}");
    }
}

/// A session may be taken up again elsewhere: there it would never see the answer, and nobody else would get it.
#[test]
fn the_answer_to_a_session_that_works_elsewhere_now_is_for_any_in_the_folder() {
    let folders = Folders::new();
    let id = folders.ask();
    let elsewhere = folders.scene.make("elsewhere");
    let moved = Arrival { begins: true, ..arrival(ONE, &elsewhere, ASKER_PID) };
    folders.scene.office.register_session(&moved).unwrap();
    folders.reply(&id);
    assert_eq!(folders.offered(TWO, OTHER_PID), 1);
}

#[test]
fn an_answer_is_answered_in_the_session_that_gave_it() {
    let folders = Folders::new();
    folders.reply(&folders.ask());
    let next_to_it = "3e0b4f85-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
    let offered = |session, pid| offered(&folders.scene.office, &arrival(session, &folders.web, pid));
    assert_eq!(offered(ASKED, ASKED_PID), 1, "the question");
    folders.scene.office.register_session(&arrival(next_to_it, &folders.web, 14)).unwrap();
    let shop = folders.scene.office.mailbox_of_folder(&folders.shop).unwrap();
    let letter = |to| Letter::new(to, "thanks");
    let last = crate::trail::track::LAST;
    folders.team_of(ONE).reply(&shop, last, letter, SendOptions::default()).unwrap();
    assert_eq!(offered(next_to_it, 14), 0);
    assert_eq!(offered(ASKED, ASKED_PID), 1, "the answer to its answer");
}

/// An acknowledgment and the answer to a request are answers, too.
#[test]
fn what_acknowledges_or_responds_goes_to_the_session_that_asked() {
    let folders = Folders::new();
    let id = folders.ask();
    let web = folders.scene.office.mailbox_of_folder(&folders.web).unwrap();
    folders.team_of(ASKED).ack(&web, &id, None, SendOptions::default()).unwrap();
    let route = folders.route(ONE, "web");
    let from = route.from.clone().unwrap();
    let (request, _) =
        route.request(&from, "port_request", serde_json::Map::new(), SendOptions::default()).unwrap();
    folders.team_of(ASKED).respond(&web, &request, serde_json::Map::new(), SendOptions::default()).unwrap();
    assert_eq!(folders.offered(TWO, OTHER_PID), 0);
    assert_eq!(folders.offered(ONE, ASKER_PID), 2);
}

/// What Claude Code's own send tool writes to a peer is a session's, too.
#[test]
fn a_frame_for_a_peer_is_answered_in_the_session_that_wrote_it() {
    let folders = Folders::new();
    let (office, web) = (&folders.scene.office, folders.web.clone());
    for (session, pid) in [(ONE, ASKER_PID), (TWO, OTHER_PID)] {
        folders.scene.lists(session, &folders.shop, pid, &json!({ "entrypoint": "cli" }));
    }
    let to = PeerTarget::Session { folder: web, session: ASKED.to_owned() };
    let peer = Peer { to, title: "web".to_owned(), id: "peer".to_owned(), folder: None };
    let message = Message { id: None, text: "which port?".to_owned(), files: 0 };
    let sent = office.receive_for_peer(&peer, &message, Some(ASKER_PID)).unwrap();
    folders.reply(&sent.id);
    assert_eq!(folders.offered(TWO, OTHER_PID), 0);
    assert_eq!(folders.offered(ONE, ASKER_PID), 1);
}

/// Who answers may say that somebody else is to have the answer.
#[test]
fn an_answer_that_is_sent_elsewhere_names_no_session_of_the_one_that_asked() {
    let folders = Folders::new();
    let id = folders.ask();
    let web = folders.scene.office.mailbox_of_folder(&folders.web).unwrap();
    let letter = |_| Letter::new("user@sessions".parse().unwrap(), "8080");
    folders.team_of(ASKED).reply(&web, &id, letter, SendOptions::default()).unwrap();
    let user = folders.scene.office.mailbox(&team_name(), &"user".parse().unwrap());
    assert_eq!(user.list().unwrap().messages[0].ours().session, None);
}
