//! Every row of the option table, as a chat names it in Lua and in JSON.

use super::*;
use crate::options::{OptionDef, Scope, find, leaves, nested, path_in_chat};

/// Sets an option to 1 on line 3 of the file. Brackets, because `local` is a keyword.
fn assigned(path: &str) -> [Source; 2] {
    let names = path.split('.').map(|name| format!("[\"{name}\"]"));
    let names: String = names.collect();
    let options = nested(path, json!(1));
    [
        lua(&format!("\nflemma.opt{names} = 1")),
        json_source(&format!("{{\"flemma\":\n{options}}}")),
    ]
}

fn is_in_chat(option: &OptionDef) -> bool {
    option.is_in(Scope::Frontmatter)
}

/// Returns the outermost table of the path that a chat cannot set, or else the path.
fn refused(path: &str) -> &str {
    let ends = path.match_indices('.').map(|(at, _)| &path[..at]);
    let mut tables = ends.filter(|table| find(table).is_some_and(|it| !is_in_chat(it)));
    tables.next().unwrap_or(path)
}

#[test]
fn an_option_of_the_user_is_refused_with_its_path_and_its_line() {
    for (path, _) in leaves().filter(|(_, option)| !is_in_chat(option)) {
        let expected = format!(
            "frontmatter line 3: {} can only be set in setup() or the configuration file.",
            refused(path)
        );
        for source in assigned(path_in_chat(path)) {
            assert_eq!(failure(&source).message, expected, "{path}");
        }
    }
}

#[test]
fn the_budgets_of_autopilot_are_options_of_the_user_and_its_switch_is_not() {
    for name in ["max_cost", "max_turns"] {
        let text = format!("flemma.opt.tools.autopilot.{name} = 3");
        let expected = format!(
            "frontmatter line 2: tools.autopilot.{name} can only be set in setup() or the configuration file."
        );
        assert_eq!(failure(&lua(&text)).message, expected);
    }
    let switched_off = json!({"tools": {"autopilot": {"enabled": false}}});
    for text in [
        "flemma.opt.tools.autopilot = false",
        "flemma.opt.tools.autopilot.enabled = false",
        "flemma.opt.tools.autopilot = { enabled = false }",
    ] {
        assert_eq!(overrides(text).values, switched_off, "{text}");
    }
}

#[test]
fn a_misspelled_option_is_reported_with_the_right_name() {
    for (path, option) in leaves().filter(|(_, option)| is_in_chat(option)) {
        let misspelled = format!("{}x", path_in_chat(path));
        let expected = format!(
            "frontmatter line 3: There is no option \"{misspelled}\". Did you mean \"{}\"?",
            option.name
        );
        for source in assigned(&misspelled) {
            assert_eq!(failure(&source).message, expected, "{path}");
        }
    }
}

#[test]
fn a_name_like_no_other_is_reported_with_those_that_a_chat_can_set() {
    for (text, expected) in [
        (
            "flemma.opt.tools.autopilot.colour = 1",
            "There is no option \"tools.autopilot.colour\". Options: enabled.",
        ),
        (
            "flemma.opt.tools.auto_approve.colour = 1",
            "There is no option \"tools.auto_approve.colour\".",
        ),
        (
            "flemma.opt.sandbox.policy.colour = 1",
            "There is no option \"sandbox.policy.colour\". Options: rw_paths, network, allow_privileged.",
        ),
    ] {
        let message = failure(&lua(text)).message;
        assert_eq!(message, format!("frontmatter line 2: {expected}"));
    }
    let message = failure(&lua("flemma.opt.colour = 1")).message;
    for (name, is_listed) in [("provider", true), ("thinking", true), ("keymaps", false)] {
        assert_eq!(
            message.contains(&format!(" {name},")),
            is_listed,
            "{message}"
        );
    }
}
