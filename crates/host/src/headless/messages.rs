//! What the host says, as the front end on the command line reads it: its own half
//! of the messages in [`crate::protocol`] that it acts on.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::front::Message;

/// A message of the host.
#[derive(Debug)]
pub enum FromHost {
    /// Change the text, all or nothing.
    Apply(Apply),
    /// Insert text at an anchor.
    Append(Append),
    /// Forget an anchor.
    ReleaseAnchor(ReleaseAnchor),
    /// Tell the user.
    Notify(Notice),
    /// Something began or ended.
    Event(Event),
    /// Call functions.
    Ask(Ask),
    /// Say what is known of an open file.
    OpenText(OpenText),
    /// Change an open file.
    ReplaceText(OpenText),
    /// Ask the user one thing.
    Prompt(Prompt),
    /// The model said something.
    AnswerText(String),
    /// What the request waits for.
    Note(String),
    /// In a rehearsal: the request that would be sent.
    WouldSend(Value),
    /// In a rehearsal: the call that would run.
    WouldRun(Value),
    /// A call waits once more, because the file that it would change is another.
    ShownAgain(ShownAgain),
    /// What is drawn, or moved, where there is a screen.
    Drawing,
}

/// See [`crate::protocol::Change`].
#[derive(Debug, Deserialize)]
pub struct Change {
    /// First line that goes.
    pub first: usize,
    /// Line behind the last that goes.
    pub last: usize,
    /// The lines that come.
    pub lines: Vec<String>,
}

/// See [`crate::protocol::Apply`].
#[derive(Debug, Deserialize)]
pub struct Apply {
    /// Comes back in the answer.
    pub edit: u64,
    /// The text that the changes were computed for.
    pub seq: u64,
    /// Sorted and disjoint.
    pub changes: Vec<Change>,
    /// Where an answer will grow, in the text that they make.
    pub anchor: Option<Anchor>,
}

/// See [`crate::protocol::Append`].
#[derive(Debug, Deserialize)]
pub struct Append {
    /// Comes back in the answer.
    pub edit: u64,
    /// Which anchor.
    pub anchor: u64,
    /// What must stand before the anchor.
    pub expect: Option<Expect>,
    /// The first continues the anchor's line.
    pub lines: Vec<String>,
}

/// See [`crate::protocol::Expect`].
#[derive(Debug, Deserialize)]
pub struct Expect {
    /// The anchor's byte column.
    pub column: usize,
    /// The last bytes before it.
    pub tail: String,
}

/// See [`crate::protocol::Anchor`].
#[derive(Debug, Deserialize)]
pub struct Anchor {
    /// Which anchor.
    pub anchor: u64,
    /// Its line.
    pub line: usize,
    /// Its byte column.
    pub column: usize,
}

/// See [`crate::protocol::ReleaseAnchor`].
#[derive(Debug, Deserialize)]
pub struct ReleaseAnchor {
    /// Which anchor.
    pub anchor: u64,
}

/// See [`crate::protocol::Notify`].
#[derive(Debug, Deserialize)]
pub struct Notice {
    /// `info`, `warn` or `error`.
    pub level: String,
    /// Full sentences.
    pub message: String,
}

/// See [`crate::protocol::UserEvent`].
#[derive(Debug, Deserialize)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// What it says.
    pub data: Value,
}

/// See [`crate::protocol::Ask`].
#[derive(Debug, Deserialize)]
pub struct Ask {
    /// Comes back in the answer.
    pub ask: u64,
    /// The calls.
    pub calls: Vec<FunctionCall>,
}

/// See [`crate::protocol::FunctionCall`].
#[derive(Debug, Deserialize)]
pub struct FunctionCall {
    /// Whom to ask.
    pub functions: Vec<u64>,
    /// What each gets.
    pub arguments: Vec<Value>,
}

/// See [`crate::protocol::OpenText`].
#[derive(Debug, Deserialize)]
pub struct OpenText {
    /// Comes back in the answer.
    pub ask: u64,
    /// Absolute.
    pub path: String,
}

/// A call that waits once more.
#[derive(Debug, Deserialize)]
pub struct ShownAgain {
    /// Its id.
    pub id: String,
}

/// See [`crate::protocol::Prompt`].
#[derive(Debug, Deserialize)]
pub struct Prompt {
    /// Comes back in the answer.
    pub ask: u64,
    /// What is asked.
    pub title: String,
    /// What there is to choose from.
    pub items: Option<Vec<String>>,
    /// What stands there already.
    pub initial: Option<String>,
}

/// Reads a message.
///
/// # Errors
///
/// It does not have the form that its name promises.
pub fn read(message: Message) -> Result<FromHost, serde_json::Error> {
    fn typed<T: DeserializeOwned>(payload: Value) -> Result<T, serde_json::Error> {
        serde_json::from_value(payload)
    }
    let payload = message.payload;
    Ok(match message.name.as_str() {
        "apply" => FromHost::Apply(typed(payload)?),
        "append" => FromHost::Append(typed(payload)?),
        "release_anchor" => FromHost::ReleaseAnchor(typed(payload)?),
        "notify" => FromHost::Notify(typed(payload)?),
        "event" => FromHost::Event(typed(payload)?),
        "ask" => FromHost::Ask(typed(payload)?),
        "open_text" => FromHost::OpenText(typed(payload)?),
        "replace_text" => FromHost::ReplaceText(typed(payload)?),
        "prompt" => FromHost::Prompt(typed(payload)?),
        "answer_text" => FromHost::AnswerText(typed(payload)?),
        "note" => FromHost::Note(typed(payload)?),
        "would_send" => FromHost::WouldSend(payload),
        "would_run" => FromHost::WouldRun(payload),
        "shown_again" => FromHost::ShownAgain(typed(payload)?),
        _ => FromHost::Drawing,
    })
}
