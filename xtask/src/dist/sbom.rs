//! What a program is made of, as `CycloneDX`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Release, text};
use crate::repo;

pub(super) fn make(release: &Release, program: &str) -> Result<PathBuf> {
    let mut cargo = repo::cargo(["metadata", "--format-version", "1", "--locked", "--filter-platform"])?;
    cargo.arg(&release.target);
    let metadata: Value = serde_json::from_str(&text(&mut cargo)?).context("cargo metadata")?;
    let document = document(&metadata, program, &release.version)?;
    let path = release.out.join(format!("{}.cdx.json", release.name(program)));
    fs::write(&path, serde_json::to_vec_pretty(&document)?)?;
    Ok(path)
}

fn document(metadata: &Value, program: &str, version: &str) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> = list(metadata, "packages")?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .context("cargo metadata resolves nothing")?
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let root = packages
        .iter()
        .find(|(_, package)| package["name"] == program && package["source"].is_null())
        .map(|(id, _)| *id)
        .with_context(|| format!("cargo metadata has no package {program}"))?;
    let used = used(&nodes, root);
    let components: Vec<Value> =
        used.iter().filter(|id| **id != root).filter_map(|id| component(packages.get(id)?)).collect();
    // Not by cargo's own ids, which name folders of this machine.
    let reference = |id: &str| packages.get(id).and_then(|package| purl(package));
    let dependencies: Vec<Value> = used
        .iter()
        .map(|id| {
            let on: Vec<String> =
                nodes.get(id).into_iter().flat_map(|node| needed(node)).filter_map(reference).collect();
            json!({ "ref": reference(id), "dependsOn": on })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": reference(root), "name": program, "version": version,
        } },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("cargo metadata has no {key}"))
}

/// Everything that a package is built from; not what only its tests need.
fn used<'a>(nodes: &BTreeMap<&'a str, &'a Value>, program: &'a str) -> BTreeSet<&'a str> {
    let mut met = BTreeSet::from([program]);
    let mut next = vec![program];
    while let Some(id) = next.pop() {
        for needed in nodes.get(id).into_iter().flat_map(|node| needed(node)) {
            if met.insert(needed) {
                next.push(needed);
            }
        }
    }
    met
}

/// What a package is built from directly.
fn needed(node: &Value) -> impl Iterator<Item = &str> {
    let is_built_from = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
    };
    let all = node["deps"].as_array().into_iter().flatten();
    all.filter(is_built_from).filter_map(|dependency| dependency["pkg"].as_str())
}

/// A package's name for all who list packages.
fn purl(package: &Value) -> Option<String> {
    Some(format!("pkg:cargo/{}@{}", package["name"].as_str()?, package["version"].as_str()?))
}

fn component(package: &Value) -> Option<Value> {
    let purl = purl(package)?;
    let mut component = json!({
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
    });
    if let Some(licence) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    Some(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_is_built_from_is_listed_and_what_its_tests_need_is_not() {
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/X", "source": source });
        let dependency = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("atm", Value::Null), package("a", json!("r")), package("b", json!("r")), package("t", json!("r"))],
            "resolve": { "nodes": [
                { "id": "atm", "deps": [dependency("a", Value::Null), dependency("t", json!("dev"))] },
                { "id": "a", "deps": [dependency("b", json!("build"))] },
                { "id": "b", "deps": [] },
                { "id": "t", "deps": [] },
            ] },
        });
        let document = document(&metadata, "atm", "0.1.0").unwrap();
        let names: Vec<&str> =
            list(&document, "components").unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR X");
        assert_eq!(
            document["dependencies"][0],
            json!({ "ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] })
        );
        assert_eq!(document["metadata"]["component"]["version"], "0.1.0");
    }
}
