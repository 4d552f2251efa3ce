//! The front end of the command line: plays the editor for one chat, so that a shell
//! gets what a key in Neovim does. Holds the lines, carries out the host's edits,
//! keeps the file, and turns what the host says into output.
//!
//! Decides nothing about a chat: it presses keys, and answers questions as the user
//! told it to.

mod compose;
mod dry_run;
mod events;
mod file;
mod in_process;
mod news;
mod opening;
mod outcome;
mod output;
mod prompts;
mod saving;
mod signals;
mod stdin_prompt;
mod waiting;

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use chat::approval::Policy;
use chat::text::{Lines, Text};
use chat::tool::ToolUseId;
use serde_bytes::ByteBuf;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::in_process::{FrontendCall, InProcess};
use self::news::Told;
use self::outcome::Outcome;
use self::output::Output;
use self::signals::Signals;
use self::stdin_prompt::Answers;
use crate::commands::current_folder;
use crate::editor::Editor;
use crate::exit_code::Code;
use crate::frontend::buffer::TextBuffer;
use crate::host::Host;
use crate::lease::Lease;
use crate::protocol::*;
use crate::runtime;

pub use self::compose::{call, fenced};
pub use self::file::ChatFile;
pub use self::output::{Show, in_a_shell};

/// The number of the one buffer.
const BUFFER: BufferId = 1;

/// A chat to go on with.
#[derive(Debug)]
pub enum Chat {
    /// One in a file.
    File {
        /// Which file.
        path: PathBuf,
        /// What the user says first.
        message: Option<String>,
    },
    /// A new chat.
    New {
        /// Its text.
        lines: Vec<String>,
        /// The file for it, which must not exist.
        keep: Option<PathBuf>,
    },
}

/// What to do with a chat, and how.
#[derive(Debug)]
pub struct Job {
    /// The chat.
    pub chat: Chat,
    /// The options, as `setup()` would get them; nothing is wrong with them.
    pub options: Value,
    /// The configuration file of the options.
    pub config: Option<PathBuf>,
    /// Most requests in a row, as the options say.
    pub max_turns: u32,
    /// What runs without asking, beside what the options let run.
    pub approve: Policy,
    /// Whether every question is answered with yes.
    pub yes: bool,
    /// What standard output gets.
    pub show: Show,
    /// Whether the model's wishes are shown in full.
    pub debug: bool,
    /// Whether only what would happen is shown.
    pub dry_run: bool,
    /// What the user says when the model is done, each time.
    pub follow_ups: Vec<String>,
}

/// Presses Ctrl-] in a chat and stays until it rests.
pub fn run(job: Job) -> ExitCode {
    let ran = runtime::block_on(async {
        let (sender, calls) = mpsc::unbounded_channel();
        Ok::<_, String>(Front::open(job, sender)?.live(calls).await)
    });
    tools::end_descendants();
    match ran.and_then(|code| code) {
        Ok(code) => code.into(),
        Err(problem) => Code::Error.report(&problem),
    }
}

/// See the module.
struct Front {
    host: Host,
    buffer: TextBuffer,
    file: Option<ChatFile>,
    /// Keeps other programs from working on the file.
    lease: Option<Lease>,
    folder: PathBuf,
    saving: saving::Saving,
    output: Output,
    told: Told,
    outcome: Outcome,
    answers: Answers,
    question: Option<waiting::Question>,
    prompts: prompts::Prompts,
    /// Calls that were asked about; none is asked about twice.
    asked: HashSet<(usize, ToolUseId)>,
    /// How often a call was shown anew.
    again: usize,
    yes: bool,
    max_turns: u32,
    /// In a dry run: the calls that would run.
    dry_run: Option<Vec<String>>,
    /// Whether messages wait for the model to be done.
    unsaid: bool,
    /// Whether they were put into the prompt, which is tried once.
    taken_back: bool,
    /// Set when it is over.
    code: Option<Code>,
}

impl Front {
    /// Opens the chat and presses the key.
    fn open(job: Job, calls: mpsc::UnboundedSender<FrontendCall>) -> Result<Self, String> {
        let folder = current_folder()?;
        let dry_run = job.dry_run;
        let editor = Editor::new(InProcess {
            calls,
            dry_run,
            elicitation: io::stdin().is_terminal() && io::stderr().is_terminal(),
        });
        let mut front = Self {
            host: Host::new(editor),
            buffer: TextBuffer::new(BUFFER, Text::default()),
            file: None,
            lease: None,
            folder,
            saving: saving::Saving::default(),
            output: Output::new(job.show, job.debug),
            told: Told::default(),
            outcome: Outcome::default(),
            answers: Answers::default(),
            question: None,
            prompts: prompts::Prompts::default(),
            asked: HashSet::new(),
            again: 0,
            yes: job.yes,
            max_turns: job.max_turns,
            dry_run: dry_run.then(Vec::new),
            unsaid: false,
            taken_back: false,
            code: None,
        };
        front.configure(job.options, job.config, job.approve);
        match job.chat {
            Chat::File { path, message } => front.open_file(&path, message.as_deref())?,
            Chat::New { lines, keep } => {
                if let Some(path) = keep {
                    front.keep_in(&path)?;
                }
                front.attach();
                front.type_lines(0..1, &lines);
            }
        }
        front.press(Action::Advance { from_insert: false }, 0);
        if !dry_run {
            for text in job.follow_ups {
                front.press(Action::Queue(text), 0);
            }
        }
        Ok(front)
    }

    /// Types: changes the text as the user.
    fn type_lines(&mut self, lines: Lines, new: &[String]) {
        self.buffer.splice(lines.clone(), new);
        self.saving.changed();
        self.host.receive(FromEditor::Changed(Changed {
            buffer: BUFFER,
            seq: self.buffer.seq(),
            first: lines.start,
            last: lines.end,
            lines: new.iter().map(|it| ByteBuf::from(it.as_str())).collect(),
            more: false,
            // What the command line writes is the user's.
            typed: Some(usize::MAX),
            undone: false,
        }));
    }

    /// Presses a key, or gives a command, with the cursor on this line.
    fn press(&mut self, action: Action, line: usize) {
        self.host.receive(FromEditor::Command(Command {
            buffer: BUFFER,
            action,
            line,
            window: 1,
            shown: None,
            hidden: Vec::new(),
            drawn_ms: std::collections::HashMap::new(),
        }));
    }

    /// The chat as it stands.
    fn text(&self) -> &Text {
        self.buffer.text()
    }

    async fn live(mut self, mut calls: mpsc::UnboundedReceiver<FrontendCall>) -> Code {
        let mut signals = Signals::listen();
        while self.code.is_none() {
            let save = self.saving.due();
            tokio::select! {
                Some(call) = calls.recv() => self.carry_out(call),
                change = self.host.next_change() => self.host.take_change(change),
                () = signals.stop() => self.stop(),
                answer = waiting::answer(&mut self.question) => self.answered(answer),
                line = self.prompts.line() => self.prompted(line),
                () = sleep_until(save.unwrap_or_else(Instant::now)), if save.is_some() => self.save(),
            }
        }
        self.save();
        let mut code = self.code.unwrap_or(Code::Error);
        self.output.finish(code.number());
        if self.output.tell_lost() && code == Code::Ok {
            code = Code::Error;
        }
        self.lease.take();
        code
    }

    /// Somebody wants us to stop: once as Ctrl-C does, the second time at once.
    fn stop(&mut self) {
        if self.outcome.cancelled || self.question.is_some() {
            self.code = Some(Code::Cancelled);
        }
        self.outcome.cancelled = true;
        self.press(Action::Cancel, 0);
    }
}
