//! The front end of the command line: plays the editor for one chat, so that a shell
//! gets what a key in Neovim does. Holds the lines, carries out the host's edits,
//! keeps the file, and turns what the host says into output.
//!
//! Decides nothing about a chat: it presses keys, and answers questions as the user
//! told it to.

mod asking;
mod buffer;
mod compose;
mod events;
mod file;
mod messages;
mod news;
mod outcome;
mod output;
mod prompts;
mod rehearsal;
mod saving;
mod signals;
mod waiting;

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use chat::approval::Policy;
use chat::document::Document;
use chat::text::{Lines, Text};
use chat::tool::ToolUseId;
use serde_bytes::ByteBuf;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use self::asking::Answers;
use self::buffer::{BUFFER, Buffer};
use self::news::Told;
use self::outcome::Outcome;
use self::output::Output;
use self::signals::Signals;
use crate::editor::Editor;
use crate::front::{Here, Message, Sender};
use crate::host::Host;
use crate::lease::{self, Lease, Program, Refusal};
use crate::protocol::*;

pub use self::compose::{call, fenced};
pub use self::file::ChatFile;
pub use self::outcome::Code;
pub use self::output::{Show, in_a_shell};

/// The name under which the command line's own approvals are logged.
const RESOLVER: &str = "command line";
/// Behind everybody else's: it decides only what no rule does.
const PRIORITY: i32 = -100;
/// Its number among the functions of this front end.
const FUNCTION: u64 = 1;

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
    /// One that is typed here.
    Typed {
        /// Its text.
        lines: Vec<String>,
        /// A new file to keep it in.
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
    pub rehearsal: bool,
    /// What the user says when the model is done, each time.
    pub follow_ups: Vec<String>,
}

/// Presses Ctrl-] in a chat and stays until it rests.
pub fn run(job: Job) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("flemma: The program could not start its runtime: {error}.");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        let (sender, messages) = mpsc::unbounded_channel();
        match Front::open(job, sender) {
            Ok(front) => front.live(messages).await,
            Err(problem) => {
                eprintln!("flemma: {problem}");
                Code::Error
            }
        }
    });
    // Nothing is waited for: a thread may be reading standard input for ever.
    runtime.shutdown_background();
    tools::end_descendants();
    code.into()
}

/// See the module.
struct Front {
    host: Host,
    buffer: Buffer,
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
    approve: Policy,
    yes: bool,
    max_turns: u32,
    /// In a rehearsal: the calls that would run.
    rehearsal: Option<Vec<String>>,
    /// Whether messages wait for the model to be done.
    unsaid: bool,
    /// Whether they were put into the prompt, which is tried once.
    taken_back: bool,
    /// Set when it is over.
    code: Option<Code>,
}

impl Front {
    /// Opens the chat and presses the key.
    fn open(job: Job, messages: mpsc::UnboundedSender<Message>) -> Result<Self, String> {
        let folder = std::env::current_dir()
            .map_err(|error| format!("The current folder is gone: {error}."))?;
        let rehearsal = job.rehearsal;
        let editor = Editor::new(Sender::Here(Here {
            messages,
            rehearsal,
            person: io::stdin().is_terminal() && io::stderr().is_terminal(),
        }));
        let mut front = Self {
            host: Host::new(editor),
            buffer: Buffer::default(),
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
            approve: job.approve,
            yes: job.yes,
            max_turns: job.max_turns,
            rehearsal: rehearsal.then(Vec::new),
            unsaid: false,
            taken_back: false,
            code: None,
        };
        front.configure(job.options, job.config);
        match job.chat {
            Chat::File { path, message } => front.open_file(&path, message.as_deref())?,
            Chat::Typed { lines, keep } => {
                if let Some(path) = keep {
                    front.keep_in(&path)?;
                }
                front.attach();
                front.type_lines(0..1, &lines);
            }
        }
        front.press("advance", 0);
        if !rehearsal {
            for text in job.follow_ups {
                front.command("queue", 0, json!({ "text": text }));
            }
        }
        Ok(front)
    }

    fn configure(&mut self, options: Value, file: Option<PathBuf>) {
        let mut resolvers = Resolvers {
            reads: !self.approve.judges.is_empty(),
            ..Resolvers::default()
        };
        if self.yes || self.approve != Policy::default() {
            resolvers.items.push(RegisteredResolver {
                name: RESOLVER.to_owned(),
                priority: PRIORITY,
                function: FUNCTION,
                closed: true,
                from_options: false,
            });
        }
        self.host.receive(FromEditor::Configure(Configure {
            options,
            file,
            checked: true,
            resolvers,
        }));
    }

    fn open_file(&mut self, path: &std::path::Path, message: Option<&str>) -> Result<(), String> {
        let shown = path.display();
        if self.rehearsal.is_none() {
            self.lease = take_lease(path)?;
        }
        let (file, text) =
            ChatFile::open(path).map_err(|error| format!("{shown} cannot be read: {error}."))?;
        if text.is_none() && message.is_none() {
            return Err(format!(
                "There is no file {shown}, so nothing was sent. Begin a chat with -m \"your message\"."
            ));
        }
        if let Some(parent) = file.path().parent() {
            self.folder = parent.to_owned();
        }
        self.file = Some(file);
        self.buffer = Buffer::new(text.unwrap_or_default());
        self.told = Told::all(&Document::parse(self.buffer.text()));
        self.attach();
        if let Some(message) = message {
            let document = Document::parse(self.buffer.text());
            let edit = chat::say::say_with_references(&document, message);
            self.type_lines(edit.lines, &edit.replacement);
        }
        Ok(())
    }

    /// The chat will be in a file that is not there yet.
    fn keep_in(&mut self, path: &std::path::Path) -> Result<(), String> {
        let shown = path.display();
        if self.rehearsal.is_none() {
            self.lease = take_lease(path)?;
        }
        match ChatFile::open(path) {
            Ok((file, None)) => {
                self.file = Some(file);
                Ok(())
            }
            Ok(_) => Err(format!(
                "{shown} exists, so nothing was run. Name another file."
            )),
            Err(error) => Err(format!("{shown} cannot be written: {error}.")),
        }
    }

    /// Shows the chat to the host.
    fn attach(&mut self) {
        let path = self.file.as_ref().map(|file| file.path().to_string_lossy());
        let cwd = std::env::current_dir().unwrap_or_else(|_| self.folder.clone());
        self.host.receive(FromEditor::Attach(Attach {
            buffer: BUFFER,
            path: path.unwrap_or_default().into_owned(),
            cwd: cwd.to_string_lossy().into_owned(),
            reason: "open".to_owned(),
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

    /// Presses a key.
    fn press(&mut self, name: &str, line: usize) {
        self.command(name, line, json!({}));
    }

    fn command(&mut self, name: &str, line: usize, arguments: Value) {
        self.host.receive(FromEditor::Command(Command {
            buffer: BUFFER,
            name: name.to_owned(),
            line,
            window: 1,
            arguments,
            shown: None,
            hidden: Vec::new(),
            drawn_ms: std::collections::HashMap::new(),
        }));
    }

    /// The chat as it stands.
    fn text(&self) -> &Text {
        self.buffer.text()
    }

    async fn live(mut self, mut messages: mpsc::UnboundedReceiver<Message>) -> Code {
        let mut signals = Signals::listen();
        while self.code.is_none() {
            let save = self.saving.due();
            tokio::select! {
                Some(message) = messages.recv() => self.receive(message),
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
        self.press("cancel", 0);
    }
}

/// The right to work on a file, from before it is read.
fn take_lease(path: &std::path::Path) -> Result<Option<Lease>, String> {
    let program = Program {
        name: "flemma send".to_owned(),
        pid: std::process::id(),
    };
    match lease::take(&crate::status::state_folder(), path, &program) {
        Ok(lease) => Ok(Some(lease)),
        Err(Refusal::Held(by)) => Err(format!(
            "{} is open in {by}, so nothing was sent. Go on there, or write or close it there first.",
            path.display()
        )),
        // As for a Neovim: what cannot be recorded does not run anyway.
        Err(Refusal::Unknown(error)) => {
            tracing::warn!(%error, "nobody can tell whether another program has this chat");
            Ok(None)
        }
    }
}
