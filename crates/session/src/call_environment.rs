//! What a call of a chat runs in, and how it calls other tools: by the same rules,
//! into the same log, and no deeper than three.
//!
//! A call inside a call cannot wait for the user, as it stands in no document: what
//! the rules do not approve is not run, and its caller is told what would let it.

mod inside;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use chat::approval::{self, Answers, CallKey, Decision, FunctionId, GUARD, Question, Verdict};
use chat::cycle::{Decided, Ruling, callable, is_by_hand, verdict};
use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::Value;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tools::{Confinement, Elicitation, Progress, Sandbox, Secret, ToolContext};

use crate::audit::{Audit, Start};
use crate::buffers::EditorBuffers;
use crate::completion::Completions;
use crate::editor::Editor;
use crate::frontend::SessionEvent;
use crate::protocol::BufferId;
use crate::resolver_calls::{self, Guarded};
use crate::rules::Rules;
use crate::settings::Here;
use crate::settings::judges::Inspection;
use crate::shared::Shared;
use crate::state_dir;
use inside::Inside;

/// What a call of a chat runs in.
#[derive(Clone)]
pub struct CallEnvironment {
    /// Who holds open files and the user's functions.
    pub editor: Editor,
    /// The tools, and the options as the user gave them.
    pub shared: Arc<Shared>,
    /// What the chat goes by.
    pub rules: Arc<Rules>,
    /// The log of decisions.
    pub audit: Audit,
    /// The chat's file.
    pub path: Option<PathBuf>,
    /// Its buffer.
    pub buffer: BufferId,
    /// What relative paths start from.
    pub folder: PathBuf,
    /// The editor's working directory.
    pub cwd: PathBuf,
    /// What holds its calls.
    pub sandbox: Arc<Sandbox>,
    /// Whom a call can ask something.
    pub elicitation: Arc<dyn Elicitation>,
}

impl CallEnvironment {
    /// Runs a call that stands in no document, by the same rules as one that does.
    /// `way_out` says what lets one run that no rule approves.
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

    /// What a call of this id gets that `by` approved; it is in no other call.
    pub fn context(self, id: &ToolUseId, by: &str) -> ToolContext {
        let mut context = self.inside(id, 1);
        context.confinement = confinement(by);
        context.reads_secrets = is_by_hand(by);
        context
    }

    fn inside(self, id: &ToolUseId, depth: usize) -> ToolContext {
        let mut context = ToolContext::new(&self.folder, state_dir::path().join("outputs"));
        let settings = &self.shared.settings;
        let seconds = settings.tools.default_timeout.clamp(0.1, 86_400.0);
        context.timeout = Duration::from_secs_f64(seconds);
        context.buffers = Arc::new(EditorBuffers(self.editor.clone()));
        let here = Here {
            cwd: &self.cwd,
            chat: self.path.as_deref(),
        };
        context.bash = settings.bash(here);
        context.secrets = self.sandbox.secrets();
        context.reads_secrets = false;
        context.http = settings.http_allow();
        context.sandbox.clone_from(&self.sandbox);
        context.elicitation.clone_from(&self.elicitation);
        context.chat.clone_from(&self.path);
        context.buffer = self.buffer;
        context.models = Arc::new(Completions {
            rules: self.rules.clone(),
            ledger: self.shared.ledger.clone(),
            buffer: self.buffer,
            path: self.path.clone(),
            requests: AtomicU32::new(0),
        });
        context.nested = Arc::new(Inside::new(self, id, depth));
        context
    }

    /// What inspects the shell commands of this chat.
    pub fn inspection(&self) -> Inspection {
        let here = Here {
            cwd: &self.cwd,
            chat: self.path.as_deref(),
        };
        let settings = &self.shared.settings;
        settings.inspection(self.folder.clone(), here, self.sandbox.clone())
    }

    /// The rules' word on a call, with everybody asked who has a say.
    async fn decide(&self, call: &CallKey, input: &Value) -> Word {
        let (call, input) = &approval::meant(call, input);
        let mut answers = Answers::new();
        let (mut path, mut secret) = (None, None);
        loop {
            let function = match verdict(call, &answers, &self.rules.options) {
                Verdict::Decided(decision, by) => {
                    return Word {
                        decision,
                        by,
                        path,
                        secret,
                    };
                }
                Verdict::Ask(function) => function,
            };
            let question = Question {
                call: call.clone(),
                input: input.clone(),
                function,
            };
            let said = self.ask(question).await;
            // Somebody who says nothing would be asked for ever.
            if said.answers.is_empty() {
                return Word {
                    decision: Decision::RequireApproval,
                    by: String::new(),
                    path: None,
                    secret: None,
                };
            }
            secret = said.secret.or(secret);
            path = said.paths.into_iter().next().map(|(_, path)| path).or(path);
            answers.extend(said.answers);
        }
    }

    async fn ask(&self, question: Question) -> Guarded {
        let (rules, buffer, folder) = (self.rules.clone(), self.buffer, self.folder.clone());
        let (shared, inspection) = (self.shared.clone(), self.inspection());
        let only = |answers: Answers| Guarded {
            answers,
            ..Guarded::default()
        };
        let editor = self.editor.clone();
        let asked = match question.function.id {
            FunctionId::Editor(_) => {
                let asked = resolver_calls::together(&self.rules, vec![question]);
                return only(resolver_calls::ask_functions(&self.editor, buffer, asked).await);
            }
            FunctionId::Frontmatter => tokio::task::spawn_blocking(move || {
                only(resolver_calls::ask_frontmatter(
                    &editor,
                    &rules,
                    buffer,
                    vec![question],
                ))
            }),
            // Nobody was shown anything.
            FunctionId::Sight => return Guarded::default(),
            FunctionId::Guard | FunctionId::Held => tokio::task::spawn_blocking(move || {
                let question = vec![question];
                let (registry, scripts) = (&shared.registry, &shared.scripts);
                resolver_calls::look_closer(question, &folder, registry, scripts, &inspection)
            }),
        };
        asked.await.unwrap_or_default()
    }
}

/// The rules' word on a call.
struct Word {
    decision: Decision,
    /// Who decided.
    by: String,
    /// Where the path of an approved call leads.
    path: Option<PathBuf>,
    /// The secret that the call names.
    secret: Option<Secret>,
}

/// How far a call is confined that `by` approved.
fn confinement(by: &str) -> Confinement {
    match approval::only_reads(by) {
        true => Confinement::ReadOnly,
        false => Confinement::Chat,
    }
}

impl CallEnvironment {
    /// Runs a call inside `depth` others.
    async fn run(
        &self,
        mut call: CallKey,
        mut input: Value,
        progress: Progress,
        cancel: &CancellationToken,
        depth: usize,
        way_out: &str,
    ) -> Result<ToolOutcome, String> {
        input = callable(&call.name, input, &self.rules.options)?;
        let inside = approval::inside(&call.name, &input);
        let inside = inside.map(|(name, arguments)| (name.to_owned(), arguments));
        if let Some((name, arguments)) = inside {
            call.name = name;
            call.input = chat::json::canonical(&arguments);
            input = callable(&call.name, arguments, &self.rules.options)?;
        }
        let tool = self.shared.registry.get(&call.name);
        let tool =
            tool.ok_or_else(|| format!("There is no tool named \"{}\" any more.", call.name))?;
        let (approved_path, confinement) = self
            .may_run(&call, &input, tool.runs_commands(), way_out)
            .await?;
        let mut context = self.clone().inside(&call.id, depth + 1);
        context.cancel = cancel.child_token();
        context.progress = progress;
        context.approved_path = approved_path;
        context.confinement = confinement;
        let outcome = tools::run(tool, call.id.clone(), input, context).await;
        let (audit, path, ended) = (self.audit.clone(), self.path.clone(), outcome.clone());
        tokio::task::spawn_blocking(move || {
            if let Err(error) = audit.ended(path.as_deref(), &[(call, ended)]) {
                tracing::warn!(%error, "the end of a call is not in the log of decisions");
            }
        });
        Ok(outcome)
    }

    /// Why a command is not approved because it only reads; empty for other calls.
    async fn problem(&self, call: &CallKey) -> String {
        if !resolver_calls::is_command(call) {
            return String::new();
        }
        let (inspection, call) = (self.inspection(), call.clone());
        let problem = tokio::task::spawn_blocking(move || inspection.problem(&call)).await;
        let problem = problem.ok().flatten();
        problem.map(|it| format!(" {it}")).unwrap_or_default()
    }

    /// Has a call decided on, and the decision written before anything follows. Returns
    /// where the path of an approved call leads, and how far the call is confined.
    async fn may_run(
        &self,
        call: &CallKey,
        input: &Value,
        runs_commands: bool,
        way_out: &str,
    ) -> Result<(Option<PathBuf>, Confinement), String> {
        let word = self.decide(call, input).await;
        let confinement = confinement(&word.by);
        let held = match runs_commands {
            true => self.shared.settings.held_by(&self.sandbox, call, &word.by),
            false => "none",
        };
        let refusal = self.refusal(call, &word, way_out).await;
        let recorded = self.record(call, &word, held).await;
        if let Some(refusal) = refusal {
            let (buffer, call) = (self.buffer, call.clone());
            self.editor.emit(SessionEvent::ToolDenied { buffer, call });
            return Err(refusal);
        }
        match recorded {
            Ok(Ok(())) => Ok((word.path, confinement)),
            Ok(Err(error)) => Err(self.audit.refusal(&error).what),
            Err(error) => Err(format!("\"{}\" was not run: {error}.", call.name)),
        }
    }

    /// Why a call does not run, for its caller; nothing when it was approved.
    async fn refusal(&self, call: &CallKey, word: &Word, way_out: &str) -> Option<String> {
        let name = &call.name;
        match word.decision {
            Decision::Approve => None,
            Decision::Deny => {
                let why = match self.rules.options.chain.reason(&word.by, call) {
                    Some(why) => format!(" {why}"),
                    None if word.by == GUARD => self.problem(call).await,
                    None => String::new(),
                };
                Some(format!("\"{name}\" was not run: a policy denies it.{why}"))
            }
            Decision::RequireApproval => Some(match &word.secret {
                Some(secret) if word.by == GUARD => format!(
                    "\"{name}\" was not run: {secret}, and no policy approves that. The user can grant it with {}.",
                    secret.grant()
                ),
                _ => {
                    let why = self.problem(call).await;
                    format!("\"{name}\" was not run: no policy approves it, and {way_out}{why}")
                }
            }),
        }
    }

    /// Writes the decision on a call into the log, and the start of an approved one.
    async fn record(
        &self,
        call: &CallKey,
        word: &Word,
        sandbox: &'static str,
    ) -> Result<io::Result<()>, JoinError> {
        let ruling = match word.decision {
            Decision::Approve => Ruling::Approved,
            Decision::Deny => Ruling::Denied,
            Decision::RequireApproval => Ruling::Unfit,
        };
        let by = match word.by.as_str() {
            "" => "default".to_owned(),
            by => by.to_owned(),
        };
        let decided = Decided {
            call: call.clone(),
            ruling,
            by,
            reason: None,
        };
        let (audit, path) = (self.audit.clone(), self.path.clone());
        let write = move || {
            audit.decided(path.as_deref(), std::slice::from_ref(&decided))?;
            if ruling != Ruling::Approved {
                return Ok(());
            }
            let start = Start {
                call: &decided.call,
                by: None,
                sandbox,
            };
            audit.begun(path.as_deref(), &[], &[], &[start])
        };
        tokio::task::spawn_blocking(write).await
    }
}
