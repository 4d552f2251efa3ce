//! A chat's frontmatter over the user's options.
#![allow(clippy::unwrap_used)]

use chat::approval::{Verdict, decide_in_general};
use chat::tool::ToolUseId;
use serde_json::json;

use super::*;
use crate::frontmatter::{Source as Text, evaluate};
use crate::options::NetworkPolicy;

fn rules(given: &Value, frontmatter: &str, trusted: bool) -> Rules {
    let registry = Registry::builtin();
    let (settings, _) = Settings::read(given, &registry);
    let source = Text {
        language: "lua".to_owned(),
        text: frontmatter.to_owned(),
        first_line: 2,
        file: None,
    };
    let result = evaluate(&source, &known(&settings, &registry));
    let text = frontmatter.to_owned();
    Rules::with(
        &Rules::plain(&settings, &registry),
        &registry,
        Reading {
            text,
            result,
            trusted,
        },
    )
}

fn key(tool: &str) -> CallKey {
    CallKey {
        id: ToolUseId::new("x"),
        name: tool.to_owned(),
        input: "{}".to_owned(),
    }
}

fn decision(rules: &Rules, tool: &str) -> Option<Decision> {
    match decide_in_general(&rules.options.chain, &key(tool)) {
        Verdict::Decided(decision, _) => Some(decision),
        Verdict::Ask(_) => None,
    }
}

const APPROVE: Option<Decision> = Some(Decision::Approve);

const WAIT: Option<Decision> = Some(Decision::RequireApproval);

#[test]
fn a_frontmatter_tightens_whether_it_is_trusted_or_not() {
    for trusted in [true, false] {
        let rules = rules(
            &json!({}),
            "flemma.opt.tools.auto_approve = { \"$readonly\" }",
            trusted,
        );
        assert_eq!(decision(&rules, "read"), APPROVE);
        assert_eq!(decision(&rules, "write"), WAIT);
        assert!(rules.withheld.is_empty());
    }
}

#[test]
fn what_loosens_waits_for_trust_and_is_named() {
    let more = "flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }";
    assert_eq!(decision(&rules(&json!({}), more, true), "bash"), APPROVE);
    let untrusted = rules(&json!({}), more, false);
    assert_eq!(decision(&untrusted, "bash"), WAIT);
    assert_eq!(decision(&untrusted, "read"), APPROVE);
    assert_eq!(untrusted.withheld[0].line, 2);
    let always = rules(&json!({"trust": {"frontmatter": "always"}}), more, false);
    assert_eq!(decision(&always, "bash"), APPROVE);
}

#[test]
fn what_the_options_deny_stays_denied_whatever_a_trusted_frontmatter_says() {
    let deny = json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$default", "$no"]}});
    for names in ["{ \"bash\" }", "{ \"$default\", \"bash\" }"] {
        let text = format!("flemma.opt.tools.auto_approve = {names}");
        let rules = rules(&deny, &text, true);
        for tool in ["bash", "shell"] {
            assert_eq!(
                decision(&rules, tool),
                Some(Decision::Deny),
                "{names} {tool}"
            );
        }
        assert_eq!(rules.overruled, ["bash"]);
    }
    let text = "flemma.opt.tools.auto_approve = function() return true end";
    let rules = rules(&deny, text, true);
    assert_eq!(decision(&rules, "bash"), Some(Decision::Deny));
}

#[test]
fn rules_that_came_as_a_value_never_apply() {
    let registry = Registry::builtin();
    let (settings, _) = Settings::read(&json!({}), &registry);
    let overrides = Overrides {
        values: json!({"tools": {"auto_approve": ["bash"], "autopilot": {"enabled": false}}}),
        ..Overrides::default()
    };
    let applied = settings.with_chat(values(&overrides, |_| false));
    assert_eq!(applied.policy().decide("bash"), None);
    assert!(!applied.tools.autopilot.enabled);
}

#[test]
fn an_untrusted_function_approves_nothing_that_the_options_do_not() {
    let text = "flemma.opt.tools.auto_approve = function() return true end";
    let untrusted = rules(&json!({}), text, false);
    assert_eq!(untrusted.limited(&key("read"), APPROVE), APPROVE);
    assert_eq!(untrusted.limited(&key("bash"), APPROVE), WAIT);
    assert_eq!(untrusted.limited(&key("read"), WAIT), WAIT);
    let trusted = rules(&json!({}), text, true);
    assert_eq!(trusted.limited(&key("bash"), APPROVE), APPROVE);
}

#[test]
fn only_the_tools_of_the_chat_are_offered_and_can_run() {
    let rules = rules(&json!({}), "flemma.opt.tools = {\"bash\", \"read\"}", false);
    let offered: Vec<&str> = rules.offered.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(offered, ["bash", "read", "job_output", "job_stop"]);
    assert!(!rules.options.tools.contains_key("write"));
}

#[test]
fn the_tools_of_jobs_come_and_go_with_bash() {
    for (text, expected) in [
        (
            "flemma.opt.tools:remove(\"bash\")",
            &["calculator", "edit", "read", "write"][..],
        ),
        ("flemma.opt.tools = {\"job_output\", \"read\"}", &["read"]),
        (
            "flemma.opt.tools = {\"bash\"}",
            &["bash", "job_output", "job_stop"],
        ),
    ] {
        let rules = rules(&json!({}), text, false);
        let offered: Vec<&str> = rules.offered.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(offered, expected, "{text}");
    }
}

#[test]
fn autopilot_can_be_turned_off_by_a_chat_and_on_only_by_a_trusted_one() {
    assert!(
        !rules(&json!({}), "flemma.opt.tools.autopilot = false", false)
            .options
            .autopilot
    );
    let off = json!({"tools": {"autopilot": {"enabled": false}}});
    let on = "flemma.opt.tools.autopilot = true";
    assert!(!rules(&off, on, false).options.autopilot);
    assert!(rules(&off, on, true).options.autopilot);
}

#[test]
fn what_narrows_the_sandbox_applies_beside_what_waits_for_trust() {
    let text = "flemma.opt.sandbox = { policy = { network = false, rw_paths = { '/' } } }";
    let untrusted = rules(&json!({}), text, false);
    let policy = &untrusted.settings.sandbox.policy;
    assert!(
        policy.network == NetworkPolicy::Switch(false)
            && !policy.rw_paths.contains(&"/".to_owned())
    );
    assert_eq!(untrusted.withheld[0].option, "sandbox.policy.rw_paths");
    let trusted = rules(&json!({}), text, true);
    assert_eq!(trusted.settings.sandbox.policy.rw_paths, ["/"]);
}

#[test]
fn a_general_parameter_of_the_chat_beats_the_providers_own_of_the_options() {
    let given = json!({"parameters": {"anthropic": {"max_tokens": 1}, "temperature": 1}});
    let text = "flemma.opt.max_tokens = 8000\nflemma.opt.anthropic.thinking_budget = 20000";
    let rules = rules(&given, text, false);
    let parameter = |name: &str| rules.settings.parameter("anthropic", name).cloned();
    assert_eq!(parameter("max_tokens"), Some(json!(8000)));
    assert_eq!(parameter("thinking_budget"), Some(json!(20000)));
    assert_eq!(
        parameter("temperature").and_then(|it| it.as_f64()),
        Some(1.0)
    );
}

#[test]
fn whose_account_is_asked_waits_for_trust_like_anything_that_leads_elsewhere() {
    let given = json!({"parameters": {"vertex": {"project_id": "mine"}}});
    let text = "flemma.opt.vertex.project_id = 'theirs'\nflemma.opt.vertex.thinking_budget = 9";
    for (trusted, project) in [(false, "mine"), (true, "theirs")] {
        let rules = rules(&given, text, trusted);
        let parameter = |name: &str| rules.settings.parameter("vertex", name).cloned();
        assert_eq!(parameter("project_id"), Some(json!(project)));
        assert_eq!(parameter("thinking_budget"), Some(json!(9)));
    }
}

#[test]
fn a_chat_chooses_its_model_and_another_provider_only_with_trust() {
    let given = json!({
        "provider": "anthropic", "model": "mine",
        "parameters": {"anthropic": {"max_tokens": 7}},
        "presets": {"$near": "anthropic near max_tokens=9", "$far": "gemini far"},
    });
    let chosen = |text: &str, trusted| {
        let rules = rules(&given, text, trusted);
        let settings = &rules.settings;
        let max_tokens = settings.parameter(&settings.provider, "max_tokens");
        (
            settings.provider.clone(),
            settings.model.clone(),
            max_tokens.and_then(Value::as_u64),
            rules.withheld.len(),
        )
    };
    let anthropic = |model: &str, max_tokens, withheld| {
        (
            "anthropic".to_owned(),
            Some(model.to_owned()),
            Some(max_tokens),
            withheld,
        )
    };
    let model = "flemma.opt.model = 'other'";
    let near = "flemma.opt.model = '$near'";
    let far = "flemma.opt.model = '$far'";
    let provider = "flemma.opt.provider = 'openai'";
    let both = "flemma.opt.provider = 'openai'\nflemma.opt.model = 'gpt-5'";
    for trusted in [false, true] {
        assert_eq!(chosen(model, trusted), anthropic("other", 7, 0));
        assert_eq!(chosen(near, trusted), anthropic("near", 9, 0));
    }
    for text in [far, provider, both] {
        assert_eq!(chosen(text, false), anthropic("mine", 7, 1), "{text}");
    }
    let openai = |model: Option<&str>| ("openai".to_owned(), model.map(str::to_owned), None, 0);
    assert_eq!(chosen(far, true).0, "gemini");
    assert_eq!(chosen(provider, true), openai(None));
    assert_eq!(chosen(both, true), openai(Some("gpt-5")));
}

#[test]
fn a_preset_of_another_provider_than_the_chat_names_sends_nothing() {
    let given = json!({"presets": {"$far": "gemini far"}});
    let text = "flemma.opt.provider = 'openai'\nflemma.opt.model = '$far'";
    let rules = rules(&given, text, true);
    assert_eq!(rules.failure.map(|it| it.line), Some(3));
    assert!(matches!(&rules.options.frontmatter, Some(Err(why)) if why.contains("$far")));
}

#[test]
fn a_frontmatter_that_fails_blocks_the_cycle() {
    let rules = rules(&json!({}), "flemma.opt.tools = {\"bsah\"}", true);
    assert!(matches!(&rules.options.frontmatter, Some(Err(why)) if why.contains("bsah")));
}

fn plain(given: &Value) -> Rules {
    let registry = Registry::builtin();
    Rules::plain(&Settings::read(given, &registry).0, &registry)
}

fn command(command: &str) -> CallKey {
    CallKey {
        input: json!({"command": command}).to_string(),
        ..key("bash")
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    names.into_iter().map(String::as_str).collect()
}

#[test]
fn the_cycle_knows_which_tools_read_write_and_run_commands() {
    let options = plain(&json!({})).options;
    assert!(options.guarded.contains("write") && !options.guarded.contains("read"));
    assert!(options.reading.contains("read") && !options.reading.contains("bash"));
    let runs = |tool| options.commands.contains(tool);
    assert!(runs("bash") && runs("shell") && !runs("read"));
}

#[test]
fn commands_are_inspected_where_those_that_are_not_listed_are_denied() {
    for (unlisted, expected) in [("ask", &[][..]), ("deny", &["bash", "shell"])] {
        let options = plain(&json!({"tools": {"bash": {"unlisted": unlisted}}})).options;
        assert_eq!(names(&options.inspected), expected, "{unlisted}");
    }
}

#[test]
fn the_rules_decide_about_loaded_calls_only_where_the_user_says_so() {
    for (by, expected) in [("review", false), ("policy", true)] {
        let options = plain(&json!({"trust": {"unrecognized_calls": by}})).options;
        assert_eq!(options.trust_loaded_calls, expected, "{by}");
    }
}

#[test]
fn a_tool_that_a_message_addresses_is_offered_as_well() {
    let registry = Registry::builtin();
    let rules = Arc::new(plain(&json!({})));
    let addressing = |tools: &[&str]| {
        let tools = tools.iter().map(|it| (*it).to_owned()).collect();
        Arc::clone(&rules).addressing(&tools, &registry)
    };
    assert!(Arc::ptr_eq(&rules, &addressing(&["read", "nothing"])));
    let more = addressing(&["read", "grep", "nothing"]);
    assert_eq!(names(&more.addressed), ["grep"]);
    let offered: Vec<&str> = more.offered.iter().map(|it| it.name.as_str()).collect();
    assert!(
        offered.contains(&"grep") && offered.is_sorted(),
        "{offered:?}"
    );
}

#[test]
fn a_tool_of_the_chat_runs_under_its_other_name_too() {
    for (tool, expected) in [
        ("bash", &["bash", "job_output", "job_stop", "shell"][..]),
        ("calculator", &["calculator"]),
    ] {
        let rules = rules(
            &json!({}),
            &format!("flemma.opt.tools = {{'{tool}'}}"),
            false,
        );
        assert_eq!(names(rules.options.tools.keys()), expected);
    }
}

#[test]
fn the_line_of_the_model_is_that_of_the_choice_that_applies() {
    let line = |text: &str, trusted| rules(&json!({}), text, trusted).line_of_model();
    let model = "flemma.opt.thinking = 'low'\nflemma.opt.model = 'm'";
    let provider = "flemma.opt.provider = 'openai'";
    assert_eq!(line(model, false), Some(3));
    assert_eq!(line(provider, true), Some(2));
    assert_eq!(line(provider, false), None, "it waits for trust");
    assert_eq!(line("x = 1", true), None);
    assert_eq!(plain(&json!({})).line_of_model(), None);
}

#[test]
fn a_chat_that_names_no_model_does_not_fail_because_of_the_users_provider() {
    let rules = rules(&json!({"provider": "antropic"}), "x = 1", true);
    assert_eq!(rules.failure, None);
    assert_eq!(rules.settings.provider, "antropic");
}

#[test]
fn what_the_options_deny_no_answer_of_an_untrusted_function_changes() {
    let deny = json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$no"]}});
    let text = "flemma.opt.tools.auto_approve = function() end";
    let untrusted = rules(&deny, text, false);
    let denied = Some(Decision::Deny);
    for answer in [None, APPROVE, WAIT, denied] {
        assert_eq!(
            untrusted.limited(&key("bash"), answer),
            denied,
            "{answer:?}"
        );
    }
    for answer in [None, WAIT, denied] {
        assert_eq!(
            untrusted.limited(&key("read"), answer),
            answer,
            "{answer:?}"
        );
    }
    let trusted = rules(&deny, text, true);
    assert_eq!(
        trusted.limited(&key("bash"), None),
        None,
        "the chain denies it"
    );
}

#[test]
fn an_untrusted_list_approves_commands_that_read_only_where_the_options_do() {
    let list = "flemma.opt.tools.auto_approve = {'$shell-safe'}";
    for (own, trusted, expected) in [
        (json!(["$default"]), true, APPROVE),
        (json!(["$default"]), false, WAIT),
        (json!(["$shell-safe"]), false, APPROVE),
        (json!(["bash"]), false, APPROVE),
    ] {
        let given = json!({"tools": {"auto_approve": own}});
        let rules = rules(&given, list, trusted);
        let decide = |call: &CallKey| match decide_in_general(&rules.options.chain, call) {
            Verdict::Decided(decision, _) => Some(decision),
            Verdict::Ask(_) => None,
        };
        assert_eq!(decide(&command("ls")), expected, "{given}");
        assert_eq!(decide(&command("rm x")), WAIT, "{given}");
    }
}

#[test]
fn an_untrusted_list_keeps_what_the_options_deny() {
    let own = json!({"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["read", "$no"]});
    let text = "flemma.opt.tools.auto_approve = {'read', 'write'}";
    let rules = rules(&json!({"tools": own}), text, false);
    assert_eq!(decision(&rules, "bash"), Some(Decision::Deny));
    assert_eq!(decision(&rules, "read"), APPROVE);
    assert_eq!(decision(&rules, "write"), WAIT);
}

fn chosen(text: &str, trusted: bool) -> Value {
    let given = json!({"presets": {"$far": "gemini far"}});
    json!(rules(&given, text, trusted).chosen())
}

#[test]
fn the_tools_the_rules_and_the_model_of_a_chat_are_its_choice() {
    for (text, expected) in [
        ("x = 1", json!({})),
        ("flemma.opt.tools = {'bash'}", json!({"tools": ["bash"]})),
        (
            "flemma.opt.tools.auto_approve = {'read'}",
            json!({"tools.auto_approve": ["read"]}),
        ),
        (
            "flemma.opt.tools.auto_approve:remove('write')",
            json!({"tools.auto_approve": {"names": ["$default"], "without": ["write"]}}),
        ),
        (
            "flemma.opt.tools.auto_approve = function() end",
            json!({"tools.auto_approve": {"function": 0}}),
        ),
        ("flemma.opt.model = 'm'", json!({"model": "m"})),
        (
            "flemma.opt.provider = 'openai'\nflemma.opt.model = 'm'",
            json!({"provider": "openai", "model": "m"}),
        ),
    ] {
        assert_eq!(chosen(text, true), expected, "{text}");
    }
}

#[test]
fn what_waits_for_trust_is_no_choice() {
    for text in [
        "flemma.opt.tools.auto_approve = {'bash'}",
        "flemma.opt.provider = 'openai'\nflemma.opt.model = 'm'",
        "flemma.opt.model = '$far'",
    ] {
        assert_eq!(chosen(text, false), json!({}), "{text}");
    }
    assert_eq!(
        chosen("flemma.opt.model = 'm'", false),
        json!({"model": "m"})
    );
}

#[test]
fn a_chat_without_frontmatter_chooses_nothing() {
    let registry = Registry::builtin();
    let (settings, _) = Settings::read(&json!({}), &registry);
    assert!(Rules::plain(&settings, &registry).chosen().is_empty());
}
