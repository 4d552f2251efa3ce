//! The chain of resolvers that the options make.
//!
//! Also what lists of names mean.

use chat::approval::{Answers, CallKey, FunctionId, Verdict, decide, decide_in_general};
use chat::tool::ToolUseId;
use serde_json::{Value, json};

use super::*;
use crate::options::Scope;
use crate::settings::Resolvers;

fn item(name: &str, priority: i32, function: u64) -> RegisteredResolver {
    RegisteredResolver {
        name: name.to_owned(),
        priority,
        function,
        closed: false,
        from_options: false,
    }
}

fn chain(given: &Value, items: Vec<RegisteredResolver>, without: &[&str]) -> ResolverChain {
    let (mut settings, problems) = Settings::read(given, &Registry::builtin());
    assert_eq!(problems, Vec::<String>::new());
    settings.resolvers = Resolvers {
        items,
        without: without.iter().map(|it| (*it).to_owned()).collect(),
        ..Resolvers::default()
    };
    settings.chain(BTreeSet::new(), BTreeSet::new())
}

fn names(chain: &ResolverChain) -> Vec<&str> {
    chain
        .resolvers()
        .iter()
        .map(|it| it.name.as_str())
        .collect()
}

#[test]
fn the_registered_stand_among_our_own_by_their_priority() {
    let items = vec![
        item("late", -1, 1),
        item("plugin", 50, 2),
        item("first", 200, 3),
    ];
    let open = json!({"tools": {"require_approval": false}});
    assert_eq!(
        names(&chain(&open, items, &[])),
        [
            "first",
            CONFIG,
            FRONTMATTER,
            REMEMBERED,
            "plugin",
            CATCH_ALL,
            "late"
        ]
    );
}

#[test]
fn a_link_of_ours_can_be_taken_away_or_replaced() {
    let mine = item(CONFIG, 100, 1);
    let replaced = chain(&json!({}), vec![mine], &[CONFIG]);
    assert_eq!(names(&replaced), [CONFIG, FRONTMATTER, REMEMBERED]);
    let function = Function::resolver(1, OnError::Pass);
    assert_eq!(
        replaced.resolvers()[0].source,
        OpinionSource::Function(function)
    );
    assert_eq!(
        names(&chain(&json!({}), vec![], &[FRONTMATTER])),
        [CONFIG, REMEMBERED]
    );
}

#[test]
fn a_module_is_a_link_that_yields_to_the_frontmatter_and_no_tool_name() {
    let given = json!({"tools": {"auto_approve": ["$readonly", "my.rules"]}});
    let module = RegisteredResolver {
        from_options: true,
        ..item("my.rules", 100, 1)
    };
    let chain = chain(&given, vec![module], &[]);
    assert_eq!(names(&chain), ["my.rules", CONFIG, FRONTMATTER, REMEMBERED]);
    // Below the chat's own list they approve nothing, `read` not either.
    let tightened = chain.with_frontmatter(&OpinionSource::List(Policy::default()));
    let call = CallKey {
        id: ToolUseId::new("x"),
        name: "read".to_owned(),
        input: "{}".to_owned(),
    };
    let said = |decision| {
        let none = ((call.clone(), FunctionId::Remembered), None);
        Answers::from([((call.clone(), FunctionId::Editor(1)), decision), none])
    };
    for (said, expected) in [
        (said(Some(Decision::Approve)), Decision::RequireApproval),
        (said(None), Decision::RequireApproval),
        (said(Some(Decision::Deny)), Decision::Deny),
    ] {
        let verdict = decide(&tightened, &call, &said);
        assert!(matches!(verdict, Verdict::Decided(it, _) if it == expected));
    }
}

#[test]
fn a_module_that_nobody_answers_for_makes_all_calls_wait() {
    let given = json!({"tools": {"auto_approve": "my.rules", "require_approval": false}});
    let chain = chain(&given, vec![], &[]);
    assert_eq!(names(&chain)[0], "my.rules");
    assert_eq!(
        chain.resolvers()[0].source,
        OpinionSource::Always(Decision::RequireApproval)
    );
}

#[test]
fn an_exclusion_takes_an_approval_out_of_a_preset_and_never_a_denial() {
    let given = json!({"tools": {"presets": {"$x": {"approve": ["bash"], "deny": ["write"]}}}});
    let (settings, _) = Settings::read(&given, &Registry::builtin());
    let excluded = ["edit".to_owned(), "write".to_owned()];
    let policy = settings.expand(["$default", "$x"].into_iter(), &excluded);
    assert_eq!(policy.decide("read"), Some(Decision::Approve));
    assert_eq!(policy.decide("edit"), None);
    assert_eq!(policy.decide("write"), Some(Decision::Deny));
}

#[test]
fn a_harmless_tool_runs_unless_a_rule_denies_it_or_the_user_replaced_it() {
    let said = |given: Value, registry: &Registry| {
        let (settings, _) = Settings::read(&given, registry);
        let call = CallKey {
            id: ToolUseId::new("x"),
            name: "todo".to_owned(),
            input: "{}".to_owned(),
        };
        match decide_in_general(&settings.options(registry).chain, &call) {
            Verdict::Decided(decision, _) => decision,
            Verdict::Ask(_) => panic!("a function is asked"),
        }
    };
    let builtin = Registry::builtin();
    let none = json!({"tools": {"auto_approve": []}});
    assert_eq!(said(none.clone(), &builtin), Decision::Approve);
    let denied = json!({"tools": {"auto_approve": ["$x"], "presets": {"$x": {"deny": ["todo"]}}}});
    assert_eq!(said(denied, &builtin), Decision::Deny);
    // One of the user's own under that name may do anything.
    let mut replaced = Registry::builtin();
    let own = replaced.get("todo").into_iter().collect();
    replaced.set_source("lua", tools::Precedence::Own, own);
    assert_eq!(said(none, &replaced), Decision::RequireApproval);
}

#[test]
fn yes_approves_what_no_rule_and_no_list_of_the_command_line_decides() {
    let (mut settings, _) = Settings::read(&json!({}), &Registry::builtin());
    let mut policy = Policy::default();
    policy.approve.insert("http_get".to_owned());
    policy.deny.insert("write".to_owned());
    let by = |settings: &Settings, name: &str| {
        let call = CallKey {
            id: ToolUseId::new("t"),
            name: name.to_owned(),
            input: "{}".to_owned(),
        };
        let chain = settings.chain(BTreeSet::new(), BTreeSet::new());
        decide_in_general(&chain, &call)
    };
    let decided = |decision, by: &str| Verdict::Decided(decision, by.to_owned());
    for (yes, bash) in [
        (false, decided(Decision::RequireApproval, "")),
        (true, decided(Decision::Approve, COMMAND_LINE)),
    ] {
        settings.resolvers.command_line = CommandLineApproval {
            policy: policy.clone(),
            yes,
        };
        assert_eq!(by(&settings, "bash"), bash);
        let approved = decided(Decision::Approve, COMMAND_LINE);
        assert_eq!(by(&settings, "http_get"), approved);
    }
    settings.tools.auto_approve = json!([]);
    assert_eq!(
        by(&settings, "write"),
        decided(Decision::Deny, COMMAND_LINE)
    );
}

#[test]
fn the_command_line_decides_behind_all_functions_and_options() {
    let given = json!({"tools": {"require_approval": false}});
    let (mut settings, _) = Settings::read(&given, &Registry::builtin());
    settings.resolvers.items = vec![item("late", -1, 1)];
    let names_with = |rules| {
        let mut settings = settings.clone();
        let mut policy = Policy::default();
        policy.approve.insert("http_get".to_owned());
        policy.argument_rules = rules;
        settings.resolvers.command_line = CommandLineApproval { policy, yes: true };
        let chain = settings.chain(BTreeSet::new(), BTreeSet::new());
        let ours = chain
            .resolvers()
            .iter()
            .filter(|it| it.name == COMMAND_LINE);
        let holds_rules = |source: &OpinionSource| match source {
            OpinionSource::List(list) => !list.argument_rules.is_empty(),
            _ => false,
        };
        assert!(
            !ours.map(|it| &it.source).any(holds_rules),
            "a link of their own"
        );
        names(&chain).join(" ")
    };
    let before = [CONFIG, FRONTMATTER, REMEMBERED, CATCH_ALL, "late"].join(" ");
    let by_name = format!("{before} {COMMAND_LINE} {COMMAND_LINE}");
    assert_eq!(names_with(ArgumentRules::default()), by_name);
    let by_rule = format!("{by_name} {SHELL_SAFE_NAME}");
    assert_eq!(names_with(settings.shell_safe()), by_rule);
}

#[test]
fn denials_of_shell_commands_come_first_and_stay() {
    for (bash, expected) in [
        (json!({}), &[CONFIG, FRONTMATTER, REMEMBERED][..]),
        (
            json!({"allow": ["make"]}),
            &[CONFIG, FRONTMATTER, REMEMBERED],
        ),
        (
            json!({"deny": ["curl"]}),
            &[SHELL, CONFIG, FRONTMATTER, REMEMBERED],
        ),
        (
            json!({"unlisted": "deny"}),
            &[SHELL, CONFIG, FRONTMATTER, REMEMBERED],
        ),
    ] {
        let given = json!({"tools": {"bash": bash}});
        assert_eq!(names(&chain(&given, vec![], &[])), expected);
        assert_eq!(names(&chain(&given, vec![], &[SHELL])), expected);
    }
}

#[test]
fn listed_hosts_are_a_link_that_can_be_taken_away() {
    let given = json!({"tools": {"http_get": {"allow": ["docs.rs"]}}});
    let http = crate::settings::judges::HTTP;
    assert!(names(&chain(&given, vec![], &[])).contains(&http));
    assert!(!names(&chain(&given, vec![], &[http])).contains(&http));
}

#[test]
fn a_function_that_fails_denies_where_it_was_registered_so() {
    for (closed, on_error) in [(false, OnError::Pass), (true, OnError::Deny)] {
        let item = RegisteredResolver {
            closed,
            ..item("plugin", 200, 7)
        };
        let chain = chain(&json!({}), vec![item], &[]);
        let function = OpinionSource::Function(Function::resolver(7, on_error));
        assert_eq!(chain.resolvers()[0].source, function);
    }
}

#[test]
fn models_are_offered_the_usual_tools_and_those_that_the_options_name() {
    let registry = Registry::builtin();
    let offered = |given: Value| -> Vec<String> {
        let (settings, _) = Settings::read(&given, &registry);
        let offered = settings.offered(&registry).into_iter();
        offered.map(|it| it.name).collect()
    };
    let usual = offered(json!({}));
    assert!(usual.contains(&"read".to_owned()) && usual.is_sorted());
    let more = offered(json!({"tools": {"offer": ["grep"]}}));
    assert!(more.contains(&"grep".to_owned()) && more.is_sorted());
    assert_eq!(more.len(), usual.len() + 1);
}

#[test]
fn the_cycle_gets_the_options() {
    let autopilot = json!({"enabled": false, "max_turns": 7, "max_cost": 0.5});
    let given = json!({"tools": {
        "autopilot": autopilot, "max_concurrent": 2, "cursor_after_result": "next",
    }});
    let registry = Registry::builtin();
    let (settings, problems) = Settings::read(&given, &registry);
    assert_eq!(problems, [""; 0]);
    let options = settings.options(&registry);
    assert!(!options.autopilot);
    assert_eq!((options.max_turns, options.max_cost), (7, Some(0.5)));
    assert_eq!(options.max_concurrent, 2);
    assert_eq!(
        options.cursor_after_result,
        chat::cycle::CursorAfterResult::Next
    );
    for tool in ["bash", "shell", "grep"] {
        assert!(options.tools.contains_key(tool), "{tool}");
    }
}

#[test]
fn every_edit_waits_for_a_review_if_the_option_says_so() {
    let reviews = |given: Value| {
        let registry = Registry::builtin();
        Settings::read(&given, &registry)
            .0
            .options(&registry)
            .reviews
    };
    assert!(reviews(json!({"tools": {"review": "always"}})));
    assert!(!reviews(json!({})));
}

fn problems(tools: &Value) -> Problems {
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
            "tools.auto_approve: unknown name \"$zzz\".",
        ),
        (
            json!({"presets": {"x": {"approve": ["read"]}}}),
            "tools.presets: the name \"x\" must start with \"$\".",
        ),
        (json!({"presets": {"$x": {"approve": ["read"]}}}), ""),
        (
            json!({"offer": ["grpe"]}),
            "tools.offer: unknown name \"grpe\". Did you mean \"grep\"?",
        ),
    ] {
        assert_eq!(problems(&tools).all().concat(), expected, "{tools}");
    }
    let hosts = problems(&json!({"http_get": {"allow": ["not a host"]}})).all();
    assert!(hosts[0].starts_with("tools.http_get.allow: "), "{hosts:?}");
}

#[test]
fn tools_that_are_still_to_come_are_listed() {
    let approve = ["$default", "web_search", "read", "task", "my.rules"];
    let problems = problems(&json!({"auto_approve": approve, "offer": ["later"]}));
    assert_eq!(problems.missing, ["web_search", "task"]);
    assert_eq!(problems.remarks.len(), 3);
}

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
