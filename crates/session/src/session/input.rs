//! The inputs of a session: from the plugin, its tool calls, and its request.

use std::sync::Arc;

use agent::answer::Ids;
use chat::approval::{Answers, CallKey};
use provider::StreamEvent;
use tools::Ran;

use super::{elicitation, file_snapshots, previews, references};
use crate::protocol::*;
use crate::rules::Rules;
use crate::shared::Shared;
use crate::usage::Tariff;

/// Something that a session has to know.
pub enum Input {
    /// The buffer is shown to this host for the first time, or anew.
    Attach(Attach),
    /// A piece of its text.
    Snapshot(Snapshot),
    /// The user changed it.
    Changed(Changed),
    /// The file holds the text of this number.
    Saved(u64),
    /// The buffer has another name.
    Renamed(Renamed),
    /// Other lines are visible.
    Viewport(Viewport),
    /// What became of an edit.
    Applied(Applied),
    /// A key or a command.
    Command(Command),
    /// The buffer is gone.
    Detached,
    /// The options changed.
    Settings(Arc<Shared>),
    /// `:Flemma switch!`: the chat's own switch ends; the settings follow.
    SwitchedBack,
    /// The user's functions answered.
    Functions(Answers),
    /// What the guard says of shell commands, and what the user should know.
    Inspected(Answers, Vec<String>),
    /// The folders of tools were looked at.
    Looked,
    /// The frontmatter was read, by the number of the reading.
    Rules(u64, Box<Rules>),
    /// A request does not do something that it was asked to.
    Remark(String),
    /// References of the text cannot be sent, so nothing was.
    Unresolved(Vec<references::Place>),
    /// A call wrote something.
    ToolOutput(CallKey, String),
    /// A call asks the user something, or what became of that.
    Asked(CallKey, elicitation::News),
    /// A call ended.
    ToolEnded(CallKey, Ran),
    /// What a tool says of a call that waits, for windows of that width.
    Preview(CallKey, usize, previews::Said),
    /// The files of calls that wait were looked at.
    Look(file_snapshots::Look),
    /// The working directory is another one.
    Directory(String),
    /// A tool's own words about the refusal of its call.
    Refused(CallKey, Option<String>),
    /// Where the request of this number goes, and by what it is charged.
    Label(u64, String, Option<Tariff>),
    /// What the request of this number waits for, before its answer begins.
    Note(u64, String),
    /// The ids of the calls in the chat, for the request of this number. Comes before its
    /// answer.
    Ids(u64, Ids),
    /// The request of this number said something.
    Stream(u64, Vec<StreamEvent>),
}
