//! What messages say of invalid options.

use super::*;

#[test]
fn a_wrong_value_is_reported_with_its_path_and_what_it_must_be() {
    for (given, expected) in [
        (
            json!({"provider": "antropic"}),
            "provider is \"antropic\"; it must be \"anthropic\", \"openai\", \"gemini\"",
        ),
        (
            json!({"provider": "antropic"}),
            "Did you mean \"anthropic\"?",
        ),
        (
            json!({"parameters": {"anthropc": {}}}),
            "There is no option \"parameters.anthropc\". Did you mean \"anthropic\"?",
        ),
        (
            json!({"tools": {"max_concurrent": 1.5}}),
            "tools.max_concurrent is 1.5; it must be a whole number from 0.",
        ),
        (
            json!({"tools": {"auto_approve": ["read", 3]}}),
            "a list of strings, a function or the path of a module.",
        ),
        (
            json!({"tools": {"presets": {"$x": {"aprove": []}}}}),
            "There is no option \"tools.presets.$x.aprove\". Did you mean \"approve\"?",
        ),
        (json!({"tools": 3}), "tools is 3; it must be a table."),
        (
            json!({"keymaps": {"normal": {"send": true}}}),
            "keymaps.normal.send is true; it must be a string or false.",
        ),
        (
            json!({"model": {"function": 3}}),
            "model is a function; it must be a string.",
        ),
        (
            json!({"colour": 1}),
            "There is no option \"colour\". Options: provider,",
        ),
        (
            json!({"folds": {"closed": ["message", "thnking"]}}),
            "folds.closed: nothing is named \"thnking\". Did you mean \"thinking\"?",
        ),
        (
            json!({"folds": {"closed": ["x"]}}),
            "folds.closed: nothing is named \"x\".",
        ),
        (
            json!({"folds": {"closed": "thinking"}}),
            "folds.closed is \"thinking\"; it must be a list of \"frontmatter\",",
        ),
        (
            json!({"mcp": {"servers": {"x": {"timeout": 86_401}}}}),
            "mcp.servers.x.timeout is 86401; it must be a whole number from 1 to 86400.",
        ),
    ] {
        let said = said(given);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_number_that_json_cannot_hold_is_reported_wherever_it_is() {
    let infinite = json!({"not_finite": "inf"});
    for (path, expected) in [
        (
            "parameters.timeout",
            "parameters.timeout is inf; it must be a number from 1 to 86400.",
        ),
        ("parameters.max_tokens", "parameters.max_tokens is inf;"),
        ("models.x.price.input", "models.x.price.input is inf;"),
        ("mcp.servers.x.timeout", "mcp.servers.x.timeout is inf;"),
        (
            "presets.$x.temperature",
            "presets.$x.temperature is inf; it must be a finite number.",
        ),
        (
            "tools.mine.deep",
            "tools.mine.deep is inf; it must be a finite number.",
        ),
    ] {
        assert!(
            said(nested(path, infinite.clone())).contains(expected),
            "{path}"
        );
    }
    let list = json!({"presets": {"$x": {"stop": [1, {"not_finite": "-inf"}]}}});
    assert_eq!(
        said(list),
        "presets.$x.stop.2 is -inf; it must be a finite number."
    );
}

#[test]
fn a_secret_is_not_shown_when_it_is_wrong() {
    for given in [
        json!({"parameters": {"anthropic": {"api_key": {"s3cret": "s3cret"}}}}),
        json!({"mcp": {"servers": {"x": {"env": ["s3cret"]}}}}),
        json!({"mcp": {"servers": {"x": {"headers": {"A": ["s3cret"]}}}}}),
    ] {
        let said = said(given);
        assert!(said.contains(" is a table; it must be a"), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn a_mistake_concerns_the_table_that_was_meant() {
    for (given, expected) in [
        (json!({"tools": 3}), true),
        (json!({"tools": {"require_approval": 3}}), true),
        (json!({"tols": {}}), true),
        (json!({"toolsmith": {}}), false),
        (json!({"ui": {"tools": 3}}), false),
    ] {
        let (_, invalid) = check(&given, Scope::Setup);
        assert_eq!(invalid[0].is_about("tools"), expected, "{given}");
    }
}

#[test]
fn a_mistake_names_the_users_word() {
    for (given, word) in [
        (json!({"colour": 1}), Some("colour")),
        (json!({"provider": "antropic"}), Some("antropic")),
        (json!({"folds": {"closed": ["thnking"]}}), Some("thnking")),
        (json!({"tools": 3}), None),
    ] {
        let (_, invalid) = check(&given, Scope::Setup);
        assert_eq!(invalid[0].word.as_deref(), word, "{given}");
    }
}
