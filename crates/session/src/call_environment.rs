//! Runs the calls of a chat, and calls that they make themselves: by the same rules, into the
//! same audit log, and at most three deep.
//!
//! A call inside a call is in no document, so it cannot wait for the user. If the rules do not
//! approve it, its caller gets an error that says how to allow it.

mod decide;
mod inside;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use chat::approval::{self, CallKey};
use chat::cycle::{Level, Notice, callable, is_by_hand};
use chat::tool::ToolOutcome;
use policy::rules::Rules;
use policy::settings::Here;
use policy::settings::judges::Inspection;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tools::checkpoints::Recorder;
use tools::{
    AppliedFiles, Elicitation, JobEnds, Progress, Sandbox, SeenFiles, Tool, ToolContext, state_dir,
};

use self::inside::Inside;
use crate::audit::{Audit, in_background};
use crate::buffers::EditorBuffers;
use crate::completion::Completions;
use crate::editor::Editor;
use crate::protocol::BufferId;
use crate::shared::Shared;

/// The parts of a chat that a call needs.
#[derive(Clone)]
pub struct CallEnvironment {
    /// The front end, which has open files and approval functions.
    pub editor: Editor,
    /// The tools, and the options as the user gave them.
    pub shared: Arc<Shared>,
    /// The rules of the chat.
    pub rules: Arc<Rules>,
    /// The audit log.
    pub audit: Audit,
    /// The chat's file.
    pub path: Option<PathBuf>,
    /// The chat's buffer.
    pub buffer: BufferId,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// The editor's working directory.
    pub cwd: PathBuf,
    /// The sandbox of its calls.
    pub sandbox: Arc<Sandbox>,
    /// Asks the user questions of the call.
    pub elicitation: Arc<dyn Elicitation>,
    /// The texts of files as the model saw them.
    pub seen: SeenFiles,
    /// Records the files that the call and those inside it change.
    pub recorder: Recorder,
    /// Receives what the call and those inside it do to files.
    pub applied: AppliedFiles,
}

impl CallEnvironment {
    /// Runs a call that is in no document, by the same rules as one that is. `way_out` says
    /// how to allow a call that no rule approves.
    pub async fn call(
        self,
        call: CallKey,
        input: Value,
        progress: Progress,
        cancel: &CancellationToken,
        way_out: &str,
    ) -> ToolOutcome {
        let ran = self.run(call, input, progress, cancel, 0, way_out).await;
        ran.unwrap_or_else(ToolOutcome::Failed)
    }

    /// Returns the context of a call that `by` approved and that is not inside another call.
    pub fn context(self, call: &CallKey, by: &str) -> ToolContext {
        let confinement = self.rules.settings.confinement(by);
        let mut context = self.inside(call, 1);
        context.exec.confinement = confinement;
        context.files.reads_secrets = is_by_hand(by);
        context
    }

    /// Returns the context of a call at this depth.
    fn inside(self, call: &CallKey, depth: usize) -> ToolContext {
        let mut context = ToolContext::new(&self.folder, state_dir::path().join("outputs"));
        let settings = &self.shared.settings;
        // `Duration::from_secs_f64` panics for values that are out of range.
        let seconds = settings.tools.default_timeout.clamp(0.1, 86_400.0);
        context.timeout = Duration::from_secs_f64(seconds);
        context.files.buffers = Arc::new(EditorBuffers(self.editor.clone()));
        context.exec.bash = settings.bash(self.here());
        context.files.secrets = self.sandbox.secrets();
        context.exec.is_planning = self.rules.settings.is_planning();
        // Only a call that the user approved by hand may read secrets.
        context.files.reads_secrets = false;
        context.exec.http = settings.http_allow();
        context.files.sandbox.clone_from(&self.sandbox);
        context.user.elicitation.clone_from(&self.elicitation);
        context.exec.jobs = self.shared.jobs.clone();
        context.user.job_ends = self.job_ends(call.clone());
        context.files.seen.clone_from(&self.seen);
        context.user.chat.clone_from(&self.path);
        context.files.recorder.clone_from(&self.recorder);
        context.files.applied.clone_from(&self.applied);
        context.user.buffer = self.buffer;
        context.exec.models = Arc::new(Completions {
            rules: self.rules.clone(),
            route: self.shared.route.clone(),
            usage: self.shared.usage.clone(),
            buffer: self.buffer,
            path: self.path.clone(),
            folder: self.folder.clone(),
            requests: AtomicU32::new(0),
        });
        context.exec.nested = Arc::new(Inside::new(self, &call.id, depth));
        context
    }

    /// Logs how a background job of a call ended, and tells the user that and what its checkpoint lacks.
    fn job_ends(&self, call: CallKey) -> JobEnds {
        let (editor, recorder) = (self.editor.clone(), self.recorder.clone());
        let (audit, path) = (self.audit.clone(), self.path.clone());
        Arc::new(move |end| {
            let (audit, path) = (audit.clone(), path.clone());
            let (call, logged) = (call.clone(), end.clone());
            in_background(move || {
                if let Err(error) = audit.job_ended(path.as_deref(), &call, &logged) {
                    tracing::warn!(%error, "the end of a job is not in the audit log");
                }
            });
            let notify = |level, text: &str| {
                let text = text.to_owned();
                editor.notify(&Notice { level, text });
            };
            notify(Level::Info, &end.sentence);
            let summary = recorder.summary();
            for remark in summary.remarks {
                notify(Level::Warning, &remark);
            }
            if let Some(ignored) = summary.ignored {
                notify(Level::Info, &ignored);
            }
        })
    }

    fn here(&self) -> Here<'_> {
        Here {
            cwd: &self.cwd,
            chat: self.path.as_deref(),
        }
    }

    /// Returns the rules about shell commands and secrets of this chat.
    pub fn inspection(&self) -> Inspection {
        let settings = &self.shared.settings;
        settings.inspection(self.folder.clone(), self.here(), self.sandbox.clone())
    }

    /// Runs a call inside `depth` others.
    async fn run(
        &self,
        call: CallKey,
        input: Value,
        progress: Progress,
        cancel: &CancellationToken,
        depth: usize,
        way_out: &str,
    ) -> Result<ToolOutcome, String> {
        let (tool, call, input) = self.resolve(call, input)?;
        let approved = self
            .approve(&call, &input, tool.traits().runs_commands, way_out)
            .await?;
        let mut context = self.clone().inside(&call, depth + 1);
        context.cancel = cancel.child_token();
        context.progress = progress;
        context.files.approved_paths = approved.paths;
        context.exec.confinement = approved.confinement;
        let outcome = tools::run(tool, call.id.clone(), input, context).await;
        let (audit, path, ended) = (self.audit.clone(), self.path.clone(), outcome.clone());
        // The result need not wait for the log, which contains the start already.
        in_background(move || {
            if let Err(error) = audit.ended(path.as_deref(), &[(call, ended)]) {
                tracing::warn!(%error, "the end of a call is not in the audit log");
            }
        });
        Ok(outcome)
    }

    /// Returns the tool, call, and arguments that actually run: those inside the call if
    /// its tool is `execute_tool`.
    fn resolve(
        &self,
        mut call: CallKey,
        input: Value,
    ) -> Result<(Arc<dyn Tool>, CallKey, Value), String> {
        let options = &self.rules.options;
        let mut input = callable(&call.name, input, options)?;
        // A call through `execute_tool` is decided as the call that it contains.
        let inside = approval::inside(&call.name, &input);
        let inside = inside.map(|(name, arguments)| (name.to_owned(), arguments));
        if let Some((name, arguments)) = inside {
            call.name = name;
            call.input = chat::json::canonical(&arguments);
            input = callable(&call.name, arguments, options)?;
        }
        let tool = self.shared.registry.get(&call.name);
        let tool =
            tool.ok_or_else(|| format!("There is no tool named \"{}\" any more.", call.name))?;
        Ok((tool, call, input))
    }
}
