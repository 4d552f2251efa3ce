//! Questions of a front end about a place in a chat, and their answers. They show something
//! and change nothing.

use chat::complete::Unfinished;
use chat::folds::Fold;
use chat::links::Link;
use chat::movement::{Selection, Stop};
use chat::outline::Symbol;
use chat::text::Lines;
use serde::Deserialize;
use serde_json::Value;

use super::BufferId;

/// A question about a place in a chat.
#[derive(Debug, Clone, Deserialize)]
pub struct Lookup {
    /// Its number, which the answer repeats.
    pub lookup: u64,
    /// The chat's buffer.
    pub buffer: BufferId,
    /// Sequence number of the text that the place is in.
    pub seq: u64,
    /// The kind of information.
    pub kind: LookupKind,
    /// The line.
    pub line: usize,
    /// The byte column.
    pub column: usize,
    /// The last line; differs from `line` for a range only.
    pub last: usize,
    /// How many places a movement goes forward, or back if it is negative.
    #[serde(default)]
    pub count: i64,
}

/// The kind of information that a [`Lookup`] requests.
// Deserialized from its name, because rmpv cannot read enums from strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum LookupKind {
    /// The outline of the chat.
    Symbols,
    /// The folds of the chat.
    Folds,
    /// The target of the link at the place.
    Link,
    /// An explanation of the text at the place.
    Hover,
    /// Actions for the lines.
    Actions,
    /// Actions for the pending calls of the chat.
    Lenses,
    /// Completions of the word before the place.
    Menu,
    /// The line of a message or call that a movement reaches.
    Move(Stop),
    /// The message at the place, as keys select it.
    Select,
}

impl TryFrom<String> for LookupKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "symbols" => Ok(Self::Symbols),
            "folds" => Ok(Self::Folds),
            "link" => Ok(Self::Link),
            "hover" => Ok(Self::Hover),
            "actions" => Ok(Self::Actions),
            "lenses" => Ok(Self::Lenses),
            "menu" => Ok(Self::Menu),
            "to_message" => Ok(Self::Move(Stop::Message)),
            "to_call" => Ok(Self::Move(Stop::Call)),
            "select" => Ok(Self::Select),
            _ => Err(format!("no lookup is named {name:?}")),
        }
    }
}

/// A question that concerns no place in a chat.
#[derive(Debug, Clone, Deserialize)]
pub struct Query {
    /// Its number, which the answer repeats.
    pub lookup: u64,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
}

/// The answer to a [`Lookup`].
#[derive(Debug, Clone, PartialEq)]
pub enum LookupAnswer {
    /// There is nothing there, or the text has changed since.
    Nothing,
    /// The outline.
    Symbols(Vec<Symbol>),
    /// All folds, outer ones before those in them.
    Folds(Vec<Fold>),
    /// The target of the link. The path of a file is absolute.
    Link(Link),
    /// An explanation of the text.
    Hover(Hover),
    /// Actions for the lines.
    Actions(Vec<OfferedAction>),
    /// Actions for pending calls.
    Lenses(Vec<OfferedAction>),
    /// Completions of a word.
    Menu(Menu),
    /// The line that a movement reaches.
    Line(usize),
    /// A message.
    Message(Selection),
    /// The answer to a [`Query`](super::Query).
    Plain(Value),
}

/// Completions of a word that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The word.
    pub word: Unfinished,
    /// The completions, the best first.
    pub items: Vec<MenuItem>,
    /// True if there may be others that fit a longer word, so that the front end asks again.
    pub is_partial: bool,
}

/// One of the items of a [`Menu`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MenuItem {
    /// The text that replaces the word.
    pub text: String,
    /// Its kind, in a word.
    pub detail: String,
    /// More about it.
    pub help: Option<String>,
}

/// An explanation of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    /// Plain text.
    pub text: String,
    /// The lines that it is about.
    pub lines: Lines,
}

/// A command that the user can choose at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAction {
    /// Its effect, in the imperative.
    pub title: String,
    /// The command, as in [`Action::parse`](super::Action::parse).
    pub command: &'static str,
    /// The line for which the command is meant.
    pub line: usize,
    /// True if it fixes a problem of the text.
    pub is_fix: bool,
}
