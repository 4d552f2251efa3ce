//! While an answer is written, foreign text never becomes structure, and the provider gets
//! back what it sent.

use chat::answer::AnswerWriter;
use chat::cycle::CycleEvent;
use chat::document::{Block, Document, Role};
use chat::prompt::{self, Part};
use chat::text::Text;
use chat::tool::ToolOutcome;
use chat::write;
use proptest::prelude::*;

use super::{config, foreign};
use crate::dump;
use crate::play::Play;

/// A block of an answer as a provider sends it.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// Text that a provider sends as a block of its own.
    OtherText(String),
    Thinking(String, Option<&'static str>),
    Redacted(String),
    Call,
}

fn answer() -> impl Strategy<Value = Vec<Piece>> {
    let piece = prop_oneof![
        2 => foreign().prop_map(Piece::Text),
        2 => foreign().prop_map(Piece::OtherText),
        1 => (foreign(), prop::option::of(Just("c2ln")))
            .prop_filter("nothing was thought", |(text, signature)| !text.is_empty() || signature.is_some())
            .prop_map(|(text, signature)| Piece::Thinking(text, signature)),
        1 => foreign().prop_map(Piece::Redacted),
        1 => Just(Piece::Call),
    ];
    prop::collection::vec(piece, 1..9)
}

/// Counts the calls and thinking blocks of the answer; any other structure fails.
fn structure(chat: &str) -> (usize, usize) {
    let text = Text::from(chat);
    let document = Document::parse(&text);
    assert_eq!(
        dump::roles(&document),
        [Role::You, Role::Assistant],
        "{chat}"
    );
    let mut found = (0, 0);
    for block in document.blocks_of(&document.messages[1]) {
        match block {
            Block::Prose(_) | Block::TextBreak(_) => {}
            Block::ToolUse(_) => found.0 += 1,
            Block::Thinking(_) => found.1 += 1,
            other => panic!("{other:?} in\n{chat}"),
        }
    }
    found
}

/// An answer while it is written into a chat.
struct Stream {
    writer: AnswerWriter,
    chat: String,
    calls: usize,
    thoughts: usize,
}

impl Stream {
    fn new() -> Self {
        Self {
            writer: AnswerWriter::new(),
            chat: "@You:\nq\n\n@Assistant:".to_owned(),
            calls: 0,
            thoughts: 0,
        }
    }

    /// Checks the text after each character.
    fn look(&mut self, whole_blocks: bool) {
        let piece = self.writer.take();
        if whole_blocks {
            self.chat.push_str(&piece);
        } else {
            for character in piece.chars() {
                self.chat.push(character);
                let found = structure(&self.chat);
                assert_eq!(found, (self.calls, self.thoughts), "{}", self.chat);
            }
        }
        let found = structure(&self.chat);
        assert_eq!(found, (self.calls, self.thoughts), "{}", self.chat);
    }

    fn push(&mut self, piece: &Piece, chunk: usize) {
        match piece {
            Piece::OtherText(text) => {
                self.writer.end_text();
                self.push(&Piece::Text(text.clone()), chunk);
                self.writer.end_text();
            }
            Piece::Redacted(data) => {
                self.thoughts += 1;
                self.writer.redacted_thinking(data);
                self.look(true);
            }
            Piece::Text(text) => {
                let characters: Vec<char> = text.chars().collect();
                for chunk in characters.chunks(chunk) {
                    self.writer.text(&chunk.iter().collect::<String>());
                    self.look(false);
                    assert!(!self.chat.ends_with([' ', '\t']), "{}", self.chat);
                }
            }
            Piece::Thinking(text, signature) => {
                let characters: Vec<char> = text.chars().collect();
                for chunk in characters.chunks(chunk) {
                    self.writer.thinking(&chunk.iter().collect::<String>());
                    self.look(false);
                }
                self.thoughts += 1;
                self.writer
                    .end_thinking(signature.map(|value| ("test", value)));
                self.look(true);
            }
            Piece::Call => {
                let id = format!("call_{}", self.calls);
                self.calls += 1;
                self.writer.tool_use("slow", &id, "{}");
                self.look(true);
            }
        }
    }
}

/// Returns the parts that the provider gets back: the deltas of a text are joined, blank
/// text is dropped.
fn expected(pieces: &[Piece]) -> Vec<Piece> {
    let mut parts: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (piece, parts.last_mut()) {
            (Piece::Text(more), Some(Piece::Text(text))) => text.push_str(more),
            (piece, _) => parts.push(piece.clone()),
        }
    }
    parts.retain(|piece| match piece {
        Piece::Text(text) | Piece::OtherText(text) => !text.trim().is_empty(),
        Piece::Thinking(..) | Piece::Redacted(_) | Piece::Call => true,
    });
    parts
}

fn assert_comes_back(chat: &str, pieces: &[Piece]) {
    let text = Text::from(chat);
    let sent = prompt::build(&Document::parse(&text), &[]);
    let sent = sent.messages.get(1).map_or(&[][..], |it| &it.parts);
    let expected = expected(pieces);
    assert_eq!(sent.len(), expected.len(), "{sent:?}\n{expected:?}\n{chat}");
    for (sent, expected) in sent.iter().zip(&expected) {
        let same = match (sent, expected) {
            (Part::Text(sent), Piece::Text(text) | Piece::OtherText(text)) => sent == text,
            (Part::ToolUse { .. }, Piece::Call) => true,
            (
                Part::Thinking {
                    text: sent,
                    signature,
                    ..
                },
                Piece::Thinking(text, value),
            ) => sent == text && signature.is_some() == value.is_some(),
            (
                Part::Thinking {
                    text: sent,
                    redacted,
                    ..
                },
                Piece::Redacted(data),
            ) => *redacted && sent == data,
            _ => false,
        };
        assert!(same, "{sent:?} is not {expected:?} in\n{chat}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_answer_is_preserved_at_every_moment(pieces in answer(), chunk in 1usize..9) {
        let mut stream = Stream::new();
        for piece in &pieces {
            stream.push(piece, chunk);
        }
        stream.writer.finish(None);
        stream.look(true);
        assert_comes_back(&stream.chat, &pieces);

        // The next message changes nothing about it.
        let mut text = Text::from(stream.chat.as_str());
        let next = write::append_message(&Document::parse(&text), Role::You, &["next"]);
        text.splice(next.lines, &next.replacement);
        assert_comes_back(&String::from_utf8_lossy(text.bytes()), &pieces);
    }

    #[test]
    fn a_cut_off_answer_gets_only_its_comment(text in foreign(), reason in foreign(), chunk in 1usize..9) {
        let mut stream = Stream::new();
        stream.push(&Piece::Text(text), chunk);
        stream.writer.finish(Some(&reason));
        stream.chat.push_str(&stream.writer.take());
        let text = Text::from(stream.chat.as_str());
        let document = Document::parse(&text);
        prop_assert_eq!(dump::roles(&document), [Role::You, Role::Assistant]);
        let blocks = document.blocks_of(&document.messages[1]);
        prop_assert!(matches!(blocks.last(), Some(Block::Aborted(_))), "{}", stream.chat);
        let is_text = |block: &&Block| matches!(block, Block::Prose(_) | Block::TextBreak(_));
        let others = blocks.iter().filter(|block| !is_text(block));
        prop_assert_eq!(others.count(), 1, "{}", stream.chat);
    }
}

// Foreign text in a chat, as a result, as a model's text, and as thinking. It must stay
// text and be preserved.

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
