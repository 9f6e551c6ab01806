//! Paths that messages name as files: the team's own are files, all others are text.

use std::fs;
use std::os::unix::fs::symlink;

use atm_office::mail::inbox::Filter;
use atm_office::view::{NamedFile, Unchecked};
use atm_store::Layout;
use serde_json::{Value, json};

use super::{World, who};

impl World {
    /// A plan of `eve` with this file, as the lead sees it.
    fn plan(&self, path: &str) -> NamedFile {
        let payload = json!({"type": "plan_approval_request", "planFilePath": path, "planContent": "p"});
        let mut plan = self.words("eve", "team-lead", &payload.to_string());
        if let Some(content) = plan.get_mut("content") {
            *content = json!({"planFilePath": path, "planContent": "p"});
            plan["type"] = "plan_approval_request".into();
        }
        self.named(plan)
    }

    fn named(&self, entry: Value) -> NamedFile {
        self.others_write("team-lead", &[entry]);
        let look = self.office.inbox(self.team.name(), &who("team-lead"), &Filter::default()).unwrap();
        look.messages.last().unwrap().files[0].clone()
    }
}

#[test]
fn only_a_file_where_the_team_works_is_shown_as_one() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let folder = tempfile::tempdir().unwrap();
        let (work, other) = (folder.path().join("work"), folder.path().join("other"));
        for made in [&work, &other] {
            fs::create_dir(made).unwrap();
            fs::write(made.join("plan.md"), "a plan").unwrap();
        }
        symlink(other.join("plan.md"), work.join("out.md")).unwrap();
        symlink(work.join("plan.md"), work.join("in.md")).unwrap();
        let of = |world: &World, path: &str| world.plan(path).unchecked;
        let plan = work.join("plan.md");
        let plan = plan.to_str().unwrap();
        assert_eq!(of(&world, plan), Some(Unchecked::Outside), "nobody works there yet");
        world.set_bob("cwd", json!(work));
        assert_eq!(of(&world, plan), None);
        assert_eq!(of(&world, work.join("in.md").to_str().unwrap()), None);
        assert_eq!(of(&world, world.team.config_file().to_str().unwrap()), None, "the shared tree");

        let outside = Some(Unchecked::Outside);
        assert_eq!(of(&world, work.join("out.md").to_str().unwrap()), outside, "a link that leads out");
        assert_eq!(of(&world, other.join("plan.md").to_str().unwrap()), outside);
        assert_eq!(of(&world, &format!("{}-not/plan.md", work.display())), outside);
        assert_eq!(of(&world, "/etc/passwd"), outside);
        let climbs = format!("{}/../other/plan.md", work.display());
        for path in [climbs.as_str(), "plan.md", "~/plan.md", "file:///etc/passwd", ""] {
            assert_eq!(of(&world, path), Some(Unchecked::NotAbsolute), "{path}");
        }
        let gone = work.join("none.md");
        for path in [&gone, &work] {
            assert_eq!(of(&world, path.to_str().unwrap()), Some(Unchecked::NoFile));
        }
        assert_eq!(of(&world, &format!("{plan}\0")), Some(Unchecked::NoFile));

        world.set_bob("cwd", json!("/"));
        assert_eq!(of(&world, "/etc/passwd"), outside, "the top of everything is nobody's");
    }
}

#[test]
fn a_path_beside_the_words_is_checked_too() {
    for layout in [Layout::Array, Layout::Log] {
        let world = World::new(layout);
        let mut entry = world.words("eve", "team-lead", "please look at this");
        let beside = if layout == Layout::Log { &mut entry["content"] } else { &mut entry };
        beside["filePath"] = "/etc/shadow".into();
        let named = world.named(entry);
        assert_eq!((named.key.as_str(), named.path.as_str()), ("filePath", "/etc/shadow"));
        assert_eq!(named.unchecked, Some(Unchecked::Outside));
    }
}
