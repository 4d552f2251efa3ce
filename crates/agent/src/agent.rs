//! An agent: a model with tools, settings, and a conversation.
//!
//! `run` answers one prompt.

mod run;

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use chat::Problem;
use chat::answer::AnswerWriter;
use chat::cycle::{Cycle, Options};
use chat::prompt::PromptRole;
use tokio::sync::mpsc;
use tools::{Precedence, Registry, Tool, ToolContext};

use crate::approval::Approval;
use crate::conversation::Conversation;
use crate::event::Call;
use crate::provider::Provider;
use crate::remote::{Remote, RunInput};

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
                self.conversation.answer(&writer.take());
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
    /// output is stored. Default: the current folder, 30 seconds, no sandbox, and
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
        let asking = self.registry.iter().filter(|tool| tool.asks_always());
        let asking: BTreeSet<String> = asking.map(|tool| tool.name().to_owned()).collect();
        // Nested tools are callable only through a tool that runs them.
        let others = self.context.nested.tools().into_iter();
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
