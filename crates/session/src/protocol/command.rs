//! Keys and `:Flemma` commands of the user.

use std::collections::HashMap;

use chat::approval::CallKey;
use serde::Deserialize;
use serde_json::Value;

use super::{BufferId, WindowId};

/// A key or command of the user, and what was on the screen when it was given.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Message")]
pub struct EditorCommand {
    /// The current buffer.
    pub buffer: BufferId,
    /// The action.
    pub action: Action,
    /// The cursor's line.
    pub line: usize,
    /// The current window.
    pub window: WindowId,
    /// The last call on the screen that was shown again.
    pub shown: Option<ShownAgain>,
    /// IDs of the marks of pending calls that are folded away in the window.
    pub hidden: Vec<String>,
    /// How long each pending call has been on the screen, in milliseconds, by the ID of its
    /// mark. Calls that were not drawn yet are absent.
    pub drawn_ms: HashMap<String, u64>,
}

/// See [`MarkItem::again`](super::MarkItem::again).
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct ShownAgain {
    /// The mark's counter.
    pub again: u64,
    /// How long the call has been on the screen, in milliseconds.
    pub for_ms: u64,
}

/// A key or command of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Ctrl-]: start the next phase.
    Advance {
        /// True if the key was pressed in Insert mode.
        from_insert: bool,
    },
    /// Send the conversation as it is.
    Send,
    /// Run or resolve the call at the cursor.
    Resolve,
    /// Approve a call, or all if the word is `all`.
    Approve(Option<String>),
    /// Choose a rule that approves calls like the pending one.
    Allow,
    /// Reject a call for this reason.
    Reject(Option<String>),
    /// Send a message while the model works.
    Steer(String),
    /// Send a message when the model is done.
    Queue(String),
    /// Add a text to the prompt.
    Ask {
        /// The selected text, and the question.
        text: String,
        /// True if the text is sent.
        send: bool,
    },
    /// List the queued messages.
    ListQueue,
    /// Move the queued messages to the prompt.
    TakeBackQueue,
    /// Stop the request, or cancel all running and pending calls.
    Cancel,
    /// Cancel the running call at the cursor, or the oldest one.
    CancelTool,
    /// Same as `Cancel`.
    CancelTools,
    /// List the running calls and all tools.
    ListTools,
    /// Open a copy of the chat up to the message at the cursor.
    Fork,
    /// Open the chat as Markdown or HTML, under this name.
    Export(Option<String>),
    /// Rename the chat's file to this title.
    Rename(Option<String>),
    /// Review what the call at the cursor would change.
    Review,
    /// Try the call at the cursor.
    Try,
    /// Review what changed since a message, or what changed in this file.
    ReviewTurn(Option<String>),
    /// A key in the window of a pending call, with the window's number.
    Decide(u64, Choice),
    /// Turn reviews of all changes in this chat on or off.
    ToggleReview,
    /// A review of this call ended. Made by the session itself.
    EndReview(CallKey),
    /// Restore the files of the last call, or this file.
    Undo(Option<String>),
    /// Revert the last undo.
    Redo,
    /// Restore the files, or the chat, as they were at an earlier message.
    Rewind,
    /// Report what the next request contains.
    Context,
    /// Send old results shortened, or all of them whole.
    Shorten(bool),
    /// Have the model write a summary, with what the user wants from it.
    Compact(String),
    /// Report tokens and cost.
    Usage(Option<u32>),
    /// Report recent decisions.
    Log,
    /// Report the state of the chat.
    Status {
        /// True if every option is reported.
        verbose: bool,
    },
    /// Trust the chat's frontmatter, or revoke that.
    TrustChat(bool),
    /// Trust the project's options, or revoke that.
    TrustProject(bool),
    /// Trust the project's tools, or revoke that.
    TrustTools(bool),
    /// Change provider, model, or parameters of this chat. Holds an object of words.
    Switch(Value),
    /// The same for every chat.
    SwitchAll(Value),
    /// Put the chat into plan mode, or end it.
    Plan,
    /// Apply the fix of the diagnostic at the cursor.
    Fix,
    /// Let the chat send the file that the line names.
    AllowFile,
    /// Read the references that were sent anew.
    Refresh,
    /// Report or change whether phases start without a key.
    Autopilot(Toggle),
    /// Report or change whether commands run in the sandbox.
    Sandbox(Toggle),
    /// Remove what trials of this chat wrote to ignored folders.
    ClearScratch,
    /// Open a chat with the tutor.
    Tutor,
    /// Run a command that is written as YAML. Holds its words and the folder.
    Run(Value),
    /// Report on the background jobs of all chats.
    Jobs,
    /// Report on the MCP servers, or on one.
    Mcp(Option<String>),
    /// Accept the current tools of a server.
    AcceptMcp(Option<String>),
    /// Restart a server.
    RestartMcp(Option<String>),
    /// Log in at this MCP server.
    LogInMcp(Option<String>),
    /// Remove the login at this MCP server.
    LogOutMcp(Option<String>),
    /// Trust the servers of the project.
    TrustMcp,
    /// A name that this version does not know.
    Unknown(String),
}

/// The user's choice in the window of a pending call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Try the call.
    Try,
    /// Run the call.
    Run,
    /// Run every pending call.
    RunAll,
    /// Choose a rule that approves calls like it.
    Allow,
    /// Reject the call for this reason, which may be empty.
    Reject(String),
}

impl Choice {
    fn parse(arguments: &Value) -> Option<Self> {
        match arguments["choice"].as_str()? {
            "try" => Some(Self::Try),
            "run" => Some(Self::Run),
            "run_all" => Some(Self::RunAll),
            "allow" => Some(Self::Allow),
            "reject" => Some(Self::Reject(text(arguments).unwrap_or_default())),
            _ => None,
        }
    }
}

/// The effect of a command on an option that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toggle {
    /// Turns it on.
    Enable,
    /// Turns it off.
    Disable,
    /// Reports it.
    Report,
}

/// Returns the first argument of a command.
fn first_word(arguments: &Value) -> Option<String> {
    arguments["1"].as_str().map(str::to_owned)
}

/// Returns what follows a command that takes one text.
fn text(arguments: &Value) -> Option<String> {
    arguments["text"].as_str().map(str::to_owned)
}

impl Action {
    /// Parses a command's name and arguments, as Lua sends them.
    pub fn parse(name: &str, arguments: Value) -> Self {
        let text = || text(&arguments);
        let word = || first_word(&arguments);
        match name {
            "advance" => Self::Advance {
                from_insert: arguments["insert"] == true,
            },
            "send" => Self::Send,
            "resolve" | "tool:execute" => Self::Resolve,
            "approve" => Self::Approve(word()),
            "allow" => Self::Allow,
            "review" => Self::parse_review(&arguments),
            "try" => Self::Try,
            "decide" => match (arguments["number"].as_u64(), Choice::parse(&arguments)) {
                (Some(number), Some(choice)) => Self::Decide(number, choice),
                _ => Self::Unknown(name.to_owned()),
            },
            "reject" => Self::Reject(text()),
            "steer" => Self::Steer(text().unwrap_or_default()),
            "queue" => text().map_or(Self::ListQueue, Self::Queue),
            "ask" => Self::Ask {
                send: arguments["send"] == true,
                text: text().unwrap_or_default(),
            },
            "queue!" => Self::TakeBackQueue,
            "cancel" => Self::Cancel,
            "tool:cancel" => Self::CancelTool,
            "tool:cancel-all" => Self::CancelTools,
            "fix" => Self::Fix,
            "allow-file" => Self::AllowFile,
            "run" => Self::Run(arguments),
            "trust" if word().as_deref() == Some("tools") => Self::TrustTools(true),
            "trust!" if word().as_deref() == Some("tools") => Self::TrustTools(false),
            "trust" if word().as_deref() == Some("project") => Self::TrustProject(true),
            "trust!" if word().as_deref() == Some("project") => Self::TrustProject(false),
            "trust" => Self::TrustChat(true),
            "trust!" => Self::TrustChat(false),
            "switch" => Self::Switch(arguments),
            "switch!" => Self::SwitchAll(arguments),
            "plan" => Self::Plan,
            "review!" => Self::ToggleReview,
            "autopilot:enable" => Self::Autopilot(Toggle::Enable),
            "autopilot:disable" => Self::Autopilot(Toggle::Disable),
            "autopilot:status" => Self::Autopilot(Toggle::Report),
            "sandbox:enable" => Self::Sandbox(Toggle::Enable),
            "sandbox:disable" => Self::Sandbox(Toggle::Disable),
            "sandbox:status" => Self::Sandbox(Toggle::Report),
            "sandbox:clear" => Self::ClearScratch,
            "mcp:accept" => Self::AcceptMcp(word()),
            "mcp:restart" => Self::RestartMcp(word()),
            "mcp:login" => Self::LogInMcp(word()),
            "mcp:logout" => Self::LogOutMcp(word()),
            "mcp:trust" => Self::TrustMcp,
            "tutor" => Self::Tutor,
            "fork" => Self::Fork,
            "export" => Self::Export(text()),
            "rename" => Self::Rename(text()),
            "undo" => Self::Undo(text()),
            "redo" => Self::Redo,
            "rewind" => Self::Rewind,
            "refresh" => Self::Refresh,
            "tool:list" => Self::ListTools,
            "context" => Self::Context,
            "compact" => Self::Compact(text().unwrap_or_default()),
            "shorten" => Self::Shorten(true),
            "shorten!" => Self::Shorten(false),
            "usage" => Self::Usage(word().and_then(|it| it.parse().ok())),
            "log" => Self::Log,
            "status" => Self::Status {
                verbose: word().is_some_and(|it| it == "verbose"),
            },
            "jobs" => Self::Jobs,
            "mcp" => Self::Mcp(word()),
            other => Self::Unknown(other.to_owned()),
        }
    }

    fn parse_review(arguments: &Value) -> Self {
        let Some(words) = text(arguments) else {
            return Self::Review;
        };
        match words.split_once(char::is_whitespace) {
            _ if words == "turn" => Self::ReviewTurn(None),
            Some(("turn", file)) => Self::ReviewTurn(Some(file.trim().to_owned())),
            _ => Self::Unknown(format!("review {words}")),
        }
    }

    /// Returns true if it may send a request or run a tool.
    pub fn works(&self) -> bool {
        let speaks = matches!(self, Self::Steer(_) | Self::Queue(_) | Self::Ask { .. });
        let approves = matches!(
            self,
            Self::Resolve | Self::Approve(_) | Self::Allow | Self::Try
        );
        let decides = matches!(
            self,
            Self::Reject(_) | Self::EndReview(_) | Self::Decide(..)
        );
        let sends = matches!(self, Self::Advance { .. } | Self::Send | Self::Compact(_));
        speaks || approves || decides || sends
    }

    /// Returns true if it may approve pending calls.
    pub fn approves(&self) -> bool {
        matches!(
            self,
            Self::Advance { .. }
                | Self::Resolve
                | Self::Approve(_)
                | Self::Allow
                | Self::Decide(_, Choice::Run | Choice::RunAll | Choice::Allow)
        )
    }

    /// Returns true if it carries a message to the model.
    pub fn has_text(&self) -> bool {
        matches!(
            self,
            Self::Steer(_)
                | Self::Queue(_)
                | Self::Ask { .. }
                | Self::Reject(Some(_))
                | Self::Decide(_, Choice::Reject(_))
        )
    }
}

/// A [`EditorCommand`] as Lua sends it.
#[derive(Deserialize)]
struct Message {
    buffer: BufferId,
    name: String,
    line: usize,
    window: WindowId,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    shown: Option<ShownAgain>,
    #[serde(default)]
    hidden: Vec<String>,
    #[serde(default)]
    drawn_ms: HashMap<String, u64>,
}

impl From<Message> for EditorCommand {
    fn from(message: Message) -> Self {
        Self {
            buffer: message.buffer,
            action: Action::parse(&message.name, message.arguments),
            line: message.line,
            window: message.window,
            shown: message.shown,
            hidden: message.hidden,
            drawn_ms: message.drawn_ms,
        }
    }
}
