//! What `:Flemma status verbose` shows as the chat's choice.

use super::*;

fn chosen(text: &str, trusted: bool) -> Value {
    let given = json!({"presets": {"$far": "gemini far"}});
    json!(rules(given, text, trusted).chosen())
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
