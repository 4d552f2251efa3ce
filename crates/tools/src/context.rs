//! The environment of one tool call, in parts: a tool's signature shows which of them it can touch.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::address::HostList;
use crate::elicitation::{Elicitation, NoElicitation};
use crate::file_access::FileAccess;
use crate::jobs::{Job, JobEnds, JobOwner, Jobs};
use crate::models::{Models, NoModels};
use crate::nested::{Nested, NoOthers};
pub use crate::progress::Progress;
use crate::shell::ShellLists;
use crate::trial::Trial;

/// The environment of one call.
#[derive(Clone)]
pub struct ToolContext {
    /// Cancelled to ask the tool to stop.
    pub cancel: CancellationToken,
    /// The time limit of calls that don't specify one.
    pub timeout: Duration,
    /// The directory for full outputs. It is created on demand with mode 0700.
    pub output_dir: PathBuf,
    /// Receives live output.
    pub progress: Progress,
    /// The files, as far as the call may access them.
    pub files: FileAccess,
    /// The programs, tools, and servers that the call may use.
    pub exec: Exec,
    /// The user's side of the call.
    pub user: User,
}

impl ToolContext {
    /// A context with default values: 120 s, no editor, no live output, no sandbox, and access
    /// to secret files.
    pub fn new(cwd: impl Into<PathBuf>, output_dir: impl Into<PathBuf>) -> Self {
        Self {
            cancel: CancellationToken::new(),
            timeout: Duration::from_secs(120),
            output_dir: output_dir.into(),
            progress: Progress::default(),
            files: FileAccess::new(cwd.into()),
            exec: Exec::default(),
            user: User::default(),
        }
    }
}

impl From<ToolContext> for () {
    fn from(_: ToolContext) {}
}

impl From<ToolContext> for Arc<dyn Nested> {
    fn from(ctx: ToolContext) -> Self {
        ctx.exec.nested
    }
}

impl From<ToolContext> for CancellationToken {
    fn from(ctx: ToolContext) -> Self {
        ctx.cancel
    }
}

/// The files of a call whose tool needs nothing else.
pub(crate) type Files = (FileAccess, CancellationToken);

impl From<ToolContext> for Files {
    fn from(ctx: ToolContext) -> Self {
        (ctx.files, ctx.cancel)
    }
}

/// The programs, tools, and servers that a call may use.
#[derive(Clone)]
pub struct Exec {
    /// The user's settings of `bash`.
    pub bash: BashOptions,
    /// True if its commands have all of the sandbox's permissions.
    pub confinement: Confinement,
    /// True if a rule has the call tried, or approved it for what its trial showed.
    pub is_unasked: bool,
    /// True if the chat is in plan mode: a command that could change something runs in a trial, whose
    /// changes are discarded.
    pub is_planning: bool,
    /// The trial of the call whose outcome is taken instead of running it.
    pub trial: Option<Arc<Trial>>,
    /// Runs other tools.
    pub nested: Arc<dyn Nested>,
    /// Sends requests to models.
    pub models: Arc<dyn Models>,
    /// The background jobs of the program.
    pub jobs: Jobs,
    /// The job that the call is, or may become.
    pub(crate) job: Option<Arc<Job>>,
    /// Addresses besides the internet that `http_get` may reach.
    pub http: HostList,
}

impl Default for Exec {
    fn default() -> Self {
        Self {
            bash: BashOptions::default(),
            confinement: Confinement::default(),
            is_unasked: false,
            is_planning: false,
            trial: None,
            nested: Arc::new(NoOthers),
            models: Arc::new(NoModels),
            jobs: Jobs::default(),
            job: None,
            http: HostList::default(),
        }
    }
}

/// The user's side of a call: the chat, and questions.
#[derive(Clone)]
pub struct User {
    /// The `.chat` file, if the chat has one.
    pub chat: Option<PathBuf>,
    /// The number of its buffer in the editor; 0 without an editor.
    pub buffer: i64,
    /// Asks the user questions.
    pub elicitation: Arc<dyn Elicitation>,
    /// True if the user is asked whether a command that nears its time limit becomes a background job.
    pub is_asked_about_jobs: bool,
    /// Called when a background job of the call has ended.
    pub job_ends: JobEnds,
}

impl User {
    /// Returns the chat, as the owner of jobs.
    pub(crate) fn owner(&self) -> JobOwner {
        JobOwner {
            path: self.chat.clone(),
            buffer: self.buffer,
        }
    }
}

impl Default for User {
    fn default() -> Self {
        Self {
            chat: None,
            buffer: 0,
            elicitation: Arc::new(NoElicitation),
            is_asked_about_jobs: false,
            job_ends: Arc::new(|_| {}),
        }
    }
}

/// How many of the sandbox's permissions one call has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confinement {
    /// All: the user, or a rule that names the tool, approved the call.
    #[default]
    Chat,
    /// Only reading: the call was approved because it only reads.
    ReadOnly,
}

/// The options below `tools.bash`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BashOptions {
    /// The shell. Defaults to `bash`.
    pub shell: Option<String>,
    /// The directory of commands. Defaults to the context's.
    pub cwd: Option<PathBuf>,
    /// Variables added to the environment of every command.
    pub env: Vec<(String, String)>,
    /// The user's lists of allowed and denied commands.
    pub lists: ShellLists,
    /// Files and folders in the home folder that a trial without the user's request shows, besides
    /// those of toolchains.
    pub trial_home: Vec<PathBuf>,
}
