//! What was sent is sent again, whatever became of the files.

use std::fs;

use chat::prompt::{Part, Prompt, PromptRole};
use serde_json::json;

use super::script::{calls, echo, fails, read, says};
use super::{BUFFER, Display, EditorInput, Input, Record, Stage};
use crate::protocol::{Prompted, Renamed, SentItem};

const FILES: [(&str, &[u8]); 2] = [("f.txt", b"n=0\n"), ("p.txt", b"plan\n")];

fn chat(text: &str) -> Stage {
    Stage::beside(&FILES, json!({}), text)
}

impl Stage {
    pub(super) fn writes(&self, name: &str, text: &str) -> &Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    /// Types into the prompt at the end.
    pub(super) fn types_below(&self, text: &str) -> &Self {
        let last = self.text().lines().count() - 1;
        self.replaces(last..last + 1, &[text.to_owned()], Some(usize::MAX))
    }

    /// Answers the next question of the session with its first item.
    fn agrees(&self) -> &Self {
        let (text, item) = (None, Some(0));
        self.record().prompted.push_back(Prompted { text, item });
        self
    }

    fn renames(&self, name: &str) -> &Self {
        self.send(Input::Editor(EditorInput::Renamed(Renamed {
            buffer: BUFFER,
            path: self.path(name).display().to_string(),
            modified: false,
        })));
        self
    }

    /// Sends one more message of the user, and returns the last request for it.
    pub(super) fn asks(&self, text: &str) -> Prompt {
        let before = self.record().rests();
        self.say("steer", text)
            .wait("rest", |it| it.rests() > before);
        self.script.prompt()
    }
}

/// Returns the lines and bytes of the references that are shown as sent.
pub(super) fn shown_as_sent(record: &Record) -> Vec<(usize, u64)> {
    let shown = record.shown.iter().rev().find_map(|it| match it {
        Display::Sent(sent) => Some(sent.items.clone()),
        _ => None,
    });
    let shown = shown.unwrap_or_default().into_iter();
    shown
        .map(|SentItem { line, bytes, .. }| (line, bytes))
        .collect()
}

/// All text that the user's messages and the system prompt of a request contain.
pub(super) fn of_user(prompt: &Prompt) -> String {
    let messages = prompt
        .messages
        .iter()
        .filter(|it| it.role == PromptRole::User);
    let parts = messages.flat_map(|it| &it.parts).map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::File(file) => file.as_text(),
        other => format!("{other:?}"),
    });
    let system = prompt.system.clone().unwrap_or_default();
    format!("{system}\n{}", parts.collect::<String>())
}

#[test]
fn a_reference_is_sent_again_as_it_was_sent_first() {
    for (reference, first) in [
        ("@./f.txt", "n=0"),
        ("{{ include('f.txt') }}", "n=0"),
        ("{{ math.random(1000000000) }}", ""),
    ] {
        for text in [
            format!("@You:\nSee {reference} now.\n"),
            format!("@System:\nMind {reference}.\n\n@You:\nGo.\n"),
        ] {
            let stage = chat(&text);
            stage.press("advance");
            let sent = of_user(&stage.script.prompt());
            assert!(sent.contains(first), "{sent}");
            stage.writes("f.txt", "n=1\n");
            let again = of_user(&stage.asks("More."));
            assert!(again.starts_with(&sent), "{text}: {sent:?} {again:?}");
        }
    }
}

#[test]
fn a_reference_in_a_new_message_is_read_anew() {
    let stage = chat("@You:\nSee @./f.txt now.\n");
    stage.press("advance");
    stage.writes("f.txt", "n=1\n");
    stage.types_below("And @./f.txt?").press("advance");
    let sent = of_user(&stage.script.prompt());
    let (first, second) = (sent.find("n=0"), sent.find("n=1"));
    assert!(first.is_some() && first < second, "{sent}");
}

#[test]
fn a_message_without_an_answer_is_read_anew() {
    let stage = chat("@You:\nSee @./f.txt now.\n").answers([fails("overloaded")]);
    stage.press("advance");
    stage.writes("f.txt", "n=1\n");
    stage.press("advance");
    let sent = of_user(&stage.script.prompt());
    assert!(sent.contains("n=1") && !sent.contains("n=0"), "{sent}");
}

#[test]
fn an_edit_above_a_reference_has_it_read_anew_and_one_below_does_not() {
    let stage = chat("@System:\nBe brief.\n\n@You:\nSee @./f.txt now.\n");
    stage.press("advance");
    stage.writes("f.txt", "n=1\n");
    stage.types("Done.", "Finished.");
    assert!(of_user(&stage.asks("More.")).contains("n=0"));
    stage.types("Be brief.", "Be very brief.");
    let sent = of_user(&stage.asks("More."));
    assert!(sent.contains("n=1") && !sent.contains("n=0"), "{sent}");
}

#[test]
fn a_file_that_someone_else_changed_is_reported_once() {
    let stage = chat("@You:\nSee @./f.txt now.\n");
    stage.press("advance");
    stage.asks("More.");
    let said = "@./f.txt changed after it was sent";
    let count = |stage: &Stage| {
        let record = stage.record();
        record.notices.iter().filter(|it| it.contains(said)).count()
    };
    assert_eq!(count(&stage), 0);
    stage.writes("f.txt", "n=1, by the user\n");
    stage.asks("More.");
    stage.asks("More.");
    assert_eq!(count(&stage), 1);
}

#[test]
fn a_file_that_the_chat_itself_changed_is_not_reported() {
    let edit = json!({"label": "e", "path": "f.txt", "oldText": "n=0", "newText": "n=1"});
    let options = json!({"tools": {"auto_approve": ["read", "edit"]}});
    let stage = Stage::beside(&FILES, options, "@You:\nCount up @./f.txt\n").answers([
        calls([read("t_0", "f.txt")]),
        calls([("t_1", "edit", edit)]),
        says("Counted."),
    ]);
    stage.press("advance").wait_text("Counted.\n\n@You:\n");
    assert_eq!(fs::read_to_string(stage.path("f.txt")).unwrap(), "n=1\n");
    let sent = of_user(&stage.script.prompt());
    assert!(sent.contains("n=0"), "{sent}");
    let notices = stage.record().notices.join("\n");
    assert!(!notices.contains("changed after it was sent"), "{notices}");
}

#[test]
fn tools_of_the_first_request_stay_and_later_ones_follow() {
    let stage = chat("```lua\nflemma.opt.tools = { 'echo', 'read' }\n```\n\n@You:\nGo.\n");
    stage.press("advance");
    assert_eq!(stage.script.offered(), ["echo", "read"]);
    // Deselected ones are still described, and new ones come after the message.
    stage.types("{ 'echo', 'read' }", "{ 'read', 'wait' }");
    let prompt = stage.asks("More.");
    assert_eq!(stage.script.offered(), ["echo", "read"]);
    let added = |prompt: &Prompt| {
        let parts = prompt.messages.iter().enumerate();
        let parts = parts.flat_map(|(at, it)| it.parts.iter().map(move |part| (at, part)));
        let added = parts.filter_map(|(at, part)| match part {
            Part::ToolsAdded(tools) => Some((at, tools[0].name.clone())),
            _ => None,
        });
        added.collect::<Vec<_>>()
    };
    let at = prompt.messages.len() - 1;
    assert_eq!(added(&prompt), [(at, "wait".to_owned())]);
    let prompt = stage.asks("And more.");
    assert_eq!(added(&prompt), [(at, "wait".to_owned())]);
}

#[test]
fn a_call_of_a_tool_that_was_deselected_is_refused() {
    let text = "```lua\nflemma.opt.tools = { 'echo', 'read' }\n```\n\n@You:\nGo.\n";
    let options = json!({"tools": {"auto_approve": ["echo"]}});
    let stage = Stage::beside(&FILES, options, text).answers([
        says("Hello."),
        calls([echo("t_1")]),
        says("Well."),
    ]);
    stage.press("advance");
    stage.types("{ 'echo', 'read' }", "{ 'read' }");
    stage.asks("More.");
    stage.wait_text("Well.\n\n@You:\n");
    assert!(stage.result("t_1").contains("(error)"), "{}", stage.text());
}

#[test]
fn references_show_what_was_sent_and_edits_what_they_cost() {
    let stage = chat("@You:\nSee @./f.txt and @./p.txt\nnow.\n");
    stage.press("advance");
    stage.wait("marks", |it| shown_as_sent(it) == [(1, 9)]);
    stage.asks("More.");
    stage.types("now.", "later.");
    let changed = "Changed after it was sent: cached tokens are paid again.";
    stage.wait("a diagnostic", |it| {
        let mut found = it.diagnostics().into_iter();
        found.any(|it| it.line == 2 && it.message == changed && it.severity == "info")
    });
    stage.types("later.", "now.");
    stage.wait("no diagnostic", |it| it.diagnostics().is_empty());
    // Lines above move what is shown.
    stage.types("@You:", "@System:\nBe brief.\n\n@You:");
    stage.wait("a diagnostic", |it| {
        it.diagnostics().iter().any(|it| it.line == 0)
    });
}

#[test]
fn refresh_asks_and_reads_anew() {
    let stage = chat("@You:\nSee @./f.txt now.\n");
    stage.press("advance");
    stage.writes("f.txt", "n=1\n");
    stage.wait("marks", |it| !shown_as_sent(it).is_empty());
    stage.agrees().press("refresh");
    stage.wait("no marks", |it| shown_as_sent(it).is_empty());
    let sent = of_user(&stage.asks("More."));
    assert!(sent.contains("n=1") && !sent.contains("n=0"), "{sent}");
}

#[test]
fn a_renamed_chat_goes_on_with_what_was_sent() {
    let stage = chat("@You:\nSee @./f.txt now.\n");
    stage.press("advance");
    stage.writes("f.txt", "n=1\n");
    stage.renames("other.chat");
    assert!(of_user(&stage.asks("More.")).contains("n=0"));
}
