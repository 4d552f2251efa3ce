//! Helpers for [`crate::Tool::describe`].

/// The model's purpose for the call as a comment, or an empty string.
pub(crate) fn label(label: &str) -> String {
    match label {
        "" => String::new(),
        label => format!("  # {label}"),
    }
}

/// Replaces leading and trailing spaces by a visible character, because `a` and `a ` are two
/// files.
pub(crate) fn visible_ends(path: &str) -> String {
    let inner = path.trim_matches(' ');
    let before = path.len() - path.trim_start_matches(' ').len();
    let after = path.len() - before - inner.len();
    format!("{}{inner}{}", "␣".repeat(before), "␣".repeat(after))
}

#[cfg(test)]
mod tests {
    use chat::preview::preview;
    use serde_json::{Value, json};

    use crate::Registry;

    #[track_caller]
    fn check(name: &str, input: Value, expected: &str) {
        assert_eq!(preview(&Registry::builtin(), name, &input, 80), expected);
    }

    #[test]
    fn the_built_in_tools_read_like_the_specification() {
        check(
            "calculator",
            json!({"expression": "2 + 2"}),
            "calculator: 2 + 2",
        );
        check(
            "calculator_async",
            json!({"expression": "sqrt(16)", "delay": 500}),
            "calculator_async: sqrt(16)  # 500ms",
        );
        check(
            "bash",
            json!({"command": "git status", "label": "checking repo", "timeout": null}),
            "bash: $ git status  # checking repo",
        );
        check(
            "read",
            json!({"path": "config.lua", "offset": 100, "limit": 50, "label": "reading tail"}),
            "read: config.lua  +100,50  # reading tail",
        );
        check(
            "edit",
            json!({"path": "config.lua", "oldText": "a", "newText": "b", "label": "fixing typo"}),
            "edit: config.lua  # fixing typo",
        );
        check(
            "write",
            json!({"path": "output.txt", "content": "x".repeat(2355), "label": "saving log"}),
            "write: output.txt  (2.3 KB)  # saving log",
        );
    }

    #[test]
    fn a_read_with_only_a_limit_starts_at_zero() {
        check(
            "read",
            json!({"path": "src/config.lua", "offset": null, "limit": 50, "label": "reading config"}),
            "read: src/config.lua  +0,50  # reading config",
        );
        check("read", json!({"path": "a", "offset": 3}), "read: a  +3");
    }

    #[test]
    fn a_look_around_says_for_what_and_where() {
        check(
            "grep",
            json!({"pattern": "TODO", "path": "src", "glob": "*.rs", "limit": 5, "label": "open work"}),
            "grep: /TODO/  in src  (*.rs)  # open work",
        );
        check("grep", json!({"pattern": "a", "path": null}), "grep: /a/");
        check("find", json!({"pattern": "*.md"}), "find: *.md");
        check(
            "ls",
            json!({"path": null, "max_depth": 2}),
            "ls: .  2 levels",
        );
        check("ls", json!({"path": "src "}), "ls: src␣");
        check("grep", json!({"pattern": 7}), "grep: pattern=7");
        check(
            "http_get",
            json!({"url": "https://docs.rs/", "max_size": null, "label": "the manual"}),
            "http_get: https://docs.rs/  # the manual",
        );
    }

    #[test]
    fn arguments_that_do_not_fit_get_the_generic_form() {
        check("bash", json!({"cmd": "ls"}), "bash: cmd=\"ls\"");
        check("bash", json!({"command": 7}), "bash: command=7");
        check("bash", json!("ls"), "bash: \"ls\"");
        check("bash", json!(null), "bash: null");
        check(
            "read",
            json!({"path": "a", "offset": "3"}),
            "read: offset=\"3\", path=\"a\"",
        );
        check("write", json!({"path": "a"}), "write: path=\"a\"");
    }

    #[test]
    fn a_blank_at_the_end_of_a_path_is_seen() {
        check(
            "write",
            json!({"path": "a ", "content": "abc"}),
            "write: a␣  (3 B)",
        );
    }
}
