//! Which calls rules approve, hostile variants of them, the file, and the rules that are offered.
#![allow(clippy::unwrap_used)]

mod file;
mod hostile;

use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use chat::json::canonical;
use chat::tool::ToolUseId;
use serde_json::{Value, json};
use tools::leads_to;

use super::{AllowRule, AllowScope, AllowedCalls, CallFacts, RuleOffer, approving, offers};

/// A call in the chat `/p/a.chat` of the project `/p`.
fn call(name: &str, input: Value) -> CallFacts {
    CallFacts {
        call: CallKey {
            id: ToolUseId::new("t"),
            name: name.to_owned(),
            input: canonical(&input),
        },
        input,
        files: Vec::new(),
        project: "/p".into(),
        chat: Some("/p/a.chat".into()),
        has_known_shell: true,
    }
}

fn bash(command: &str) -> CallFacts {
    call(
        "bash",
        json!({"label": "", "command": command, "timeout": null}),
    )
}

fn edits(paths: &[&str]) -> CallFacts {
    CallFacts {
        files: paths.iter().map(PathBuf::from).collect(),
        ..call("edit", json!({}))
    }
}

fn always(calls: AllowedCalls) -> AllowRule {
    AllowRule {
        calls,
        scope: AllowScope::Always,
    }
}

fn command(words: &str, with_any: bool) -> AllowRule {
    let words = words.split(' ').map(str::to_owned).collect();
    always(AllowedCalls::Command { words, with_any })
}

fn is_approved(rules: &[AllowRule], facts: &CallFacts) -> bool {
    approving(rules, facts).is_some()
}

#[test]
fn a_command_is_approved_by_its_exact_words_or_with_any_arguments() {
    let exact = [command("cargo test", false)];
    let any = [command("cargo test", true)];
    for (line, by_exact, by_any) in [
        ("cargo test", true, true),
        ("cargo test -q", false, true),
        ("cargo", false, false),
        ("cargo testing", false, false),
        ("cargo build", false, false),
    ] {
        assert_eq!(is_approved(&exact, &bash(line)), by_exact, "{line}");
        assert_eq!(is_approved(&any, &bash(line)), by_any, "{line}");
    }
}

#[test]
fn each_part_of_a_command_needs_a_rule() {
    let rules = [command("cargo test", true), command("tail -5", false)];
    let names = |line: &str| approving(&rules, &bash(line));
    assert_eq!(
        names("cargo test -q 2>&1 | tail -5").as_deref(),
        Some("cargo test with any arguments, tail -5")
    );
    assert_eq!(names("cargo test | tail -6"), None);
    assert_eq!(names("cargo test; rm -rf x"), None);
}

#[test]
fn a_rule_applies_in_its_project_or_chat_only() {
    let calls = || command("make", false).calls;
    let rule = |scope| {
        [AllowRule {
            calls: calls(),
            scope,
        }]
    };
    let project = |path: &str| rule(AllowScope::Project(path.into()));
    let chat = |path: &str| rule(AllowScope::Chat(path.into()));
    assert!(is_approved(&project("/p"), &bash("make")));
    assert!(!is_approved(&project("/"), &bash("make")));
    assert!(!is_approved(&project("/p/sub"), &bash("make")));
    assert!(is_approved(&chat("/p/a.chat"), &bash("make")));
    assert!(!is_approved(&chat("/p/b.chat"), &bash("make")));
    let unnamed = CallFacts {
        chat: None,
        ..bash("make")
    };
    assert!(!is_approved(&chat("/p/a.chat"), &unnamed));
}

#[test]
fn edits_are_approved_if_all_files_are() {
    let rules = [
        always(AllowedCalls::Below("/p/src".into())),
        always(AllowedCalls::File("/p/README".into())),
    ];
    for (paths, expected) in [
        (&["/p/src/a"][..], true),
        (&["/p/src/deep/a", "/p/README"], true),
        (&["/p/src/a", "/p/Makefile"], false),
        (&["/p/src"], false),
        (&["/p/src2/a"], false),
        (&["/p/SRC/a"], false),
        (&["/p/README/a"], false),
        (&[], false),
    ] {
        assert_eq!(is_approved(&rules, &edits(paths)), expected, "{paths:?}");
    }
}

#[test]
fn other_tools_are_approved_by_name_or_with_their_arguments() {
    let tool = |input: Option<Value>| {
        let input = input.map(|it| canonical(&it));
        [always(AllowedCalls::Tool {
            name: "fetch".to_owned(),
            input,
        })]
    };
    let one = json!({"a": 1});
    assert!(is_approved(&tool(None), &call("fetch", one.clone())));
    assert!(is_approved(
        &tool(Some(one.clone())),
        &call("fetch", one.clone())
    ));
    assert!(!is_approved(
        &tool(Some(one.clone())),
        &call("fetch", json!({"a": 2}))
    ));
    assert!(!is_approved(&tool(None), &call("fetch2", one)));
}

fn offered(facts: &CallFacts) -> Vec<String> {
    let offers = offers(facts).unwrap();
    // Each of them must approve the call that it was made for.
    for offer in &offers {
        let rules: Vec<AllowRule> = offer.calls.iter().cloned().map(always).collect();
        assert!(is_approved(&rules, facts), "{}", offer.name);
    }
    offers.into_iter().map(|it| it.name).collect()
}

#[test]
fn the_narrowest_useful_rules_are_offered() {
    let rows: &[(&str, &[&str])] = &[
        (
            "cargo test -q",
            &["cargo test -q", "cargo test with any arguments"],
        ),
        (
            "pytest tests/a.py",
            &["pytest tests/a.py", "pytest with any arguments"],
        ),
        ("rm -rf target", &["rm -rf target"]),
        ("env rm x", &["env rm x"]),
        ("npm run build", &["npm run build"]),
        ("git -c a=b log", &["git -c 'a=b' log"]),
        (
            "cargo fmt && cargo test --lib | tail -5",
            &[
                "cargo fmt and cargo test --lib and tail -5",
                "cargo fmt with any arguments and cargo test with any arguments and tail -5",
            ],
        ),
    ];
    for (line, expected) in rows {
        let expected: Vec<String> = expected
            .iter()
            .map(|it| it.replace("'a=b'", "a=b"))
            .collect();
        assert_eq!(offered(&bash(line)), expected, "{line}");
    }
    assert_eq!(
        offers(&bash("make > log")),
        Err("a redirection into a file")
    );
}

/// What each offer for a command in this chat adds to rules.
fn added(rules: &[AllowRule], line: &str, scope: &AllowScope) -> Vec<(String, usize)> {
    let facts = bash(line);
    let offers = offers(&facts).unwrap().into_iter();
    let added = offers.map(|offer| {
        let added = offer.addition(scope, rules, &facts);
        let all = [rules, &added.rules].concat();
        assert!(is_approved(&all, &facts), "{}", added.name);
        (added.name, added.rules.len())
    });
    added.collect()
}

/// Rules that exist, and the name and number of rules of each offer.
type Offered<'a> = (&'a [AllowRule], [(&'a str, usize); 2]);

#[test]
fn an_offer_names_the_parts_of_a_command_that_have_no_rule_yet() {
    let any = "cargo test with any arguments";
    let rows: &[Offered<'_>] = &[
        (
            &[],
            [
                ("cargo test -q and tail -5", 2),
                (&format!("{any} and tail -5"), 2),
            ],
        ),
        (
            &[command("cargo test", true)],
            [
                ("tail -5 (besides cargo test -q)", 1),
                (&format!("tail -5 (besides {any})"), 1),
            ],
        ),
        (
            // A rule for exactly this command is not one for any arguments.
            &[command("cargo test -q", false)],
            [
                ("tail -5 (besides cargo test -q)", 1),
                (&format!("{any} and tail -5"), 2),
            ],
        ),
        (
            &[command("cargo", true), command("tail -5", false)],
            [
                ("cargo test -q and tail -5", 0),
                (&format!("{any} and tail -5"), 0),
            ],
        ),
    ];
    for (rules, expected) in rows {
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        let added = added(rules, "cargo test -q | tail -5", &AllowScope::Always);
        assert_eq!(added, expected, "{rules:?}");
    }
}

#[test]
fn a_rule_counts_only_where_all_of_the_offer_applies() {
    let chat = AllowScope::Chat("/p/a.chat".into());
    let project = AllowScope::Project("/p".into());
    let other = AllowScope::Project("/q".into());
    for (of_rule, of_offer, missing) in [
        (&AllowScope::Always, &chat, 0),
        (&project, &chat, 0),
        (&project, &project, 0),
        (&chat, &project, 1),
        (&project, &AllowScope::Always, 1),
        (&other, &project, 1),
        (&other, &chat, 1),
    ] {
        let rule = AllowRule {
            scope: of_rule.clone(),
            ..command("make", false)
        };
        let offer = &offers(&bash("make")).unwrap()[0];
        let added = offer.addition(of_offer, &[rule], &bash("make"));
        assert_eq!(added.rules.len(), missing, "{of_rule:?} {of_offer:?}");
    }
}

#[test]
fn a_rule_covers_narrower_ones() {
    let facts = edits(&["/p/src/deep/a"]);
    let below = |path: &str| AllowedCalls::Below(path.into());
    let file = |path: &str| AllowedCalls::File(path.into());
    let tool = |name: &str, input: Option<&str>| AllowedCalls::Tool {
        name: name.to_owned(),
        input: input.map(str::to_owned),
    };
    for (rule, offer, missing) in [
        (below("/p/src"), file("/p/src/deep/a"), 0),
        (below("/p/src"), below("/p/src/deep"), 0),
        (below("/p/src"), below("/p/src"), 0),
        (below("/p/src"), file("/p/src"), 1),
        (below("/p/src"), file("/p/src2/a"), 1),
        (below("/p/src/deep"), below("/p/src"), 1),
        (file("/p/src/deep/a"), below("/p/src/deep"), 1),
        (tool("fetch", None), tool("fetch", Some("{}")), 0),
        (tool("fetch", None), tool("fetch2", Some("{}")), 1),
        (tool("fetch", Some("{}")), tool("fetch", None), 1),
        (
            command("make", false).calls,
            command("make x", false).calls,
            1,
        ),
        (
            command("make", true).calls,
            command("make x", false).calls,
            0,
        ),
    ] {
        let (name, calls) = (offer.name(), vec![offer]);
        let offer = RuleOffer { name, calls };
        let added = offer.addition(&AllowScope::Always, &[always(rule.clone())], &facts);
        assert_eq!(added.rules.len(), missing, "{rule:?} {}", offer.name);
    }
}

#[test]
fn rules_for_edits_are_offered_up_to_the_projects_top_folders() {
    let rows: &[(&[&str], &[&str])] = &[
        (
            &["/p/src/a/b.rs"],
            &[
                "edits of /p/src/a/b.rs",
                "edits below /p/src/a/",
                "edits below /p/src/",
            ],
        ),
        (
            &["/p/src/b.rs"],
            &["edits of /p/src/b.rs", "edits below /p/src/"],
        ),
        (&["/p/Makefile"], &["edits of /p/Makefile"]),
        (&["/other/src/b.rs"], &["edits of /other/src/b.rs"]),
        (
            &["/p/src/a.rs", "/p/src/b.rs"],
            &[
                "edits of /p/src/a.rs and edits of /p/src/b.rs",
                "edits below /p/src/",
            ],
        ),
        (
            &["/p/src/a.rs", "/p/tests/b.rs"],
            &["edits of /p/src/a.rs and edits of /p/tests/b.rs"],
        ),
    ];
    for (paths, expected) in rows {
        assert_eq!(offered(&edits(paths)), *expected, "{paths:?}");
    }
}

#[test]
fn no_rule_is_offered_for_a_call_inside_another_or_in_another_folder() {
    assert!(offers(&call("execute_tool", json!({}))).is_err());
    assert!(
        offers(&call(
            "shell",
            json!({"command": "ls", "working_dir": "/x"})
        ))
        .is_err()
    );
    let other_shell = CallFacts {
        has_known_shell: false,
        ..bash("make")
    };
    assert!(offers(&other_shell).is_err());
    assert!(!is_approved(&[command("make", false)], &other_shell));
}

/// What a path leads to from a folder.
fn real(folder: &Path, path: &str) -> PathBuf {
    leads_to(&folder.join(path))
}
