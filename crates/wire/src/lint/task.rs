//! The rules of tasks and of status reports.

use super::rules::Rule;
use super::scope::{Scope, kind_of};
use super::time;
use crate::json::{Object, elements, string};
use crate::name::excerpt;
use crate::status::State;
use crate::task::{Status, Task};

const TASK_KEYS: [&str; 9] =
    ["id", "subject", "description", "activeForm", "status", "blocks", "blockedBy", "owner", "metadata"];

/// Checks a task whose file is called `stem`, where that is known.
pub(super) fn check(scope: &mut Scope<'_, '_>, object: &Object<'_>, stem: Option<&str>) {
    let raw = |key: &str| object.get(key).map_or("", |raw| raw.get());
    match (Task::parse(scope.text), stem) {
        (Err(flaw), _) => scope.whole(Rule::TaskNoId, || flaw.to_string()),
        (Ok(task), Some(stem)) if task.id != stem => {
            scope.at(Rule::TaskOtherFile, raw("id"), "id", || {
                format!("has the id \"{}\" in the file \"{}.json\"", excerpt(&task.id), excerpt(stem))
            });
        }
        _ => {}
    }
    for key in ["subject", "description", "status"] {
        if object.get(key).is_none() {
            scope.whole(Rule::TaskLacks, || format!("has no `{key}`"));
        }
    }
    for key in ["id", "subject", "description", "activeForm", "status", "owner"] {
        if let Some(value) = object.get(key).filter(|value| string(value).is_none()) {
            scope.at(Rule::TaskWrongType, value.get(), key, || {
                format!("has a `{key}` that is {}, not a string", kind_of(value))
            });
        }
    }
    if let Some(Status::Other(word)) = object.string("status").map(|word| Status::parse(&word)) {
        scope.at(Rule::TaskStatusUnknown, raw("status"), "status", || {
            format!("has the status \"{}\"", excerpt(&word))
        });
    }
    for key in ["blocks", "blockedBy"] {
        let Some(value) = object.get(key) else { continue };
        let strings = elements(value.get()).is_ok_and(|ids| ids.iter().all(|id| string(id).is_some()));
        if !strings {
            scope.at(Rule::TaskWrongType, value.get(), key, || {
                format!("has a `{key}` that is no array of strings")
            });
        }
    }
    if let Some(value) = object.get("metadata").filter(|value| !value.get().starts_with('{')) {
        scope.at(Rule::TaskWrongType, value.get(), "metadata", || {
            format!("has a `metadata` that is {}, not an object", kind_of(value))
        });
    }
    for (key, value) in object.iter().filter(|(key, _)| !TASK_KEYS.contains(key)) {
        scope.at(Rule::TaskExtraKey, value.get(), key, || format!("has the key `{}`", excerpt(key)));
    }
}

/// Checks a status report of the member `name`, where that is known.
pub(super) fn check_status(scope: &mut Scope<'_, '_>, object: &Object<'_>, name: Option<&str>) {
    let raw = |key: &str| object.get(key).map_or("", |raw| raw.get());
    for key in ["agentId", "status", "startedAt", "lastActiveAt"] {
        if object.get(key).is_none() {
            scope.whole(Rule::StatusLacks, || format!("has no `{key}`"));
        }
    }
    for key in ["agentId", "status", "errorMessage"] {
        if let Some(value) = object.get(key).filter(|value| string(value).is_none()) {
            scope.at(Rule::StatusWrongType, value.get(), key, || {
                format!("has a `{key}` that is {}, not a string", kind_of(value))
            });
        }
    }
    for key in ["startedAt", "lastActiveAt", "completedAt"] {
        time::check(scope, object, key, Rule::StatusWrongType, Rule::EpochTime);
    }
    if let Some(State::Other(word)) = object.string("status").map(|word| State::parse(&word)) {
        scope.at(Rule::StatusUnknown, raw("status"), "status", || {
            format!("has the status \"{}\"", excerpt(&word))
        });
    }
    if let (Some(id), Some(name)) = (object.string("agentId"), name) {
        let member = id.split_once('@').map_or(id.as_ref(), |(member, _)| member);
        if member != name {
            scope.at(Rule::StatusOtherMember, raw("agentId"), "agentId", || {
                format!("is of \"{}\" in the folder \"{}\"", excerpt(&id), excerpt(name))
            });
        }
    }
    let Some(metrics) = object.get("metrics") else { return };
    let Ok(numbers) = Object::parse(metrics.get()) else {
        return scope.at(Rule::StatusWrongType, metrics.get(), "metrics", || {
            format!("has `metrics` that are {}, not an object", kind_of(metrics))
        });
    };
    for (key, value) in numbers.iter().filter(|(_, value)| kind_of(value) != "a number") {
        scope.at(Rule::StatusWrongType, value.get(), "metrics", || {
            format!("has a `metrics.{}` that is {}, not a number", excerpt(key), kind_of(value))
        });
    }
}
