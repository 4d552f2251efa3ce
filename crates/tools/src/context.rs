//! Where and how one call of a tool runs, and which files it may use.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::address::HttpAllow;
use crate::buffers::{NoBuffers, OpenBuffers};
use crate::elicitation::{Elicitation, NoElicitation};
use crate::error::ToolError;
use crate::files::{
    FileState, FileText, Fingerprint, RealPath, ShownFile, Stored, Target, blocking, resolve,
};
use crate::models::{Models, NoModels};
use crate::nested::{Nested, NoOthers};
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use crate::shell::ShellLists;

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
    /// The file of [`Tool::changes`](crate::Tool::changes) as the user saw it; nothing when no user looked.
    pub shown: Option<ShownFile>,
    /// Where the path of the call led when a policy approved it; a call whose path leads
    /// elsewhere by now does nothing.
    pub approved_path: Option<PathBuf>,
    /// The other tools.
    pub nested: Arc<dyn Nested>,
    /// Where the call asks the user something.
    pub elicitation: Arc<dyn Elicitation>,
    /// Where the call asks models.
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
            elicitation: Arc::new(NoElicitation),
            models: Arc::new(NoModels),
            bash: BashOptions::default(),
            http: HttpAllow::default(),
            sandbox: Arc::new(Sandbox::off()),
            confinement: Confinement::default(),
            secrets: Secrets::usual(),
            reads_secrets: true,
            output_dir: output_dir.into(),
        }
    }

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

    /// Stores the new text of a file; see [`Target::store`]. The call holds the file's lock.
    /// If the user approved the call by hand, the file must be as they saw it.
    ///
    /// # Errors
    ///
    /// It is not, or as [`Target::store`]; the file is then as it was.
    pub(crate) async fn store(
        &self,
        target: &Target,
        expected: Option<FileText>,
        text: String,
    ) -> Result<Stored, ToolError> {
        let Some(shown) = &self.shown else {
            self.sandbox.writes(target.path(), &text);
            return target.store(expected, text).await;
        };
        let now = target.state().await;
        if let Some(became) = shown.became(&now) {
            return Err(ToolError::Failed(format!(
                "{} {became}: it is not as the user saw it when they approved this call, so \
                 nothing was written. Read it again.",
                shown.state.path.display()
            )));
        }
        // Recorded before the write, because another call may look at the file during it.
        let after = Fingerprint::of(text.as_bytes());
        shown.changes_to(now, after.clone());
        self.sandbox.writes(target.path(), &text);
        let stored = target.store(expected, text).await?;
        // The editor may have formatted the text as it saved it.
        if let Some(holds) = stored.holds.clone().filter(|holds| *holds != after) {
            let before = FileState {
                path: target.path().to_owned(),
                holds: Some(after),
            };
            shown.changes_to(before, holds);
        }
        Ok(stored)
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
