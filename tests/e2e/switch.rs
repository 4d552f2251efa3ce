//! `:Flemma switch`: other providers, models, and parameters while Neovim runs.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

#[test]
fn a_switch_applies_to_the_next_request_and_is_shown() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = open(&provider, QUESTION);
    editor.command("Flemma switch anthropic claude-haiku-4-5 max_tokens=77");
    wait_message(&editor, "sent to anthropic (claude-haiku-4-5) from now on");
    editor.command("Flemma status");
    editor.wait_text("provider   anthropic  (by :Flemma switch)");
    editor.keys("q");
    editor.keys("<C-]>");
    let body = &provider.wait_requests(1)[0].body;
    assert_eq!(body["model"], "claude-haiku-4-5");
    assert_eq!(body["max_tokens"], 77);
}

#[test]
fn a_switch_changes_one_chat_and_with_a_bang_every_chat() {
    let provider = Provider::anthropic(["One.", "Two.", "Three."].map(Answer::says));
    let editor = open(&provider, QUESTION);
    std::fs::write(editor.dir().join("other.chat"), QUESTION).unwrap();
    editor.command("Flemma switch anthropic claude-haiku-4-5");
    wait_message(&editor, "This chat is sent to anthropic (claude-haiku-4-5)");
    editor.command("edit other.chat");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nOne.");
    editor.command("Flemma switch! anthropic claude-opus-4-1");
    wait_message(&editor, "Every chat of this Neovim is sent to anthropic");
    editor.command("buffer #");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nTwo.");
    let models: Vec<_> = provider
        .wait_requests(2)
        .iter()
        .map(|it| it.body["model"].clone())
        .collect();
    assert_ne!(
        models[0], "claude-haiku-4-5",
        "the other chat was not switched"
    );
    assert_eq!(models[1], "claude-opus-4-1");
}

#[test]
fn without_arguments_a_menu_offers_presets_and_models() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let options = json!({"presets": {"$brief": "anthropic claude-opus-4-1 max_tokens=50"}});
    let editor = ask_with(&provider, options);
    let pick = "asked = {}
        local answers = { 'anthropic', 'claude-sonnet-4-5' }
        vim.ui.select = function(items, options, done)
          vim.list_extend(asked, vim.tbl_map(options.format_item, items))
          local answer = table.remove(answers, 1)
          done(vim.iter(items):find(function(item) return item.name == answer end))
        end";
    editor.lua(pick, &json!([]));
    editor.command("Flemma switch");
    wait_message(&editor, "sent to anthropic (claude-sonnet-4-5)");
    let asked = editor.lua("return asked[1]", &json!([]));
    assert_eq!(asked, "$brief");
    let asked = editor.lua("return asked", &json!([]));
    let has = |label: &str| asked.as_array().unwrap().iter().any(|it| it == label);
    assert!(has("anthropic  (has a key)"), "{asked}");
    let sonnet = "claude-sonnet-5-5  (context 1M, $2 in, $10 out per million tokens)";
    assert!(has(sonnet), "{asked}");
    editor.command("Flemma switch $brief");
    wait_message(&editor, "sent to anthropic (claude-opus-4-1)");
    editor.keys("<C-]>");
    assert_eq!(provider.wait_requests(1)[0].body["max_tokens"], 50);
}

#[test]
fn providers_models_and_parameters_are_completed() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let options = json!({"presets": {"$brief": "anthropic claude-opus-4-1 max_tokens=50"}});
    let editor = ask_with(&provider, options);
    let complete = |line: &str| {
        editor.lua(
            "return vim.fn.getcompletion(..., 'cmdline')",
            &json!([line]),
        )
    };
    let first = |line: &str| complete(line)[0].clone();
    editor.wait_for("the host's choices", |_| {
        first("Flemma switch ") == "$brief"
    });
    assert_eq!(
        complete("Flemma switch open"),
        json!(["openai", "openai_compatible", "openrouter"])
    );
    assert_eq!(
        first("Flemma switch anthropic claude-h"),
        "claude-haiku-4-5"
    );
    assert_eq!(
        complete("Flemma switch anthropic claude-haiku-4-5 cache"),
        json!([
            "cache_retention=none",
            "cache_retention=short",
            "cache_retention=long"
        ])
    );
    assert_eq!(
        complete("Flemma switch $brief max_t"),
        json!(["max_tokens="])
    );
    assert_eq!(complete("Flemma switch nobody "), json!([]));
}

#[test]
fn setup_can_name_a_preset_and_two_providers_send_nothing() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let presets = json!({"$brief": {"provider": "anthropic", "model": "m-1", "max_tokens": 50}});
    let editor = open(&provider, QUESTION);
    let setup = |options: Json| editor.lua("require('flemma').setup(...)", &json!([options]));
    setup(json!({"presets": presets, "model": "$brief", "provider": "openai"}));
    wait_message(&editor, "a preset of anthropic, but provider is \"openai\"");
    editor.keys("<CR><C-]>");
    wait_message(&editor, "a preset with an error, so nothing was sent");
    setup(json!({"presets": presets, "model": "$brief"}));
    editor.keys("<CR><C-]>");
    let body = &provider.wait_requests(1)[0].body;
    assert_eq!(body["model"], "m-1");
    assert_eq!(body["max_tokens"], 50);
}
