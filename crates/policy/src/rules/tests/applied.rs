//! What the rules say of tools, commands, and the model.

use super::*;

fn plain(given: Value) -> Rules {
    let registry = Registry::builtin();
    Rules::plain(&Settings::read(&given, &registry).0, &registry)
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
    let options = plain(json!({})).options;
    assert!(options.guarded.contains("write") && !options.guarded.contains("read"));
    assert!(options.reading.contains("read") && !options.reading.contains("bash"));
    let runs = |tool| options.commands.contains(tool);
    assert!(runs("bash") && runs("shell") && !runs("read"));
}

#[test]
fn commands_are_inspected_where_those_that_are_not_listed_are_denied() {
    for (unlisted, expected) in [("ask", &[][..]), ("deny", &["bash", "shell"])] {
        let options = plain(json!({"tools": {"bash": {"unlisted": unlisted}}})).options;
        assert_eq!(names(&options.inspected), expected, "{unlisted}");
    }
}

#[test]
fn the_rules_decide_about_loaded_calls_only_where_the_user_says_so() {
    for (by, expected) in [("review", false), ("policy", true)] {
        let options = plain(json!({"trust": {"unrecognized_calls": by}})).options;
        assert_eq!(options.trust_loaded_calls, expected, "{by}");
    }
}

#[test]
fn a_tool_that_a_message_addresses_is_offered_as_well() {
    let registry = Registry::builtin();
    let rules = Arc::new(plain(json!({})));
    let addressing = |tools: &[&str]| {
        let tools = tools.iter().map(|it| (*it).to_owned()).collect();
        Arc::clone(&rules).addressing(tools, &registry)
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
        ("bash", &["bash", "shell"][..]),
        ("calculator", &["calculator"]),
    ] {
        let rules = rules(
            json!({}),
            &format!("flemma.opt.tools = {{'{tool}'}}"),
            false,
        );
        assert_eq!(names(rules.options.tools.keys()), expected);
    }
}

#[test]
fn the_line_of_the_model_is_that_of_the_choice_that_applies() {
    let line = |text: &str, trusted| rules(json!({}), text, trusted).line_of_model();
    let model = "flemma.opt.thinking = 'low'\nflemma.opt.model = 'm'";
    let provider = "flemma.opt.provider = 'openai'";
    assert_eq!(line(model, false), Some(3));
    assert_eq!(line(provider, true), Some(2));
    assert_eq!(line(provider, false), None, "it waits for trust");
    assert_eq!(line("x = 1", true), None);
    assert_eq!(plain(json!({})).line_of_model(), None);
}

#[test]
fn a_chat_that_names_no_model_does_not_fail_because_of_the_users_provider() {
    let rules = rules(json!({"provider": "antropic"}), "x = 1", true);
    assert_eq!(rules.failure, None);
    assert_eq!(rules.settings.provider, "antropic");
}

#[test]
fn what_the_options_deny_no_answer_of_an_untrusted_function_changes() {
    let deny = json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$no"]}});
    let text = "flemma.opt.tools.auto_approve = function() end";
    let untrusted = rules(deny.clone(), text, false);
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
    let trusted = rules(deny, text, true);
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
        let rules = rules(given.clone(), list, trusted);
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
    let rules = rules(json!({"tools": own}), text, false);
    assert_eq!(decision(&rules, "bash"), Some(Decision::Deny));
    assert_eq!(decision(&rules, "read"), APPROVE);
    assert_eq!(decision(&rules, "write"), WAIT);
}
