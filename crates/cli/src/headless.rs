//! The front end of the command line: holds one chat's text and file, presses keys in it, and
//! prints what the session reports. A shell gets what a key in Neovim does.
//!
//! Decides nothing about a chat. Answers questions as flags or the user say.

mod compose;
mod diff;
mod dry_run;
mod events;
mod file;
mod in_process;
mod opening;
mod outcome;
mod output;
mod prompts;
mod questions;
mod reported;
mod reviewing;
mod saving;
mod stdin_prompt;
mod stored;
mod waiting;

use std::path::PathBuf;
use std::process::ExitCode;

use chat::approval::Policy;
use chat::text::{Lines, Text};
use nvim::host::Host;
use platform::signals::{StopSignal, StopSignals};
use serde_bytes::ByteBuf;
use serde_json::Value;
use session::editor::Editor;
use session::frontend::buffer::TextBuffer;
use session::protocol::*;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::in_process::{FrontendCall, InProcess};
use self::outcome::{RunEnd, RunOutcome};
use self::output::Output;
use self::questions::{OpenQuestions, QuestionStep};
use self::reported::ReportedBlocks;
use self::stored::StoredChat;
use crate::exit_code::Code;
use crate::problems::current_folder;
use crate::runtime;

pub use self::compose::{call, fenced};
pub use self::file::ChatFile;
pub use self::output::Show;

/// Number of the only buffer.
const BUFFER: BufferId = 1;

/// The chat of a run.
#[derive(Debug)]
pub enum Chat {
    /// A chat in a file.
    File {
        /// The file.
        path: PathBuf,
        /// A message to add first.
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

/// What to do with a chat.
#[derive(Debug)]
pub struct Job {
    /// The chat.
    pub chat: Chat,
    /// Valid options, in the form that `setup()` takes.
    pub options: Value,
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// Options that flags set, which a project does not change.
    pub fixed: Vec<&'static str>,
    /// Maximum number of requests in a row, for the message about it.
    pub max_turns: u32,
    /// Tools and rules of `--approve`.
    pub approve: Policy,
    /// True if all questions are answered with yes.
    pub yes: bool,
    /// True if commands are tried before they are asked about.
    pub trial: bool,
    /// What standard output gets.
    pub show: Show,
    /// True if calls and results are printed in full.
    pub debug: bool,
    /// True if nothing is sent or run, and only reported.
    pub dry_run: bool,
    /// Messages for when the model is done, one after another.
    pub follow_ups: Vec<String>,
}

/// Presses Ctrl-] in a chat and runs until nothing more follows.
pub fn run(job: Job) -> ExitCode {
    let ran = runtime::block_on(async {
        let (sender, calls) = mpsc::unbounded_channel();
        Ok::<_, String>(HeadlessRun::start(job, sender)?.finish(calls).await)
    });
    // Commands that were left in the background end with the run.
    tools::end_descendants();
    match ran.and_then(|code| code) {
        Ok(code) => code.into(),
        Err(problem) => Code::Error.report(&problem),
    }
}

/// A run: the task that holds the chat and carries out the calls of the front end.
struct HeadlessRun {
    host: Host,
    buffer: TextBuffer,
    stored: StoredChat,
    output: Output,
    reported: ReportedBlocks,
    outcome: RunOutcome,
    questions: OpenQuestions,
    asked: waiting::AskedCalls,
    trials: waiting::Trials,
    /// In a dry run, a line for each call that would run.
    dry_run: Option<Vec<String>>,
    end: RunEnd,
}

impl HeadlessRun {
    /// Opens the chat and presses Ctrl-].
    fn start(job: Job, calls: mpsc::UnboundedSender<FrontendCall>) -> Result<Self, String> {
        let mut run = Self::new(&job, calls)?;
        run.configure(job.options, job.config, job.fixed, job.approve);
        match job.chat {
            Chat::File { path, message } => run.open_file(&path, message.as_deref())?,
            Chat::New { lines, keep } => {
                // First, so that a file that exists costs no request.
                if let Some(path) = keep {
                    run.keep_in(&path)?;
                }
                run.attach();
                run.type_lines(0..1, &lines);
            }
        }
        run.press(Action::Advance { from_insert: false }, 0);
        // A dry run sends nothing, so nothing would follow.
        if !job.dry_run {
            for text in job.follow_ups {
                run.press(Action::Queue(text), 0);
            }
        }
        Ok(run)
    }

    fn new(job: &Job, calls: mpsc::UnboundedSender<FrontendCall>) -> Result<Self, String> {
        let editor = Editor::new(InProcess {
            calls,
            dry_run: job.dry_run,
            // A question needs a place to be shown and one to be answered.
            elicitation: stdin_prompt::is_at_terminal(),
        });
        Ok(Self {
            host: Host::new(editor),
            buffer: TextBuffer::new(BUFFER, Text::default()),
            stored: StoredChat::new(current_folder()?, job.dry_run),
            output: Output::new(job.show, job.debug),
            reported: ReportedBlocks::default(),
            outcome: RunOutcome::default(),
            questions: OpenQuestions::default(),
            asked: waiting::AskedCalls::new(job.yes),
            trials: waiting::Trials::new(job.trial),
            dry_run: job.dry_run.then(Vec::new),
            end: RunEnd::new(job.max_turns),
        })
    }

    /// Changes the text as if the user had typed it.
    fn type_lines(&mut self, lines: Lines, new: &[String]) {
        self.buffer.splice(lines.clone(), new);
        self.stored.changed();
        self.host.receive(FromEditor::Changed(Changed {
            buffer: BUFFER,
            seq: self.buffer.seq(),
            first: lines.start,
            last: lines.end,
            lines: new.iter().map(|it| ByteBuf::from(it.as_str())).collect(),
            more: false,
            // Counts as typed, because flags and standard input are the user's own words.
            typed: Some(usize::MAX),
            undone: false,
        }));
    }

    /// Presses a key, or gives a command, with the cursor on this line.
    fn press(&mut self, action: Action, line: usize) {
        self.host.receive(FromEditor::Command(EditorCommand {
            buffer: BUFFER,
            action,
            line,
            window: 1,
            shown: None,
            hidden: Vec::new(),
            drawn_ms: std::collections::HashMap::new(),
        }));
    }

    fn text(&self) -> &Text {
        self.buffer.text()
    }

    /// Carries out calls and answers until the run has ended, and returns its exit code.
    async fn finish(mut self, mut calls: mpsc::UnboundedReceiver<FrontendCall>) -> Code {
        let mut signals = StopSignals::listen();
        while self.end.code().is_none() {
            // Computed anew in each round, because every step can change the text.
            let save = self.stored.due();
            tokio::select! {
                Some(call) = calls.recv() => self.carry_out(call),
                change = self.host.next_change() => self.host.take_change(change),
                signal = signals.next() => self.stop(signal),
                step = self.questions.next() => self.step(step),
                () = sleep_until(save.unwrap_or_else(Instant::now)), if save.is_some() => self.save(),
            }
        }
        // Changes since the last save may not be due yet.
        self.save();
        let mut code = self.end.code().unwrap_or(Code::Error);
        self.output.finish(code.number());
        // Lost output is an error, but a more specific exit code takes precedence.
        if self.output.report_lost() && code == Code::Ok {
            code = Code::Error;
        }
        // Last, because another program may work on the chat from here on.
        self.stored.unlock();
        code
    }

    /// Continues with a question.
    fn step(&mut self, step: QuestionStep) {
        match step {
            QuestionStep::Diff(diff) => self.ask_with(&diff),
            QuestionStep::Confirmation(answer) => self.confirmed(answer),
            QuestionStep::Line(line) => self.questions.prompted(line, &mut self.output),
            QuestionStep::Review(step) => self.review_step(step),
        }
    }

    /// Handles a signal: the first one cancels as Ctrl-C does, the second one ends the run.
    fn stop(&mut self, signal: StopSignal) {
        // A Ctrl-C in the user's editor is meant for the editor.
        if signal == StopSignal::Interrupt && self.questions.is_in_editor() {
            return;
        }
        // A question that the user stops at needs no answer any more.
        if self.outcome.cancelled || self.questions.is_confirming() {
            self.end.set(Code::Cancelled);
        }
        self.outcome.cancelled = true;
        self.press(Action::Cancel, 0);
    }
}
