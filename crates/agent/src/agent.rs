//! A model with tools, and the conversation with it: what a program sets up once.
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
use crate::remote::{Input, Remote};

pub use run::Run;

/// Most requests in a row without a new prompt, as in the editor.
const MAX_TURNS: u32 = 100;
/// Most calls that run at the same time, as in the editor.
const MAX_CONCURRENT: usize = 4;

/// A conversation with a model that calls tools.
///
/// The conversation goes on from prompt to prompt. See the crate for an example.
pub struct Agent {
    provider: Provider,
    registry: Registry,
    approval: Approval,
    context: ToolContext,
    max_turns: u32,
    max_concurrent: usize,
    /// What is wrong with what was set up.
    problem: Option<Problem>,
    conversation: Conversation,
    cycle: Cycle,
    /// How many requests were made.
    requests: u64,
    inbox: mpsc::UnboundedSender<Input>,
    inputs: mpsc::UnboundedReceiver<Input>,
}

impl Agent {
    /// A conversation with this provider, without tools so far.
    pub fn new(provider: Provider) -> Self {
        let (inbox, inputs) = mpsc::unbounded_channel();
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

    /// Offers these tools to the model, in place of those before. Two tools of one name
    /// are a mistake, which the next prompt ends with.
    #[must_use]
    pub fn with_tools(self, tools: Vec<Box<dyn Tool>>) -> Self {
        self.with_shared_tools(tools.into_iter().map(Arc::from).collect())
    }

    /// [`Agent::with_tools`], for tools that others have as well.
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

    /// Tells the model how to behave, before everything else it is told.
    #[must_use]
    pub fn with_system(mut self, words: &str) -> Self {
        self.conversation.instruct(words);
        self
    }

    /// Puts an earlier message into the conversation, before what is prompted next.
    #[must_use]
    pub fn with_said(mut self, role: PromptRole, words: &str) -> Self {
        match role {
            PromptRole::User => self.conversation.say(words),
            PromptRole::Assistant => {
                let mut writer = AnswerWriter::new();
                writer.text(words);
                writer.finish(None);
                self.conversation.answer(&writer.take());
            }
        }
        self
    }

    /// Approves calls of these tools, beside those of `$readonly`, which is approved from
    /// the start. A name may be that of a preset: `$readonly` (`read`), `$default`
    /// (`read`, `write`, `edit`) or `$standard` (those and what looks around).
    ///
    /// A call that nothing approves does not run; the model is told so.
    #[must_use]
    pub fn approve(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.approval.approve(names);
        self
    }

    /// Refuses calls of these tools, whatever approves them.
    #[must_use]
    pub fn deny(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.approval.deny(names);
        self
    }

    /// Approves every call that [`Agent::deny`] does not refuse, except of tools that
    /// ask always: those want their own name. A model can then do with this machine
    /// what its tools can.
    #[must_use]
    pub fn approve_all(mut self) -> Self {
        self.approval.approve_all();
        self
    }

    /// Asks a function about each call that no name approves or refuses, and waits for it
    /// as long as it takes: `true` runs the call. A function that panics refuses.
    #[must_use]
    pub fn ask<F>(mut self, ask: impl Fn(Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.approval.ask(ask);
        self
    }

    /// Makes at most so many requests in a row without a new prompt; at least one.
    /// Without this it is 100.
    #[must_use]
    pub fn with_max_turns(mut self, requests: u32) -> Self {
        self.max_turns = requests.max(1);
        self
    }

    /// Runs at most so many calls at the same time: 1 runs them strictly in their order,
    /// 0 means any number. Without this it is 4.
    #[must_use]
    pub fn with_max_concurrent(mut self, calls: usize) -> Self {
        self.max_concurrent = calls;
        self
    }

    /// Runs calls in this: their folder, time limit, sandbox, the tools of others that
    /// they may call, and where long output goes.
    /// Without this it is the current folder, 30 seconds, no sandbox, and
    /// `flemma/outputs` in the user's folder for states.
    #[must_use]
    pub fn with_context(mut self, context: ToolContext) -> Self {
        self.context = context;
        self
    }

    /// A handle for whoever steers or cancels while a prompt is answered.
    pub fn remote(&self) -> Remote {
        Remote(self.inbox.clone())
    }

    /// Says something to the model, and gives the run that answers it: nothing happens
    /// until [`Run::next`] is called.
    pub fn prompt(&mut self, words: &str) -> Run<'_> {
        // What was cancelled before this prompt was another one.
        let mut early = VecDeque::new();
        while let Ok(input) = self.inputs.try_recv() {
            if let Input::Steer(words) | Input::FollowUp(words) = input {
                early.push_back(words);
            }
        }
        Run::start(self, words, early)
    }

    /// The conversation so far, as the text of a `.chat` file.
    pub fn chat(&self) -> String {
        self.conversation.text()
    }

    /// What the cycle goes by.
    ///
    /// # Errors
    ///
    /// What was set up makes no sense.
    fn options(&self) -> Result<Options, Problem> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let asking = self.registry.iter().filter(|tool| tool.asks_always());
        let asking: BTreeSet<String> = asking.map(|tool| tool.name().to_owned()).collect();
        // Those of others can be called where a tool is offered that calls them.
        let others = self.context.nested.tools().into_iter();
        let own = self.registry.iter().map(|tool| tool.definition());
        let tools = others.chain(own).map(|tool| (tool.name.clone(), tool));
        Ok(Options {
            chain: self.approval.chain(asking)?,
            tools: tools.collect(),
            autopilot: true,
            max_turns: self.max_turns,
            max_concurrent: self.max_concurrent,
            ..Options::default()
        })
    }
}

/// Where long outputs go: the XDG base directory specification's folder for states.
fn outputs() -> PathBuf {
    tools::state_home().join("flemma/outputs")
}
