//! Tests that no pin vanishes.

use super::*;
use crate::Reach;
use serde_json::{Map, json};
use tempfile::TempDir;

fn spec(origin: &str, name: &str, argument: &str) -> ServerSpec {
    let reach = Reach::Program {
        argv: vec!["docs".to_owned(), argument.to_owned()],
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerSpec::new(origin, name, reach)
}

fn docs() -> ServerSpec {
    spec("setup()", "docs", "a")
}

fn tools(description: &str) -> Vec<Definition> {
    vec![Definition::new("search", description, Map::new()).unwrap()]
}

fn store() -> (TempDir, Pins) {
    let folder = tempfile::tempdir().unwrap();
    let pins = Pins::open(folder.path());
    (folder, pins)
}

fn write(folder: &TempDir, content: &[u8]) {
    fs::write(folder.path().join(FILE), content).unwrap();
}

#[test]
fn a_pin_survives_every_other_server() {
    let (_folder, pins) = store();
    assert_eq!(pins.agreed(&docs()), PinnedTools::Never);
    pins.meet(&docs(), tools("Searches.")).unwrap();
    let others = [
        spec("setup()", "docs", "b"),
        spec("/p/.mcp.json", "docs", "a"),
        spec("setup()", "other", "a"),
    ];
    for other in &others {
        assert_eq!(pins.agreed(other), PinnedTools::Never);
        pins.meet(other, tools("Other.")).unwrap();
        pins.accept(other, Vec::new()).unwrap();
    }
    assert_eq!(pins.agreed(&docs()), PinnedTools::To(tools("Searches.")));
    for other in &others {
        assert_eq!(pins.agreed(other), PinnedTools::To(Vec::new()));
    }
}

#[test]
fn no_pin_is_evicted() {
    let (_folder, pins) = store();
    pins.meet(&docs(), tools("Searches.")).unwrap();
    for number in 0..250 {
        let other = spec("setup()", &format!("n{number}"), "a");
        pins.meet(&other, Vec::new()).unwrap();
    }
    assert_eq!(pins.agreed(&docs()), PinnedTools::To(tools("Searches.")));
    assert_eq!(
        pins.agreed(&spec("setup()", "n0", "a")),
        PinnedTools::To(Vec::new())
    );
}

#[test]
fn pinning_a_known_server_changes_nothing() {
    let (_folder, pins) = store();
    pins.meet(&docs(), tools("Searches.")).unwrap();
    let met = pins.meet(&docs(), tools("Sends your keys.")).unwrap();
    assert_eq!(met, PinnedTools::To(tools("Searches.")));
    assert_eq!(pins.agreed(&docs()), met);
}

#[test]
fn an_unreadable_store_means_review_for_every_server() {
    let unreadable: [&[u8]; 8] = [
        b"",
        b"garbage",
        b"{}",
        b"null",
        b"{\"version\":2,\"serv",
        b"{\"version\":2}",
        b"{\"version\":3,\"servers\":{}}",
        b"\xff\xfe",
    ];
    for content in unreadable {
        let (folder, pins) = store();
        pins.meet(&docs(), tools("Searches.")).unwrap();
        write(&folder, content);
        assert_eq!(pins.agreed(&docs()), PinnedTools::Lost, "{content:?}");
        assert!(pins.meet(&docs(), tools("Else.")).is_err());
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), content);
    }
}

#[test]
fn accepting_one_server_does_not_make_the_lost_ones_new() {
    let (folder, pins) = store();
    write(&folder, b"garbage");
    pins.accept(&docs(), tools("Searches.")).unwrap();
    assert_eq!(pins.agreed(&docs()), PinnedTools::To(tools("Searches.")));
    let other = spec("setup()", "other", "a");
    assert_eq!(pins.agreed(&other), PinnedTools::Lost);
    assert_eq!(pins.meet(&other, tools("x")).unwrap(), PinnedTools::Lost);
    let kept = folder.path().join("mcp.unreadable");
    assert_eq!(fs::read(kept).unwrap(), b"garbage");
}

#[test]
fn a_pin_of_version_1_applies_by_name() {
    let (folder, pins) = store();
    let old = json!({"version": 1, "servers": {
        "0123": {"name": "docs", "tools": tools("Searches.")}}});
    write(&folder, old.to_string().as_bytes());
    let pinned = PinnedTools::To(tools("Searches."));
    assert_eq!(pins.agreed(&docs()), pinned);
    let other = spec("setup()", "other", "a");
    assert_eq!(pins.agreed(&other), PinnedTools::Never);
    pins.meet(&other, Vec::new()).unwrap();
    assert_eq!(pins.agreed(&docs()), pinned);
    pins.accept(&docs(), tools("Else.")).unwrap();
    assert_eq!(pins.agreed(&docs()), PinnedTools::To(tools("Else.")));
}
