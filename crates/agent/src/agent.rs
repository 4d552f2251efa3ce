//! An agent: a model with tools, settings, and a conversation.
//!
//! `run` answers one prompt.

mod approval;
mod run;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use chat::answer::AnswerWriter;
use chat::approval::CallKey;
use chat::cycle::{Cycle, Options};
use chat::document::{Document, Role};
use chat::prompt::{self, Attachment, Own, Prompt, PromptMessage, PromptRole, Selection};
use chat::result_files::{self, ResultFile, Unattached};
use chat::server_tools::ExactAnswer;
use chat::text::Text;
use chat::tool::{ToolDefinition, ToolUseId};
use chat::write::{self, TextEdit};
use chat::{Problem, references, say, scan};
use provider::{StreamEvent, Usage};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::mpsc::UnboundedSender;
use tools::{Precedence, Ran, Registry, Tool, ToolContext};

use self::approval::Approval;
use crate::provider::Provider;

pub use run::Run;

/// Maximum consecutive requests per prompt, as in the editor.
const MAX_TURNS: u32 = 100;
/// Maximum concurrent calls, as in the editor.
const MAX_CONCURRENT: usize = 4;

/// A conversation with a model that calls tools.
///
/// The conversation continues from prompt to prompt. The crate documentation has an
/// example.
pub struct Agent {
    provider: Provider,
    registry: Registry,
    approval: Approval,
    context: ToolContext,
    max_turns: u32,
    max_concurrent: usize,
    /// A setup error, reported by the next prompt.
    problem: Option<Problem>,
    conversation: Conversation,
    cycle: Cycle,
    /// Number of requests so far, also used as request IDs.
    requests: u64,
    inbox: mpsc::UnboundedSender<RunInput>,
    inputs: mpsc::UnboundedReceiver<RunInput>,
}

impl Agent {
    /// Creates an agent without tools.
    pub fn new(provider: Provider) -> Self {
        let (inbox, inputs) = mpsc::unbounded_channel();
        // The current folder may have been deleted.
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        Self {
            provider,
            registry: Registry::new(),
            approval: Approval::default(),
            context: ToolContext::new(cwd, outputs()),
            max_turns: MAX_TURNS,
            max_concurrent: MAX_CONCURRENT,
            problem: None,
            conversation: Conversation::default(),
            cycle: Cycle::default(),
            requests: 0,
            inbox,
            inputs,
        }
    }

    /// Sets the tools offered to the model. Two tools with the same name are an error,
    /// which the next prompt reports.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Box<dyn Tool>>) -> Self {
        self.with_shared_tools(tools.into_iter().map(Arc::from).collect())
    }

    /// Like [`Agent::with_tools`], for shared tools.
    #[must_use]
    pub fn with_shared_tools(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        let clashes = self.registry.set_source("agent", Precedence::Own, tools);
        self.problem = clashes.first().map(|clash| {
            Problem::new(
                format!(
                    "Two tools are named \"{}\", so nothing was sent.",
                    clash.name
                ),
                "Give one of them another name.",
            )
        });
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn with_system(mut self, words: &str) -> Self {
        self.conversation.instruct(words);
        self
    }

    /// Appends an earlier message to the conversation.
    #[must_use]
    pub fn with_said(mut self, role: PromptRole, words: &str) -> Self {
        match role {
            PromptRole::System => self.conversation.instruct(words),
            PromptRole::User => self.conversation.say(words),
            PromptRole::Assistant => {
                // Written as an answer would be, so that the text is escaped and can't become a
                // call.
                let mut writer = AnswerWriter::new();
                writer.text(words);
                writer.finish(None);
                self.conversation.answer(&writer.take(), None);
            }
        }
        self
    }

    /// Approves calls of these tools, in addition to the preset `$readonly`, which is
    /// approved by default. A name may be a preset: `$readonly` (`read`), `$default`
    /// (`read`, `write`, `edit`), or `$standard` (those and the tools that list and search
    /// files).
    ///
    /// A call that is not approved does not run; its result tells the model.
    #[must_use]
    pub fn approve(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.approval.approve(names);
        self
    }

    /// Denies calls of these tools, whatever approves them.
    #[must_use]
    pub fn deny(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.approval.deny(names);
        self
    }

    /// Approves every call that [`Agent::deny`] does not deny, except calls of tools that
    /// always ask: those must be approved by name. The model can then do anything to this
    /// machine that its tools can.
    #[must_use]
    pub fn approve_all(mut self) -> Self {
        self.approval.approve_all();
        self
    }

    /// Sets a function that decides about calls that no name approves or denies: `true`
    /// runs the call. The run waits for it without a time limit. A panic denies the call.
    #[must_use]
    pub fn ask<F>(mut self, ask: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.approval.ask(ask);
        self
    }

    /// Limits consecutive requests per prompt; at least one. Default: 100.
    #[must_use]
    pub fn with_max_turns(mut self, requests: u32) -> Self {
        self.max_turns = requests.max(1);
        self
    }

    /// Limits concurrent calls: 1 runs them strictly in order, 0 means unlimited. Default:
    /// 4.
    #[must_use]
    pub fn with_max_concurrent(mut self, calls: usize) -> Self {
        self.max_concurrent = calls;
        self
    }

    /// Sets the context of calls: folder, time limit, sandbox, nested tools, and where long
    /// output is stored. Default: the current folder, 120 seconds, no sandbox, and
    /// `flemma/outputs` in the user's state folder.
    #[must_use]
    pub fn with_context(mut self, context: ToolContext) -> Self {
        self.context = context;
        self
    }

    /// Returns a handle that can steer or cancel while a prompt is answered.
    pub fn remote(&self) -> Remote {
        Remote(self.inbox.clone())
    }

    /// Appends a prompt and returns the run that answers it. Nothing happens until
    /// [`Run::next`] is called.
    pub fn prompt(&mut self, words: &str) -> Run<'_> {
        // A cancellation sent before this prompt was meant for an earlier one.
        let mut early = VecDeque::new();
        while let Ok(input) = self.inputs.try_recv() {
            if let RunInput::Steer(words) | RunInput::FollowUp(words) = input {
                early.push_back(words);
            }
        }
        Run::start(self, words, early)
    }

    /// Returns the conversation as the text of a `.chat` file.
    pub fn chat(&self) -> String {
        self.conversation.text()
    }

    /// Returns the options of the cycle.
    ///
    /// # Errors
    ///
    /// The settings are invalid.
    fn options(&self) -> Result<Options, Problem> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let asking = self
            .registry
            .iter()
            .filter(|tool| tool.traits().asks_always);
        let asking: BTreeSet<String> = asking.map(|tool| tool.name().to_owned()).collect();
        // Nested tools are callable only through a tool that runs them.
        let others = self.context.exec.nested.tools().into_iter();
        let own = self.registry.iter().map(|tool| tool.definition());
        // Later, so that an own tool replaces a nested one of the same name.
        let tools = others.chain(own).map(|tool| (tool.name.clone(), tool));
        Ok(Options {
            chain: self.approval.chain(asking)?,
            tools: tools.collect(),
            // There is no user to start the next phase.
            autopilot: true,
            max_turns: self.max_turns,
            max_concurrent: self.max_concurrent,
            ..Options::default()
        })
    }
}

/// Folder for long outputs, in the state folder of the XDG base directory specification.
fn outputs() -> PathBuf {
    tools::state_home().join("flemma/outputs")
}

/// An in-memory `.chat` document.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    text: Text,
    /// Files that results show, by the call and the line about them.
    files: HashMap<(ToolUseId, String), Attachment>,
    /// Answers that go back in the form of their provider, by message.
    exact: HashMap<usize, ExactAnswer>,
    /// Number of messages already reported to the program.
    reported: usize,
}

impl Conversation {
    pub(crate) fn document(&self) -> Document<'_> {
        Document::parse(&self.text)
    }

    /// Returns the text as a `.chat` file would contain it.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.text.bytes()).into_owned()
    }

    pub(crate) fn apply(&mut self, edits: Vec<TextEdit>) {
        // From the last edit to the first, so that their line numbers stay valid.
        for edit in edits.into_iter().rev() {
            self.text.splice(edit.lines, &edit.replacement);
        }
    }

    /// Sets the system prompt.
    pub(crate) fn instruct(&mut self, words: &str) {
        let words = words.trim_end();
        let words = references::escaped("", words).unwrap_or_else(|| words.to_owned());
        let lines: Vec<_> = words.lines().map(scan::escape_line).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.as_ref()).collect();
        let edit = write::append_message(&self.document(), Role::System, &lines);
        self.apply(vec![edit]);
        // An open fence would swallow the first message.
        self.apply(write::close_fences(&self.document()));
    }

    /// Appends a message of the user.
    pub(crate) fn say(&mut self, words: &str) {
        let edit = say::say(&self.document(), &[words]);
        self.apply(vec![edit]);
    }

    /// Appends an answer; `text` and `exact` come from [`crate::answer::AnswerBuilder`].
    pub(crate) fn answer(&mut self, text: &str, exact: Option<ExactAnswer>) {
        // The text starts with a line end, because it is made to follow a role marker.
        let lines: Vec<&str> = text.split('\n').skip(1).collect();
        let edit = write::append_message(&self.document(), Role::Assistant, &lines);
        self.apply(vec![edit]);
        let last = self.document().messages.len() - 1;
        self.exact.extend(exact.map(|it| (last, it)));
    }

    /// Returns the result of a call, if the document has one.
    pub(crate) fn result(&self, id: &ToolUseId) -> Option<String> {
        let document = self.document();
        let mut calls = document.turns().rev().flat_map(|turn| turn.calls);
        let call = calls.find(|call| call.tool_use.id == *id && call.is_answered())?;
        let result = call.result?;
        Some(document.lossy(result.body.clone()).into_owned())
    }

    /// Returns the request for this conversation with these tools.
    pub(crate) fn prompt(&self, tools: &[ToolDefinition]) -> Prompt {
        let document = self.document();
        let selection = Selection {
            exact: &|message| {
                let at = document.message_at(message.lines.start)?;
                self.exact.get(&at).cloned()
            },
            ..Selection::as_written(0..document.messages.len())
        };
        let mut prompt = prompt::build_with(&document, tools, &Own::new(), &selection);
        result_files::attach(&mut prompt, |id, line| {
            let file = self.files.get(&(id.clone(), line.to_owned()));
            file.cloned().ok_or(Unattached::Unknown)
        });
        prompt
    }

    /// Keeps the files that the result of a call shows.
    pub(crate) fn keep_files(&mut self, id: &ToolUseId, files: Vec<ResultFile>) {
        let files = files.into_iter().map(|it| ((id.clone(), it.line), it.file));
        self.files.extend(files);
    }

    /// Returns the messages of a request that were not reported before.
    pub(crate) fn new_messages(&mut self, prompt: &Prompt) -> Vec<PromptMessage> {
        let new = prompt.messages.get(self.reported..).unwrap_or_default();
        self.reported = prompt.messages.len();
        new.to_vec()
    }

    /// Returns the answer just written, as a message. Leaves out what follows it in the
    /// request: placeholder results, because its calls have none yet.
    pub(crate) fn new_answer(&mut self) -> Option<PromptMessage> {
        let mut prompt = self.prompt(&[]);
        let is_answer = |message: &PromptMessage| message.role == PromptRole::Assistant;
        let at = prompt.messages.iter().rposition(is_answer)?;
        self.reported = at + 1;
        Some(prompt.messages.swap_remove(at))
    }
}

/// Something that happened while a prompt was answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A message of the conversation in its final form: the user's, with tool results
    /// first, or the model's.
    Message(PromptMessage),
    /// A request was sent.
    RequestStarted {
        /// Its number in this run, from 1.
        number: u32,
    },
    /// The request is waiting, for example for an overloaded server.
    Waiting(String),
    /// A piece of the answer's text.
    Text(String),
    /// All text since the last event of another kind was thinking.
    TextWasThinking,
    /// A sentence about the answer or its request, for the user.
    Remark(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// The model called a tool. Whether it runs is decided when the answer is complete.
    ToolUse(Call),
    /// The answer ended.
    RequestFinished {
        /// Token usage, as far as the provider reports it. The requests that continue a paused answer
        /// have their own, because each has its own price.
        usages: Vec<Usage>,
    },
    /// A call was approved and started.
    ToolStarted {
        /// The call.
        call: Call,
        /// The tool's display name.
        label: String,
    },
    /// Output of a running call.
    ToolOutput {
        /// The call's ID.
        id: ToolUseId,
        /// The new output.
        text: String,
    },
    /// A running call ended.
    ToolFinished {
        /// The call's ID.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The tool's display name.
        label: String,
        /// The result for the model.
        content: String,
        /// True if the result is an error.
        is_error: bool,
        /// Details that are not sent to the provider.
        details: Option<Value>,
    },
    /// A call did not run: it was not approved, was invalid, or was skipped by steering.
    ToolNotRun {
        /// The call's ID.
        id: ToolUseId,
        /// The tool's name.
        name: String,
        /// The result for the model.
        why: String,
    },
    /// The request limit was reached; the results of the last calls are sent with the next
    /// prompt.
    TurnLimit {
        /// Number of requests.
        requests: u32,
    },
    /// The run ended. This is its last event.
    Finished(Ended),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The call's ID.
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// The arguments; a string if they are not valid JSON.
    pub input: Value,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The model completed its answer.
    Done,
    /// The limit of requests was reached, see [`Event::TurnLimit`].
    TurnLimit,
    /// It was cancelled.
    Cancelled,
    /// A request failed or could not be sent.
    Failed(Problem),
}

/// An input to a run.
#[derive(Debug)]
pub(crate) enum RunInput {
    /// Events of the request with this number.
    Stream(u64, Vec<StreamEvent>),
    /// The reason why the request with this number waits.
    Waiting(u64, String),
    /// Output of a running call.
    Output(ToolUseId, String),
    /// A call ended.
    Ended(CallKey, Ran),
    /// The program's decision about a call.
    Decided(CallKey, bool),
    /// A steering message.
    Steer(String),
    /// A message to send when the model is done.
    FollowUp(String),
    /// Cancel the run.
    Cancel,
}

/// A handle to steer and cancel a conversation from any task.
#[derive(Debug, Clone)]
pub struct Remote(pub(crate) UnboundedSender<RunInput>);

impl Remote {
    /// Steers the model: running calls finish, calls that have not started are skipped, and
    /// the model reads this message next.
    pub fn steer(&self, words: impl Into<String>) {
        self.send(RunInput::Steer(words.into()));
    }

    /// Queues a message that is sent when the model is done.
    pub fn follow_up(&self, words: impl Into<String>) {
        self.send(RunInput::FollowUp(words.into()));
    }

    /// Cancels the open request or the running calls; each call still gets a result. Does
    /// nothing if the conversation is idle.
    pub fn cancel(&self) {
        self.send(RunInput::Cancel);
    }

    fn send(&self, input: RunInput) {
        // If the agent was dropped, there is nothing left to do.
        drop(self.0.send(input));
    }
}
