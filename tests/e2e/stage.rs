//! The ways in which these tests start an editor and read what a chat shows.

use harness::{Editor, Provider, Setup};

/// A setup that runs the host under test and talks to `provider`.
pub fn setup(provider: &Provider) -> Setup {
    let kind = if provider.url().ends_with("/v1") {
        "openai_compatible"
    } else {
        "anthropic"
    };
    let options = serde_json::json!({"provider": kind});
    offline().provider(provider).options(options)
}

/// A setup that runs the host under test and has no provider.
pub fn offline() -> Setup {
    Setup::new().host(env!("CARGO_BIN_EXE_flemma"))
}

/// An editor on `question.chat`, which holds `text`.
#[track_caller]
pub fn open(provider: &Provider, text: &str) -> Editor {
    setup(provider).file("question.chat", text).start()
}

/// A question with nothing said yet.
#[allow(dead_code)]
pub const QUESTION: &str = "@You:\nGo.\n";

/// Waits until nothing runs: the buffer can be changed and ends in `end`.
#[track_caller]
pub fn wait_end(editor: &Editor, end: &str) {
    editor.wait_for(&format!("a chat that ends in {end:?}"), |editor| {
        editor.text().ends_with(end)
    });
}
