//! The list of clients is complete, and it is the only one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use atm_clients::hook::HookEvent;
use atm_clients::settings::{Before, Identity};
use atm_clients::{AgentClient, Folders, Scope};
use atm_wire::team::Manner;

fn folders() -> Folders {
    Folders::new("/home/me".into(), "/repo".into(), |_| None)
}

fn bob(scope: Scope) -> Identity {
    Identity { scope, team: Some("dev".into()), name: Some("bob".into()), ..Identity::nobody() }
}

#[test]
fn every_client_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = AgentClient::ALL.iter().map(|client| client.as_str()).collect();
    let titles: BTreeSet<&str> = AgentClient::ALL.iter().map(|client| client.title()).collect();
    assert_eq!((names.len(), titles.len()), (AgentClient::ALL.len(), AgentClient::ALL.len()));
    for client in AgentClient::ALL {
        let profile = client.profile();
        assert_eq!(profile.client, client);
        assert!(
            profile.name.bytes().all(|byte| byte.is_ascii_lowercase()),
            "{client}: it is a program's name"
        );
    }
}

/// What is ours is put into every file, recognised there, put in only once, and taken out again.
#[test]
fn every_client_can_be_set_up_for_a_user_and_for_a_project() {
    for client in AgentClient::ALL {
        for (scope, base) in [(Scope::User, "/home/me"), (Scope::Project, "/repo")] {
            let files = (client.profile().settings)(scope, &folders(), &bob(scope));
            assert!(!files.is_empty(), "{client}");
            for file in files {
                let path = file.path.display();
                assert!(file.path.starts_with(base), "{path}");
                let text = file.with(None).unwrap();
                assert!(text.contains("bob") && text.contains("dev"), "{path}: {text}");
                assert!(file.is_in(&text) && !file.is_in(""), "{path}: {text}");
                assert_eq!(file.with(Some(&text)).unwrap(), text, "{path}");
                assert_eq!(file.without(&text, Before::Missing).unwrap(), None, "{path}");
            }
            assert!(!(client.profile().left_to_do)(scope).is_empty(), "{client}");
        }
    }
}

#[test]
fn every_hook_is_installed_under_a_name_that_we_know() {
    for client in AgentClient::ALL {
        // Where a plugin takes their place, there are none to install.
        let Some(hooks) = client.profile().hooks.as_ref().filter(|hooks| !hooks.events.is_empty()) else {
            continue;
        };
        for (event, name) in hooks.events {
            assert_eq!(HookEvent::parse(name), Some(*event), "{client} {name}");
        }
        let events: Vec<HookEvent> = hooks.events.iter().map(|(event, _)| *event).collect();
        assert!(events.contains(&HookEvent::SessionStart) && events.contains(&HookEvent::Stop), "{client}");
        let files = (client.profile().settings)(Scope::User, &folders(), &bob(Scope::User));
        let text: String = files.iter().map(|file| file.with(None).unwrap()).collect();
        for (_, name) in hooks.events {
            assert!(text.contains(&format!("\"{name}\": [")), "{client} {name}: {text}");
        }
    }
}

#[test]
fn whatever_wakes_a_member_is_some_clients_way_or_everybodys() {
    for manner in Manner::ALL {
        let of_everybody = [Manner::Auto, Manner::Rewake, Manner::Pane, Manner::None].contains(&manner);
        let clients = AgentClient::ALL
            .iter()
            .filter(|client| client.profile().wake.as_ref().is_some_and(|method| method.manner == manner));
        assert_eq!(clients.count(), usize::from(!of_everybody), "{manner}");
    }
    assert!(AgentClient::ALL.iter().any(|client| client.profile().has_rewake_hook));
}

/// A list of clients names these two. Whatever else needs a list filters `AgentClient::ALL`.
#[test]
fn there_is_no_second_list() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut sources = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        if folder.file_name().is_some_and(|name| name != "clients") {
            collect(&folder.join("src"), &mut sources);
        }
    }
    assert!(sources.len() > 100, "the sources were not found: {sources:?}");
    // Modules of tests have files of their own, or stand at the end of one.
    let is_test = |path: &PathBuf| {
        path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
    };
    for path in sources.into_iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(!(code.contains("codex") && code.contains("gemini")), "{} lists clients", path.display());
    }
}

/// Schemas are kept by hand.
#[test]
fn the_schema_of_answers_names_every_client() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/schemas/setup.json");
    let schema: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let names: Vec<&str> = AgentClient::ALL.iter().map(|client| client.as_str()).collect();
    assert_eq!(schema.pointer("/$defs/client/enum").unwrap(), &serde_json::json!(names));
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}
