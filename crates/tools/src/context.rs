//! The environment of one tool call: where and how it runs, and which files it may access.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::address::HttpAllow;
use crate::buffers::{NoBuffers, OpenBuffers};
use crate::checkpoints::Recorder;
use crate::elicitation::{Elicitation, NoElicitation};
use crate::error::ToolError;
use crate::files::{ApprovedPath, RealPath, ShownFiles, blocking, resolve};
use crate::models::{Models, NoModels};
use crate::nested::{Nested, NoOthers};
use crate::proposal::{AppliedFiles, Proposal};
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use crate::seen::SeenFiles;
use crate::shell::ShellLists;
use crate::trial::Trial;

/// The environment of one call.
#[derive(Clone)]
pub struct ToolContext {
    /// Cancelled to ask the tool to stop.
    pub cancel: CancellationToken,
    /// The base of relative paths: the directory of the `.chat` file, or Neovim's.
    pub cwd: PathBuf,
    /// The `.chat` file, if the chat has one.
    pub chat: Option<PathBuf>,
    /// The number of its buffer in the editor; 0 without an editor.
    pub buffer: i64,
    /// The time limit of calls that don't specify one.
    pub timeout: Duration,
    /// Receives live output.
    pub progress: Progress,
    /// The files open in the editor.
    pub buffers: Arc<dyn OpenBuffers>,
    /// The files of [`Tool::changes`](crate::Tool::changes) as the user saw them. `None` if no
    /// user reviewed the call.
    pub shown: Option<ShownFiles>,
    /// What the user made of the call's [`Proposal`](crate::Proposal) in a review. It is stored
    /// instead of what the tool proposes.
    pub reviewed: Option<Arc<Proposal>>,
    /// Whether a rule has the call tried, or approved it for what its trial showed.
    pub is_unasked: bool,
    /// Whether the chat is in plan mode: a command that could change something runs in a trial, whose
    /// changes are discarded.
    pub is_planning: bool,
    /// The trial of the call whose outcome is taken instead of running it.
    pub trial: Option<Arc<Trial>>,
    /// What the user changed in that review, for the model. `None` if nothing.
    pub review_account: Option<String>,
    /// The paths of the call and where they led when a policy approved the call. The call fails
    /// if one leads elsewhere by now, or is not among them. Empty if no policy approved it.
    pub approved_paths: Vec<ApprovedPath>,
    /// Receives what the call does to files.
    pub applied: AppliedFiles,
    /// The texts of files as the model of the chat saw them.
    pub seen: SeenFiles,
    /// Runs other tools.
    pub nested: Arc<dyn Nested>,
    /// Asks the user questions.
    pub elicitation: Arc<dyn Elicitation>,
    /// Sends requests to models.
    pub models: Arc<dyn Models>,
    /// The user's settings of `bash`.
    pub bash: BashOptions,
    /// Addresses besides the internet that `http_get` may reach.
    pub http: HttpAllow,
    /// The sandbox of the chat's commands.
    pub sandbox: Arc<Sandbox>,
    /// Whether this call has all of the sandbox's permissions.
    pub confinement: Confinement,
    /// The secret files.
    pub secrets: Arc<Secrets>,
    /// Whether the call may read secret files that it names.
    pub reads_secrets: bool,
    /// Records the files that the call changes.
    pub recorder: Recorder,
    /// The directory for full outputs. It is created on demand with mode 0700.
    pub output_dir: PathBuf,
}

impl ToolContext {
    /// A context with default values: 30 s, no editor, no live output, no sandbox, and access
    /// to secret files.
    pub fn new(cwd: impl Into<PathBuf>, output_dir: impl Into<PathBuf>) -> Self {
        Self {
            cancel: CancellationToken::new(),
            cwd: cwd.into(),
            chat: None,
            buffer: 0,
            timeout: Duration::from_secs(30),
            progress: Progress::default(),
            buffers: Arc::new(NoBuffers),
            shown: None,
            reviewed: None,
            review_account: None,
            is_unasked: false,
            is_planning: false,
            trial: None,
            approved_paths: Vec::new(),
            applied: AppliedFiles::default(),
            seen: SeenFiles::default(),
            nested: Arc::new(NoOthers),
            elicitation: Arc::new(NoElicitation),
            models: Arc::new(NoModels),
            bash: BashOptions::default(),
            http: HttpAllow::default(),
            sandbox: Arc::new(Sandbox::off()),
            confinement: Confinement::default(),
            secrets: Secrets::usual(),
            reads_secrets: true,
            recorder: Recorder::default(),
            output_dir: output_dir.into(),
        }
    }

    /// Resolves the path of a file or folder named in a call. `/tmp` becomes the chat's own
    /// folder if commands see one there. Later operations use the result and never the name,
    /// which could become a link.
    ///
    /// # Errors
    ///
    /// The path is invalid, leads elsewhere than when the call was approved, or leads to a
    /// secret that the user wasn't asked about.
    pub(crate) async fn real_path(&self, text: &str) -> Result<RealPath, ToolError> {
        let path = resolve(&self.cwd, text)?;
        let (approved, sandbox) = (self.approved_paths.clone(), self.sandbox.clone());
        let secrets = (!self.reads_secrets).then(|| self.secrets.clone());
        blocking(move || {
            // A path below `/tmp` must be the same file for commands and for file tools.
            let path = sandbox.outside(&path);
            let real = RealPath::of(&path)?;
            // A link to a secret is refused, and so is a link whose own name is secret.
            let secret = secrets.and_then(|it| {
                let spelled = (path != real.as_path()).then_some(&path);
                it.find(real.as_path()).or_else(|| it.find(spelled?))
            });
            if let Some(secret) = secret {
                return Err(ToolError::Failed(format!(
                    "{secret}. Nothing was done, because the user did not approve this call by \
                     hand. The user can grant it with {}.",
                    secret.grant()
                )));
            }
            match ApprovedPath::problem(&approved, &path, real.as_path()) {
                Some(problem) => Err(ToolError::Failed(problem)),
                None => Ok(real),
            }
        })
        .await
    }

    /// Resolves a path like [`ToolContext::real_path`], for a file that the call writes.
    ///
    /// # Errors
    ///
    /// As [`ToolContext::real_path`], or the sandbox does not allow writing there.
    pub(crate) async fn writable_path(&self, text: &str) -> Result<RealPath, ToolError> {
        let real = self.real_path(text).await?;
        if self.sandbox.is_writable(real.as_path()) {
            return Ok(real);
        }
        let writable = self.sandbox.writable().unwrap_or_default();
        let writable: Vec<_> = writable.iter().map(|it| it.to_string_lossy()).collect();
        Err(ToolError::Failed(format!(
            "{} was not written: the sandbox lets files be written only below {}. The user can add a folder to \
             sandbox.policy.rw_paths, or turn the sandbox off with :Flemma sandbox:disable.",
            real.as_path().display(),
            writable.join(", ")
        )))
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

/// A cheap handle that passes on live output. It does nothing without a listener.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

type Listener = dyn Fn(&str) + Send + Sync;

impl Progress {
    /// Calls `listener` with each batch of new output.
    pub fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Passes on new output of the call.
    pub fn output(&self, text: &str) {
        if let Some(listener) = &self.0 {
            listener(text);
        }
    }

    /// Whether there is a listener.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.is_heard()).finish()
    }
}
