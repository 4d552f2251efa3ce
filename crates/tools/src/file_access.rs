//! The files that a call may access: where its paths lead, and changes only while the files are as
//! the user saw them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::buffers::{NoBuffers, OpenBuffers};
use crate::checkpoints::Recorder;
use crate::error::ToolError;
use crate::files::{
    ApprovedPath, Expected, FileState, FileTarget, FileText, Fingerprint, RealPath, ShownFiles,
    Stored, blocking, resolve,
};
use crate::proposal::{AppliedFiles, Proposal};
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use crate::seen::SeenFiles;

/// The files that a call may access, and what becomes of them.
#[derive(Clone)]
pub struct FileAccess {
    /// The base of relative paths: the directory of the `.chat` file, or Neovim's.
    pub cwd: PathBuf,
    /// The files open in the editor.
    pub buffers: Arc<dyn OpenBuffers>,
    /// The sandbox of the chat's commands, which limits file tools, too.
    pub sandbox: Arc<Sandbox>,
    /// The secret files.
    pub secrets: Arc<Secrets>,
    /// True if the call may read secret files that it names.
    pub reads_secrets: bool,
    /// The paths of the call and where they led when a policy approved the call. The call fails
    /// if one leads elsewhere by now, or is not among them. Empty if no policy approved it.
    pub approved_paths: Vec<ApprovedPath>,
    /// The files of [`Tool::changes`](crate::Tool::changes) as the user saw them. `None` if no
    /// user reviewed the call.
    pub shown: Option<ShownFiles>,
    /// The call's [`Proposal`] as the user edited it in a review. It is stored instead of what the
    /// tool proposes.
    pub reviewed: Option<Arc<Proposal>>,
    /// A description of the user's edits in that review, for the model. `None` without edits.
    pub review_account: Option<String>,
    /// The texts of files as the model of the chat saw them.
    pub seen: SeenFiles,
    /// Records the files that the call changes.
    pub recorder: Recorder,
    /// Receives what the call does to files.
    pub applied: AppliedFiles,
}

impl FileAccess {
    /// All files, secret ones too, without an editor, a sandbox, or checkpoints.
    pub(crate) fn new(cwd: PathBuf) -> Self {
        Self {
            cwd,
            buffers: Arc::new(NoBuffers),
            sandbox: Arc::new(Sandbox::off()),
            secrets: Secrets::usual(),
            reads_secrets: true,
            approved_paths: Vec::new(),
            shown: None,
            reviewed: None,
            review_account: None,
            seen: SeenFiles::default(),
            recorder: Recorder::default(),
            applied: AppliedFiles::default(),
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

    /// Resolves a path like [`FileAccess::real_path`], for a file that the call writes.
    ///
    /// # Errors
    ///
    /// As [`FileAccess::real_path`], or the sandbox does not allow writing there.
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

    /// Finds the file at a path that the call changes.
    ///
    /// # Errors
    ///
    /// As [`FileAccess::writable_path`] and [`FileTarget::find`].
    pub(crate) async fn target(&self, text: &str) -> Result<FileTarget, ToolError> {
        let path = self.writable_path(text).await?;
        FileTarget::find(path, self.buffers.clone()).await
    }

    /// Stores the new text of a file, and records the change; see [`FileTarget::store`]. The caller
    /// holds the file's lock. If the user approved the call by hand, the file must be as the
    /// user saw it.
    ///
    /// # Errors
    ///
    /// The file has changed since, or an error of [`FileTarget::store`]. The file is unchanged
    /// then.
    pub(crate) async fn store(
        &self,
        target: &FileTarget,
        expected: Expected,
        text: String,
    ) -> Result<Stored, ToolError> {
        // Recorded before the write because another call may check the file during it.
        let after = Fingerprint::of(text.as_bytes());
        let shown = self.changes_to(target, after.clone()).await?;
        // Before the write, because the watch of a command may see the file at any time.
        self.sandbox.writes(target.path(), &text);
        let before = self.recorder.before(target).await;
        let stored = target.store(expected, text).await?;
        self.recorder.after(target, before).await;
        // An autocommand may have formatted the text when the editor saved it.
        let holds = stored.holds.clone().filter(|holds| *holds != after);
        if let Some((shown, holds)) = shown.zip(holds) {
            let before = FileState {
                path: target.path().to_owned(),
                holds: Some(after),
            };
            shown.changes_to(before, holds);
        }
        Ok(stored)
    }

    /// Deletes a file and returns its permissions; see [`FileTarget::remove`]. Otherwise like
    /// [`FileAccess::store`].
    ///
    /// # Errors
    ///
    /// As [`FileAccess::store`].
    pub(crate) async fn remove(
        &self,
        target: &FileTarget,
        expected: &FileText,
    ) -> Result<u32, ToolError> {
        self.changes_to(target, Fingerprint::absent()).await?;
        let before = self.recorder.before(target).await;
        let mode = target.remove(expected).await?;
        self.recorder.after(target, before).await;
        Ok(mode)
    }

    /// Renames a file; see [`FileTarget::rename`]. Otherwise like [`FileAccess::store`].
    ///
    /// # Errors
    ///
    /// As [`FileAccess::store`].
    pub(crate) async fn rename(
        &self,
        target: &FileTarget,
        to: &FileTarget,
        expected: &FileText,
    ) -> Result<(), ToolError> {
        let text = Fingerprint::of(expected.text.as_bytes());
        self.changes_to(to, text).await?;
        self.changes_to(target, Fingerprint::absent()).await?;
        self.sandbox.writes(to.path(), &expected.text);
        let before = (
            self.recorder.before(target).await,
            self.recorder.before(to).await,
        );
        target.rename(to, &expected.text).await?;
        self.recorder.after(target, before.0).await;
        self.recorder.after(to, before.1).await;
        Ok(())
    }

    /// Checks that a file is as the user saw it, and records its new content. Returns what the
    /// user saw, if the user approved the call by hand.
    async fn changes_to(
        &self,
        target: &FileTarget,
        after: Fingerprint,
    ) -> Result<Option<&ShownFiles>, ToolError> {
        let Some(shown) = &self.shown else {
            return Ok(None);
        };
        let now = target.state().await;
        if let Some(became) = shown.became(&now) {
            return Err(ToolError::Failed(format!(
                "{became}, so it is not as the user saw it when they approved this call. \
                 Nothing was written. Read it again."
            )));
        }
        shown.changes_to(now, after);
        Ok(Some(shown))
    }

    /// Checks that a path is not a link: deleting or moving one would not do what its name says.
    ///
    /// # Errors
    ///
    /// It is a link.
    pub(crate) async fn check_no_link(&self, text: &str) -> Result<(), ToolError> {
        let path: PathBuf = self.sandbox.outside(&resolve(&self.cwd, text)?);
        blocking(move || {
            if path.is_symlink() {
                return Err(ToolError::Failed(format!(
                    "{} is a symbolic link, which can be neither deleted nor moved by a patch. \
                     Nothing was changed. Use bash.",
                    path.display()
                )));
            }
            Ok(())
        })
        .await
    }
}
