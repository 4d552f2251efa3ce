//! What lists of names mean.

use super::*;

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn models_may_search_for_tools_where_any_tool_is_approved() {
    for (approve, deny, exclusions, expected) in [
        (&["read"][..], &[][..], &[][..], true),
        (&[], &[], &[], false),
        (&["read"], &["tool_search"], &[], false),
        (&["read"], &[], &["tool_search"], false),
        (&["read"], &["bash"], &["bash"], true),
    ] {
        let policy = Policy {
            approve: owned(approve).into_iter().collect(),
            deny: owned(deny).into_iter().collect(),
            ..Policy::default()
        };
        let searches = searching(policy, &owned(exclusions))
            .approve
            .contains(SEARCH);
        assert_eq!(searches, expected, "{approve:?} {deny:?} {exclusions:?}");
    }
}

#[test]
fn a_rule_for_a_tool_is_one_for_its_other_name() {
    let given = json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}}});
    let (settings, _) = Settings::read(&given, &Registry::builtin());
    let policy = |name: &str| settings.expand([name].into_iter(), &[]);
    assert!(policy("bash").approve.contains("shell"));
    assert!(policy("$no").deny.contains("shell"));
    assert!(!policy("read").approve.contains("shell"));
}

#[test]
fn commands_that_only_read_are_approved_in_a_shell_that_is_known() {
    for (shell, excluded, expected) in [
        ("bash", &[][..], true),
        ("/bin/dash", &[], true),
        ("/usr/bin/sh", &["write"], true),
        ("/usr/bin/fish", &[], false),
        ("bash", &["bash"], false),
        ("bash", &["$shell-safe"], false),
    ] {
        let given = json!({"tools": {"bash": {"shell": shell}}});
        let (settings, _) = Settings::read(&given, &Registry::builtin());
        let policy = settings.expand([SHELL_SAFE].into_iter(), &owned(excluded));
        assert_eq!(
            !policy.argument_rules.is_empty(),
            expected,
            "{shell} {excluded:?}"
        );
        assert!(policy.approve.is_empty(), "it is the name of no tool");
    }
    let (settings, _) = Settings::read(&json!({}), &Registry::builtin());
    let policy = settings.expand(["$default"].into_iter(), &[]);
    assert!(policy.argument_rules.is_empty());
}
