//! Which calls rules approve, hostile variants of them, the file, and the rules that are offered.
#![allow(clippy::unwrap_used)]

mod hostile;

use std::path::{Path, PathBuf};

use chat::approval::CallKey;
use chat::json::canonical;
use chat::tool::ToolUseId;
use serde_json::{Value, json};
use tools::{ShellLists, leads_to};

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
        runs_in: "/p".into(),
        has_known_shell: true,
        reading: Vec::new(),
    }
}

fn bash(command: &str) -> CallFacts {
    CallFacts {
        reading: tools::reading_parts(command, &ShellLists::default(), None),
        ..call(
            "bash",
            json!({"label": "", "command": command, "timeout": null}),
        )
    }
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
    always(AllowedCalls::Command {
        words,
        with_any,
        folder: None,
    })
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
    let rules = [command("cargo test", true), command("tee -a", false)];
    let names = |line: &str| approving(&rules, &bash(line));
    assert_eq!(
        names("cargo test -q 2>&1 | tee -a").as_deref(),
        Some("cargo test with any arguments, tee -a")
    );
    assert_eq!(names("cargo test | tee -i"), None);
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
fn beside_a_rule_parts_that_only_read_pass() {
    let rules = [
        command("make", false),
        command("xargs rm", false),
        command("cargo test", true),
    ];
    for line in [
        "make | tail -3",
        "make 2>&1 | grep error | head -n 5",
        "ls && make",
        "make && ls 2>&1",
        "make; cat Makefile",
        "cargo test -q || tail -3 log",
    ] {
        assert!(is_approved(&rules, &bash(line)), "{line}");
    }
    for line in [
        // They need a rule.
        "make | tee log",
        "make | sh",
        "make && rm x",
        "make | tail -3 > log",
        // They change what the command with a rule does.
        "cd /tmp && make",
        "ls; cd /tmp; make",
        "cat list | xargs rm",
        "cat list | sort | xargs rm",
        "tail -3 | make",
        // No rule approves them.
        "ls | tail -3",
        "ls",
    ] {
        assert!(!is_approved(&rules, &bash(line)), "{line}");
    }
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
                "cargo fmt and cargo test --lib",
                "cargo fmt with any arguments and cargo test with any arguments",
            ],
        ),
        ("make 2>&1 | tail -40", &["make"]),
        // A command that asks although it only reads.
        (
            "ls | tail -40",
            &["ls and tail -40", "ls and tail with any arguments"],
        ),
        ("head -n 20 a", &["head -n 20 a", "head with any arguments"]),
        ("tail -n40 a", &["tail -n40 a", "tail with any arguments"]),
        ("tail a -40", &["tail a -40", "tail a with any arguments"]),
        // What the second command does depends on the first.
        (
            "echo 5 | xargs rm",
            &[
                "echo 5 and xargs rm",
                "echo with any arguments and xargs rm",
            ],
        ),
        ("git log -5", &["git log -5"]),
        ("kill 123", &["kill 123"]),
        ("make -j4", &["make -j4"]),
        ("cd src && make", &["cd src and make"]),
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
                ("cargo test -q and tee -a", 2),
                (&format!("{any} and tee -a"), 2),
            ],
        ),
        (
            &[command("cargo test", true)],
            [
                ("tee -a (besides cargo test -q)", 1),
                (&format!("tee -a (besides {any})"), 1),
            ],
        ),
        (
            // A rule for exactly this command is not one for any arguments.
            &[command("cargo test -q", false)],
            [
                ("tee -a (besides cargo test -q)", 1),
                (&format!("{any} and tee -a"), 2),
            ],
        ),
        (
            &[command("cargo test", true), command("tee -a", false)],
            [
                ("cargo test -q and tee -a", 0),
                (&format!("{any} and tee -a"), 0),
            ],
        ),
    ];
    for (rules, expected) in rows {
        let expected = expected.map(|(name, count)| (name.to_owned(), count));
        let added = added(rules, "cargo test -q | tee -a", &AllowScope::Always);
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
            command("cargo fmt", true).calls,
            command("cargo fmt x", false).calls,
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

#[test]
fn a_command_rule_applies_only_where_the_same_words_run_the_same_program() {
    let runs_in = |folder: &str, command: &str| CallFacts {
        runs_in: folder.into(),
        ..bash(command)
    };
    for scope in [
        AllowScope::Always,
        AllowScope::Project("/p".into()),
        AllowScope::Chat("/p/a.chat".into()),
    ] {
        for (command, here, elsewhere) in [
            ("./run.sh", "/p", vec!["/p/docs", "/other"]),
            ("./run.sh", "/p/docs", vec!["/p", "/other"]),
            ("scripts/run --fast", "/other", vec!["/p", "/other/a"]),
            ("../run", "/p/docs", vec!["/p", "/p/a"]),
        ] {
            let made = runs_in(here, command);
            for offer in offers(&made).unwrap() {
                let rules = offer.addition(&scope, &[], &made).rules;
                assert!(is_approved(&rules, &made), "{scope:?} {command} {here}");
                assert_eq!(offer.addition(&scope, &rules, &made).rules, []);
                for other in elsewhere.iter().map(|it| runs_in(it, command)) {
                    assert!(!is_approved(&rules, &other), "{scope:?} {command} {here}");
                }
            }
        }
        // A program of the machine, such as `make`, runs what is in the project.
        let made = runs_in("/p/docs", "make");
        let rules = offers(&made).unwrap()[0].addition(&scope, &[], &made).rules;
        let is_always = scope == AllowScope::Always;
        for (folder, is_same) in [("/p", true), ("/p/a", true), ("/other", is_always)] {
            let facts = runs_in(folder, "make");
            assert_eq!(is_approved(&rules, &facts), is_same, "{scope:?} {folder}");
        }
    }
    // Written by hand, without a folder, it could be any file.
    assert!(!is_approved(
        &[command("./run.sh", false)],
        &bash("./run.sh")
    ));
}
