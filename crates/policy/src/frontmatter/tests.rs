//! Tests of frontmatters as written in files.
#![allow(clippy::unwrap_used)]

mod engine;
mod examples;
mod json;
mod limits;
mod refusals;
mod rules;
mod scopes;
mod templates;

use super::*;
use serde_json::json;

/// What most tests may refer to: five tools, of which one is not enabled.
fn known() -> Known {
    let names = |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    Known {
        tools: names(&[
            "bash",
            "calculator",
            "calculator_async",
            "edit",
            "read",
            "write",
        ]),
        default_tools: names(&["bash", "calculator", "edit", "read", "write"]),
        presets: names(&["$default", "$readonly"]),
        auto_approve: Some(names(&["$default"])),
        model_presets: names(&["$fast"]),
    }
}

/// A Lua frontmatter whose fence opens on line 1, so that its text starts on line 2.
fn lua(text: &str) -> Source {
    Source {
        language: "lua".to_owned(),
        text: text.to_owned(),
        first_line: 2,
        file: Some(PathBuf::from("/home/me/notes/plan.chat")),
    }
}

fn json_source(text: &str) -> Source {
    Source {
        language: "json".to_owned(),
        ..lua(text)
    }
}

#[track_caller]
fn evaluated(source: &Source) -> Evaluated {
    match evaluate(source, &known()) {
        Ok(evaluated) => evaluated,
        Err(failure) => panic!("{failure}"),
    }
}

/// What `text` asks for.
#[track_caller]
fn overrides(text: &str) -> Overrides {
    evaluated(&lua(text)).overrides
}

/// The message for `text`, which fails.
#[track_caller]
fn failure(source: &Source) -> FrontmatterError {
    match evaluate(source, &known()) {
        Ok(evaluated) => panic!("it succeeded: {:?}", evaluated.overrides),
        Err(failure) => failure,
    }
}

/// The list that decides about calls, as `names without exclusions`.
#[track_caller]
fn approval(text: &str) -> String {
    match overrides(text).auto_approve {
        Some(AutoApprove::List { names, exclusions }) if exclusions.is_empty() => names.join(" "),
        Some(AutoApprove::List { names, exclusions }) => {
            format!("{} without {}", names.join(" "), exclusions.join(" "))
        }
        other => panic!("no list: {other:?}"),
    }
}

/// The tools of the chat, with a blank between.
#[track_caller]
fn tools(text: &str) -> String {
    overrides(text).tools.unwrap().join(" ")
}

#[test]
fn an_empty_frontmatter_asks_for_nothing() {
    assert_eq!(overrides(""), Overrides::default());
}

#[test]
fn what_was_evaluated_can_go_to_another_thread() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Evaluated>();
}

#[test]
fn a_language_nobody_knows_is_an_error() {
    let source = Source {
        language: "python".to_owned(),
        ..lua("x = 1")
    };
    assert_eq!(
        failure(&source).message,
        "frontmatter line 2: \"python\" is no language of a frontmatter. Write \"lua\" or \"json\" after the backticks."
    );
}
