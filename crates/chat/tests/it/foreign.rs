//! Foreign text in a chat, as a result, as a model's text, and as thinking. It must stay
//! text and be preserved.

use chat::answer::AnswerWriter;
use chat::cycle::CycleEvent;
use chat::document::{Block, Document, Role};
use chat::prompt::{self, Part};
use chat::text::Text;
use chat::tool::ToolOutcome;

use crate::dump;
use crate::play::Play;

/// Checks `payload` in each place; the error says in which one it broke.
pub fn check(payload: &str) -> Result<(), String> {
    for outcome in [
        ToolOutcome::Done {
            content: payload.to_owned(),
            marked_failed: false,
        },
        ToolOutcome::Failed(payload.to_owned()),
    ] {
        as_result(payload, outcome).map_err(|problem| format!("as a result: {problem}"))?;
    }
    as_text(payload).map_err(|problem| format!("as model text: {problem}"))?;
    as_thinking(payload).map_err(|problem| format!("as thinking: {problem}"))
}

/// Returns the payload as written to the buffer for a model's text.
pub fn written(payload: &str) -> String {
    let mut writer = AnswerWriter::new();
    writer.text(payload);
    writer.finish(None);
    let text = writer.take();
    text.strip_prefix('\n').unwrap_or(&text).to_owned()
}

fn as_result(payload: &str, outcome: ToolOutcome) -> Result<(), String> {
    let mut play = Play::typed("@You:\nq");
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "live", "{}")]);
    play.end("live", outcome);
    let document = Document::parse(&play.text);
    let roles = [Role::You, Role::Assistant, Role::You];
    ensure(dump::roles(&document) == roles, "the messages changed")?;
    let blocks = document.blocks_of(&document.messages[2]);
    let [Block::ToolResult(result)] = blocks else {
        return Err(format!("there is more than the result: {blocks:?}"));
    };
    let content = document.lossy(result.body.clone());
    ensure(content == payload, "it did not come back")?;
    let log = play.log();
    ensure(
        log == ["send", "run live", "send"],
        "something else happened",
    )?;
    let sent = prompt::build(&Document::parse(&play.text), &[]);
    let parts = sent.messages.last().map(|it| it.parts.as_slice());
    match parts {
        Some([Part::ToolResult { content, .. }]) => ensure(content == payload, "it was not sent"),
        other => Err(format!("something else is sent: {other:?}")),
    }
}

fn as_text(payload: &str) -> Result<(), String> {
    let mut writer = AnswerWriter::new();
    let mut chat = "@You:\nq\n\n@Assistant:".to_owned();
    for piece in payload.split_inclusive(|c: char| !c.is_alphanumeric()) {
        writer.text(piece);
        chat.push_str(&writer.take());
        // Check long payloads in steps, because each check parses the chat.
        if chat.len() < 2000 {
            only_prose(&chat)?;
        }
    }
    writer.finish(None);
    chat.push_str(&writer.take());
    only_prose(&chat)?;
    let text = Text::from(chat.as_str());
    let sent = prompt::build(&Document::parse(&text), &[]);
    let sent = sent.messages.get(1).map(|it| it.parts.as_slice());
    match sent {
        None => ensure(payload.trim().is_empty(), "it was dropped"),
        Some([Part::Text(sent)]) => ensure(sent == payload, &format!("it came back as {sent:?}")),
        other => Err(format!("something else is sent: {other:?}")),
    }
}

fn only_prose(chat: &str) -> Result<(), String> {
    let text = Text::from(chat);
    let document = Document::parse(&text);
    ensure(
        dump::roles(&document) == [Role::You, Role::Assistant],
        &format!("the messages changed:\n{chat}"),
    )?;
    let prose = document
        .blocks_of(&document.messages[1])
        .iter()
        // A break below a last line that could be one of the host's.
        .all(|block| matches!(block, Block::Prose(_) | Block::TextBreak(_)));
    ensure(prose, &format!("it became structure:\n{chat}"))
}

fn as_thinking(payload: &str) -> Result<(), String> {
    let mut writer = AnswerWriter::new();
    writer.thinking(payload);
    writer.end_thinking(Some(("test", "c2ln")));
    writer.text("so");
    writer.finish(None);
    let text = Text::from(format!("@You:\nq\n\n@Assistant:{}", writer.take()).as_str());
    let document = Document::parse(&text);
    let roles = dump::roles(&document);
    ensure(
        roles == [Role::You, Role::Assistant],
        "the messages changed",
    )?;
    let sent = prompt::build(&document, &[]);
    match sent.messages.get(1).map(|it| it.parts.as_slice()) {
        Some([Part::Thinking { text, .. }, Part::Text(so)]) => {
            ensure(text == payload && so == "so", "it did not come back")
        }
        other => Err(format!("something else is sent: {other:?}")),
    }
}

fn ensure(condition: bool, problem: &str) -> Result<(), String> {
    if condition {
        Ok(())
    } else {
        Err(problem.to_owned())
    }
}

#[test]
fn blanks_before_thinking_are_dropped() {
    let mut writer = AnswerWriter::new();
    writer.text(" \n");
    writer.thinking("Hm.");
    assert_eq!(writer.thinking_len(), 3);
}

#[test]
fn an_answer_is_empty_until_text_arrives() {
    let after = |say: fn(&mut AnswerWriter)| {
        let mut writer = AnswerWriter::new();
        say(&mut writer);
        let state = (writer.is_empty(), writer.thinking_len());
        writer.finish(None);
        (state, writer.take())
    };
    assert_eq!(after(|_| {}), ((true, 0), String::new()));
    assert_eq!(after(|it| it.text(" \n")), ((true, 0), String::new()));
    let text = after(|it| it.text("Hi."));
    assert_eq!(text, ((false, 0), "\nHi.".to_owned()));
    let thinking = after(|it| it.thinking("hé"));
    let block = "\n<thinking>\nhé\n</thinking>";
    assert_eq!(thinking, ((false, 2), block.to_owned()));
    let redacted = after(|it| it.redacted_thinking("abc"));
    let block = "\n<thinking redacted>\nabc\n</thinking>";
    assert_eq!(redacted, ((false, 0), block.to_owned()));
}
