//! While an answer is written, foreign text never becomes structure, and the provider gets
//! back what it sent.

use chat::answer::AnswerWriter;
use chat::document::{Block, Document, Role};
use chat::prompt::{self, Part};
use chat::text::Text;
use chat::write;
use proptest::prelude::*;

use super::{config, foreign};
use crate::dump;

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
