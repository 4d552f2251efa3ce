//! Request parameters: what they become at a provider, and the message if they cannot be
//! used.

use harness::{Answer, Provider};
use serde_json::json;

use crate::frontmatter::PARAMETERS;
use crate::stage::*;

#[test]
fn the_documented_parameters_work_with_openai() {
    let provider = Provider::responses([Answer::says("Well.")]);
    let editor = type_below(&provider, PARAMETERS);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let body = &provider.requests()[0].body;
    assert_eq!(body["max_output_tokens"], 8000);
    // The general level is "medium".
    assert_eq!(body["reasoning"]["effort"], "high");
}

#[test]
fn a_chats_general_parameter_overrides_setups_for_the_provider() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let options = json!({"parameters": {"max_tokens": 1, "anthropic": {"max_tokens": 2}}});
    let setup = with_options(&provider, options).file("question.chat", "");
    let editor = setup.start();
    editor.type_text(&below("flemma.opt.max_tokens = 3000"));
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert_eq!(provider.requests()[0].body["max_tokens"], 3000);
}

#[test]
fn a_share_of_the_output_limit_is_computed_or_reported_as_unknown() {
    let asked = |model: &str, message: &str| {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let models = json!({"known": {"output": 10_000}});
        let options = json!({"model": model, "models": models});
        let setup = with_options(&provider, options).file("question.chat", "");
        let editor = setup.start();
        watch(&editor);
        editor.type_text(&below("flemma.opt.max_tokens = \"50%\""));
        editor.keys("<C-]>");
        editor.wait_text("@Assistant:\nWell.");
        wait_message(&editor, message);
        provider.requests()[0].body["max_tokens"].clone()
    };
    assert_eq!(asked("known", ""), 5000);
    let unknown = "is not known of \"unheard-of\", so the request goes out as without max_tokens";
    assert_eq!(asked("unheard-of", unknown), 8192);
}
