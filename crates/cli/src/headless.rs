//! The front end of the command line: holds one chat's text and file, presses keys in it, and
//! prints what the session reports. A shell gets what a key in Neovim does.
//!
//! Decides nothing about a chat. Answers questions as the flags or the user say.

mod file;
mod in_process;
mod output;
mod questions;
mod reviewing;
mod waiting;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat::approval::Policy;
use chat::document::{Document, PairedCall, Role, Status};
use chat::text::{Lines, Text};
use chat::write::{self, TextEdit};
use nvim::host::Host;
use platform::signals::{StopSignal, StopSignals};
use serde_bytes::ByteBuf;
use serde_json::Value;
use session::context::ContextReport;
use session::editor::Editor;
use session::frontend::buffer::TextBuffer;
use session::frontend::{SessionEvent, WouldRun, WouldSend};
use session::protocol::*;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::file::StoredChat;
use self::in_process::{FrontendCall, InProcess};
use self::output::{COLUMNS, Output, ReportedBlocks};
use self::questions::{OpenQuestions, QuestionStep};
use crate::block_on;
use crate::problems::current_folder;
use crate::terminal::{self, Code};

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
    /// The contents of standard output.
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
    let ran = block_on(async {
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
        run.press(job.show.action(), 0);
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
            elicitation: questions::is_at_terminal(),
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
        let stopped = self.host.shared().jobs.stop_all().await;
        for name in stopped {
            self.output.report(&format!(
                "The background job {name} was stopped, because it ends with this program."
            ));
        }
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

    /// Sends the options to the host.
    fn configure(
        &mut self,
        options: Value,
        file: Option<PathBuf>,
        fixed: Vec<&'static str>,
        approve: Policy,
    ) {
        self.host.receive(FromEditor::Configure(Configure {
            options,
            file,
            fixed,
            // `config::load` has reported problems.
            reported: true,
            caller: None,
            resolvers: Resolvers {
                command_line: CommandLineApproval {
                    policy: approve,
                    yes: self.asked.are_approved(),
                },
                ..Resolvers::default()
            },
        }));
    }

    /// Opens an existing chat, or creates one for `message`, which is added to it.
    fn open_file(&mut self, path: &Path, message: Option<&str>) -> Result<(), String> {
        let shown = path.display();
        self.stored.lock(path)?;
        let (file, text) =
            ChatFile::open(path).map_err(|error| format!("{shown} cannot be read: {error}."))?;
        if text.is_none() && message.is_none() {
            return Err(format!(
                "There is no file {shown}, so nothing was sent. Begin a chat with -m \"your message\"."
            ));
        }
        self.stored.read_from(file);
        self.buffer = TextBuffer::new(BUFFER, text.unwrap_or_default());
        // Earlier calls and results of the chat are not printed again.
        self.reported = ReportedBlocks::all(&Document::parse(self.buffer.text()));
        self.attach();
        if let Some(message) = message {
            let document = Document::parse(self.buffer.text());
            let edit = chat::say::say_with_references(&document, message);
            self.type_lines(edit.lines, &edit.replacement);
        }
        Ok(())
    }

    /// Sets the file of a new chat, which must not exist.
    fn keep_in(&mut self, path: &Path) -> Result<(), String> {
        let shown = path.display();
        self.stored.lock(path)?;
        match ChatFile::open(path) {
            Ok((file, None)) => {
                self.stored.keep_in(file);
                Ok(())
            }
            Ok(_) => Err(format!(
                "{shown} exists, so nothing was run. Name another file."
            )),
            Err(error) => Err(format!("{shown} cannot be written: {error}.")),
        }
    }

    /// Sends the chat to the host, as a buffer.
    fn attach(&mut self) {
        let path = self.stored.path().map(Path::to_string_lossy);
        let folder = self.stored.folder();
        let cwd = std::env::current_dir().unwrap_or_else(|_| folder.to_owned());
        self.host.receive(FromEditor::Attach(Attach {
            buffer: BUFFER,
            path: path.unwrap_or_default().into_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
            reason: AttachReason::Open,
            // There is no window, and previews are printed in lines of this width.
            width: 80,
            interrupted: Vec::new(),
            streaming: false,
            queued: Vec::new(),
            process: std::process::id(),
            came: if self.buffer.text().bytes().is_empty() {
                Came::Empty
            } else {
                Came::Read
            },
            modified: false,
        }));
        self.host.receive(FromEditor::Snapshot(Snapshot {
            buffer: BUFFER,
            seq: self.buffer.seq(),
            text: Some(ByteBuf::from(self.buffer.text().bytes().to_vec())),
            lines: Vec::new(),
            done: true,
        }));
    }
}

/// The outcome of a run so far.
#[derive(Debug, Default)]
struct RunOutcome {
    /// True if the user stopped it.
    pub cancelled: bool,
    /// True after an error.
    pub failed: bool,
    /// Number of requests.
    pub requests: u32,
    /// True if autopilot stopped at its limit of requests or of their cost.
    pub limited: bool,
    /// True if the model repeated a failing call.
    pub stuck: bool,
    /// True if the last answer was cut off by its token limit.
    pub cut: bool,
    /// Calls that the user or an end of standard input denied, as `name (id)`.
    pub refused: Vec<String>,
    /// Calls that a rule denied, as `name (id)`.
    pub denied: Vec<String>,
    /// True if anything was sent or run.
    pub worked: bool,
}

impl RunOutcome {
    /// Returns the exit code of the most serious cause.
    pub fn code(&self) -> Code {
        if self.cancelled {
            Code::Cancelled
        } else if self.failed || !self.worked {
            Code::Error
        } else if self.limited || self.stuck || self.cut {
            Code::Limit
        } else if self.refused.is_empty() && self.denied.is_empty() {
            Code::Ok
        } else {
            Code::Denied
        }
    }
}

/// The end of a run, and its exit code.
#[derive(Debug)]
struct RunEnd {
    code: Option<Code>,
    /// Maximum number of requests in a row, for the message about it.
    max_turns: u32,
    /// True if messages are queued.
    has_queued: bool,
    /// True once they were moved to the prompt, which is tried once.
    took_back_queue: bool,
}

impl RunEnd {
    /// Creates the end of a run that goes on.
    pub fn new(max_turns: u32) -> Self {
        Self {
            code: None,
            max_turns,
            has_queued: false,
            took_back_queue: false,
        }
    }

    /// Returns the exit code if the run has ended.
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// Ends the run.
    pub fn set(&mut self, code: Code) {
        self.code = Some(code);
    }

    /// Returns the maximum number of requests in a row.
    pub fn max_turns(&self) -> u32 {
        self.max_turns
    }

    /// Records if messages are queued.
    pub fn set_queued(&mut self, has_queued: bool) {
        self.has_queued = has_queued;
    }

    /// Returns true if queued messages must be moved to the prompt before the run ends.
    pub fn take_back_queue(&mut self) -> bool {
        // Only once: if the session cannot move them, the run would never end.
        self.has_queued && !std::mem::replace(&mut self.took_back_queue, true)
    }
}

impl HeadlessRun {
    /// Records a call that would run.
    fn would_run(&mut self, call: WouldRun) {
        let tools = &self.host.shared().registry;
        let shown = chat::preview::preview(tools, &call.call.name, &call.input, COLUMNS);
        if let Some(calls) = &mut self.dry_run {
            calls.push(format!("Would run  {shown}  ({})", call.by));
        }
        let event = SessionEvent::WouldRun(call);
        self.output.event("would_run", event.data());
    }

    /// Prints what the next request contains, and ends the run.
    fn context(&mut self, report: &ContextReport) {
        self.output.context(report);
        self.end.set(Code::Ok);
    }

    /// Prints the request and ends the dry run.
    fn would_send(&mut self, request: WouldSend) {
        // With calls to run first, the request would contain their results.
        if self.dry_run.as_ref().is_none_or(Vec::is_empty) {
            let mut lines = vec![format!("Would send POST {}", request.url)];
            let headers = request.headers.iter();
            lines.extend(headers.map(|(name, value)| format!("{name}: {value}")));
            let body = serde_json::to_string_pretty(&request.body).unwrap_or_default();
            lines.extend([String::new(), terminal::json(&body).into_owned()]);
            let event = SessionEvent::WouldSend(request);
            self.output.event("would_send", event.data());
            self.output.lines(&lines);
        }
        self.end_dry_run();
    }

    /// Prints the calls that would run or be asked about, and ends the run.
    fn end_dry_run(&mut self) {
        let mut lines = self.dry_run.take().unwrap_or_default();
        if !lines.is_empty() {
            lines.push("The next request depends on their results.".to_owned());
        }
        for shown in self.pending_previews() {
            lines.push(format!("Would ask  {shown}"));
        }
        self.output.lines(&lines);
        // The option also says that this is a dry run, so it is never `None` from here on.
        self.dry_run = Some(Vec::new());
        // In a dry run, nothing was sent or run. That is no error here.
        let failed = self.outcome.failed;
        self.end.set(if failed { Code::Error } else { Code::Ok });
    }
}

/// Returns data as a fenced block that it cannot close.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    // Longer than any run of backticks inside, and at least the three that Markdown needs.
    let ticks = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{ticks}\n{text}\n{ticks}")
}

/// Returns the edit that rejects a pending call with a reason for the model.
fn rejection(call: &PairedCall<'_>, reason: &str) -> Option<TextEdit> {
    let result = call.result?;
    let mut block = write::placeholder(call.tool_use.id.as_str(), Status::Rejected, "");
    // The last line closes the block, and the reason goes inside.
    let closing = block.len() - 1;
    block.insert(closing, reason.to_owned());
    Some(TextEdit {
        lines: result.lines.clone(),
        replacement: block,
    })
}

/// Returns a chat in which the user calls a tool. `input` is a JSON object.
pub fn call(name: &str, input: &str) -> Vec<String> {
    let mut lines = vec![Role::Assistant.marker().to_owned()];
    lines.extend(write::tool_use(name, "call", input));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_close_its_fence() {
        assert_eq!(fenced("a\n```\nb\n"), "````\na\n```\nb\n````");
    }
}
