//! What every tool is: a name, a schema, and something to do.
//!
//! Knows neither a single tool nor how calls are supervised; that is `run`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::buffers::{NoBuffers, OpenBuffers};
use crate::files::{RealPath, Shown, blocking, resolve};
use crate::http::HttpAllow;
use crate::models::{Models, NoModels};
use crate::nested::{Nested, NoOthers};
use crate::person::{NoPerson, Person};
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use crate::shell::ShellLists;

/// Something a model can ask for.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The name the model uses, unique in a registry.
    fn name(&self) -> &str;

    /// The name people read.
    fn label(&self) -> &str;

    /// What the tool does, for the model.
    fn description(&self) -> &str;

    /// Words that somebody who looks for such a tool may use.
    fn keywords(&self) -> &[String] {
        &[]
    }

    /// JSON Schema of the arguments, an object schema.
    fn input_schema(&self) -> Value;

    /// Whether the schema meets OpenAI's strict mode: every property required,
    /// none additional.
    fn strict(&self) -> bool {
        false
    }

    /// Whether the model is offered the tool unless somebody turns it off.
    fn enabled(&self) -> bool {
        true
    }

    /// Whether it starts commands, which are held where there is a sandbox.
    fn runs_commands(&self) -> bool {
        false
    }

    /// How long a call with this `input` may take before it is given up;
    /// `default` is what the user set. A tool that ends itself in time asks for a
    /// little more than it needs.
    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default
    }

    /// Whether it says itself what a call would do, see [`Tool::preview`].
    fn has_preview(&self) -> bool {
        false
    }

    /// One line that says what a call with this `input` would do, of at most `width`
    /// columns; `None` when it has nothing to say after all.
    async fn preview(&self, _input: &Value, _width: usize) -> Option<String> {
        None
    }

    /// The file that a call with this `input` would change, for whoever approves it by
    /// hand; the call does its work only while that file is as it was shown.
    /// Relative paths start from `cwd`.
    fn changes(&self, _input: &Value, _cwd: &Path) -> Option<PathBuf> {
        None
    }

    /// The files and folders that a call with this `input` names to read. Relative paths
    /// start from `cwd`.
    fn reads(&self, _input: &Value, _cwd: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether a call waits for the user unless a rule approves this tool by its name:
    /// what approves all that no rule speaks of does not approve it.
    fn asks_always(&self) -> bool {
        false
    }

    /// Whether it has something to say, or to do, when the user refuses a call, see
    /// [`Tool::refused`].
    fn hears_refusals(&self) -> bool {
        false
    }

    /// The user refused a call with this `input` in the chat of this buffer. What the
    /// model is told unless the user gave a reason; `None` for the usual words.
    async fn refused(&self, _input: &Value, _buffer: i64) -> Option<String> {
        None
    }

    /// Does it. Stops soon after `ctx.cancel` and leaves nothing running.
    ///
    /// # Errors
    ///
    /// One of [`ToolError`]; the model reads its text as an error result.
    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError>;

    /// The tool as a model sees it.
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: self.input_schema(),
            strict: self.strict(),
            keywords: self.keywords().to_vec(),
        }
    }
}

/// Where and how one call runs.
#[derive(Clone)]
pub struct ToolContext {
    /// Asks the tool to stop.
    pub cancel: CancellationToken,
    /// What relative paths start from: the `.chat` file's directory, or Neovim's.
    pub cwd: PathBuf,
    /// The `.chat` file, when there is one.
    pub chat: Option<PathBuf>,
    /// Its buffer in the editor; 0 without one.
    pub buffer: i64,
    /// How long a call may take that does not say so itself.
    pub timeout: Duration,
    /// Where live output goes.
    pub progress: Progress,
    /// The files that are open in the editor.
    pub buffers: Arc<dyn OpenBuffers>,
    /// The file of [`Tool::changes`] as the user saw it; nothing when no user looked.
    pub shown: Option<Shown>,
    /// Where the path of the call led when a policy approved it; a call whose path leads
    /// elsewhere by now does nothing.
    pub approved_path: Option<PathBuf>,
    /// The other tools.
    pub nested: Arc<dyn Nested>,
    /// Whoever can be asked something meanwhile.
    pub person: Arc<dyn Person>,
    /// Whoever asks models.
    pub models: Arc<dyn Models>,
    /// The user's settings for `bash`.
    pub bash: BashOptions,
    /// What `http_get` may reach beside the internet.
    pub http: HttpAllow,
    /// What the calls of the chat may do to the machine.
    pub sandbox: Arc<Sandbox>,
    /// How much of that this call may do.
    pub confinement: Confinement,
    /// Files that a call reads only when the user approved it.
    pub secrets: Arc<Secrets>,
    /// Whether the call may read those of them that it names.
    pub reads_secrets: bool,
    /// The directory for full outputs; created with mode 0700 when needed.
    pub output_dir: PathBuf,
}

impl ToolContext {
    /// A context with the defaults: 30 s, no editor, no live output, no sandbox, and no
    /// limit to the files that a call may name.
    ///
    /// Source of the 30 s: `tools.default_timeout` in the tools specification.
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
            approved_path: None,
            nested: Arc::new(NoOthers),
            person: Arc::new(NoPerson),
            models: Arc::new(NoModels),
            bash: BashOptions::default(),
            http: HttpAllow::default(),
            sandbox: Arc::new(Sandbox::off()),
            confinement: Confinement::default(),
            secrets: Arc::new(Secrets::of_this_user(Vec::new())),
            reads_secrets: true,
            output_dir: output_dir.into(),
        }
    }
}

impl ToolContext {
    /// Resolves the path of a file or folder that a call names, `/tmp` to the chat's own
    /// where commands have one. From here on, nothing looks at the name again.
    ///
    /// # Errors
    ///
    /// It is no path, leads elsewhere than when the call was approved, or to a secret that
    /// the user was not asked about.
    pub(crate) async fn real_path(&self, text: &str) -> Result<RealPath, ToolError> {
        let path = resolve(&self.cwd, text)?;
        let (approved, sandbox) = (self.approved_path.clone(), self.sandbox.clone());
        let secrets = (!self.reads_secrets).then(|| self.secrets.clone());
        blocking(move || {
            let path = sandbox.outside(&path);
            let real = RealPath::of(&path)?;
            // The path that is opened counts, and its spelling where that is another one.
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
            match approved {
                Some(approved) if approved != real.as_path() => Err(ToolError::Failed(format!(
                    "{} leads to {} now, and led to {} when the call was approved. Nothing was \
                     done. Call again if that is intended.",
                    path.display(),
                    real.as_path().display(),
                    approved.display()
                ))),
                _ => Ok(real),
            }
        })
        .await
    }

    /// As [`ToolContext::real_path`], for a file that is to be written.
    ///
    /// # Errors
    ///
    /// Also when the sandbox does not let anything be written there.
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

/// How much of what the calls of a chat may do one of them may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confinement {
    /// All of it: the user or a rule that names the tool approved the call.
    #[default]
    Chat,
    /// Reading: the call was approved because it only reads.
    ReadOnly,
}

/// `tools.bash.*` of the user's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BashOptions {
    /// The shell; `bash` when absent.
    pub shell: Option<String>,
    /// Where commands run; the context's directory when absent.
    pub cwd: Option<PathBuf>,
    /// Added to the environment of every command, after it was cleaned.
    pub env: Vec<(String, String)>,
    /// The user's lists of commands.
    pub lists: ShellLists,
}

/// A cheap handle for live output; without a listener it does nothing.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

type Listener = dyn Fn(&str) + Send + Sync;

impl Progress {
    /// Calls `listener` with each batch of new output.
    pub fn new(listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Passes on new output of the running call.
    pub fn output(&self, text: &str) {
        if let Some(listener) = &self.0 {
            listener(text);
        }
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.is_heard()).finish()
    }
}

/// What a tool achieved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// What the model reads.
    pub content: String,
    /// More for the user only: events, virtual text, the log.
    pub details: Option<Value>,
    /// Whether the user should see a cross although this is a result, as for a
    /// command that exited non-zero.
    pub marked_failed: bool,
}

impl ToolResult {
    /// A plain success.
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }
}

/// Why a call gave no result. The texts are sentences for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It was tried and did not work.
    #[error("{0}")]
    Failed(String),
    /// What it should work on does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The arguments make no sense; nothing was tried.
    #[error("{0}")]
    InvalidInput(String),
    /// It was asked to stop and did.
    #[error("Cancelled by the user.")]
    Cancelled,
    /// Likewise, with the output that there was until then.
    #[error("{0}\n\nCancelled by the user.")]
    CancelledAfter(String),
}
