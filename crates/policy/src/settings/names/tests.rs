//! Names of tools, presets, and modules in the rules.

use serde_json::json;

use super::*;
use crate::options::Scope;

fn problems(tools: Value) -> Problems {
    let given = json!({"tools": tools});
    Settings::examine(&given, Scope::Setup, &Registry::builtin()).1
}

#[test]
fn a_name_with_a_dot_is_a_module_unless_it_is_one_of_ours() {
    for (name, expected) in [
        ("my.rules", true),
        ("read", false),
        ("urn:flemma:approval:x.y", false),
        ("urn:flemma:approval:x", false),
    ] {
        assert_eq!(is_module(name), expected, "{name}");
    }
}

#[test]
fn names_that_mean_nothing_are_reported() {
    for (tools, expected) in [
        (
            json!({"auto_approve": ["$zzz"]}),
            "tools.auto_approve: nothing is named \"$zzz\".",
        ),
        (
            json!({"presets": {"x": {"approve": ["read"]}}}),
            "tools.presets: the name \"x\" must start with \"$\".",
        ),
        (json!({"presets": {"$x": {"approve": ["read"]}}}), ""),
        (
            json!({"offer": ["grpe"]}),
            "tools.offer: nothing is named \"grpe\". Did you mean \"grep\"?",
        ),
    ] {
        assert_eq!(problems(tools.clone()).all().concat(), expected, "{tools}");
    }
    let hosts = problems(json!({"http_get": {"allow": ["not a host"]}})).all();
    assert!(hosts[0].starts_with("tools.http_get.allow: "), "{hosts:?}");
}

#[test]
fn tools_that_are_still_to_come_are_listed() {
    let approve = ["$default", "web_search", "read", "task", "my.rules"];
    let problems = problems(json!({"auto_approve": approve, "offer": ["later"]}));
    assert_eq!(problems.missing, ["web_search", "task"]);
    assert_eq!(problems.remarks.len(), 3);
}
