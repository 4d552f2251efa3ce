//! Decides about calls that are in no document, and writes the decisions into the audit log.

use chat::approval::{
    self, Answers, CallKey, Decision, FunctionId, GUARD, Question, REMEMBERED, Verdict,
};
use chat::cycle::{Decided, Ruling, verdict};
use serde_json::Value;
use tools::{ApprovedPath, Confinement, SecretFile};

use super::CallEnvironment;
use crate::audit::CallStart;
use crate::frontend::SessionEvent;
use crate::resolver_calls::{self, CallGuard, GuardAnswers};

/// The rules' decision about a call. By default it waits for the user.
struct RuleDecision {
    decision: Decision,
    /// The rule that decided.
    by: String,
    /// The paths of the call's files.
    paths: Vec<ApprovedPath>,
    /// The secret that the call names.
    secret: Option<SecretFile>,
}

impl Default for RuleDecision {
    fn default() -> Self {
        Self {
            decision: Decision::RequireApproval,
            by: String::new(),
            paths: Vec::new(),
            secret: None,
        }
    }
}

impl RuleDecision {
    /// Returns the decision as the audit log records it.
    fn decided(&self, call: &CallKey) -> Decided {
        Decided {
            call: call.clone(),
            ruling: match self.decision {
                Decision::Approve => Ruling::Approved,
                Decision::Deny => Ruling::Denied,
                // The user is not asked about such a call, so it ends here.
                Decision::RequireApproval => Ruling::Unfit,
            },
            by: match self.by.as_str() {
                "" => "default".to_owned(),
                by => by.to_owned(),
            },
            reason: None,
        }
    }
}

/// The conditions under which an approved call runs.
pub(super) struct Approved {
    /// The paths of the call's files.
    pub(super) paths: Vec<ApprovedPath>,
    pub(super) confinement: Confinement,
}

impl CallEnvironment {
    /// Decides about a call, and writes the decision before anything follows from it.
    ///
    /// # Errors
    ///
    /// The call is not approved, or the audit log cannot be written; for the caller.
    pub(super) async fn approve(
        &self,
        call: &CallKey,
        input: &Value,
        runs_commands: bool,
        way_out: &str,
    ) -> Result<Approved, String> {
        let decided = self.decide(call, input).await;
        let settings = &self.rules.settings;
        let confinement = settings.confinement(&decided.by);
        let sandbox = if runs_commands {
            settings.held_by(&self.sandbox, call, &decided.by)
        } else {
            "none"
        };
        let refusal = self.refusal(call, &decided, way_out).await;
        // Refusals are recorded too, and an approval before anything runs.
        let recorded = self.record(call, &decided, sandbox).await;
        if let Some(refusal) = refusal {
            let (buffer, call) = (self.buffer, call.clone());
            self.editor.emit(SessionEvent::ToolDenied { buffer, call });
            return Err(refusal);
        }
        // A call whose start is not in the log does not run.
        recorded?;
        Ok(Approved {
            paths: decided.paths,
            confinement,
        })
    }

    /// Returns true if the rules approve a call. Records nothing.
    pub(crate) async fn allows(&self, call: &CallKey, input: &Value) -> bool {
        self.decide(call, input).await.decision == Decision::Approve
    }

    /// Asks all resolvers about a call until one decides.
    async fn decide(&self, call: &CallKey, input: &Value) -> RuleDecision {
        // All rules apply to the call inside an `execute_tool`.
        let (call, input) = &approval::meant(call, input);
        let mut answers = Answers::new();
        let (mut paths, mut secret, mut rule) = (Vec::new(), None, None);
        loop {
            let function = match verdict(call, &answers, &self.rules.options) {
                Verdict::Decided(decision, by) => {
                    // Other decisions may follow a remembered rule that did not decide.
                    // The rule's name explains this approval only.
                    let rule = rule.filter(|_| by == REMEMBERED);
                    return RuleDecision {
                        decision,
                        by: rule.map_or(by, |name| format!("{REMEMBERED}: {name}")),
                        paths,
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
            let found = self.ask(question).await;
            // The chain would ask a resolver without an answer forever.
            if found.answers.is_empty() {
                return RuleDecision::default();
            }
            // Keeps the last secret found, which the refusal names.
            secret = found.secret.or(secret);
            rule = found.rules.into_iter().next().map(|it| it.1).or(rule);
            paths.extend(found.paths.into_iter().flat_map(|(_, paths)| paths));
            answers.extend(found.answers);
        }
    }

    async fn ask(&self, question: Question) -> GuardAnswers {
        let only = |answers: Answers| GuardAnswers {
            answers,
            ..GuardAnswers::default()
        };
        let buffer = self.buffer;
        let asked = match question.function.id {
            FunctionId::Editor(_) => {
                let asked = resolver_calls::together(&self.rules, vec![question]);
                return only(resolver_calls::ask_functions(&self.editor, buffer, asked).await);
            }
            FunctionId::Frontmatter => {
                let (editor, rules) = (self.editor.clone(), self.rules.clone());
                tokio::task::spawn_blocking(move || {
                    let questions = vec![question];
                    only(resolver_calls::ask_frontmatter(
                        &editor, &rules, buffer, questions,
                    ))
                })
            }
            // A call that is in no document has shown no file to the user.
            FunctionId::Sight => return GuardAnswers::default(),
            FunctionId::Guard | FunctionId::Held | FunctionId::Remembered => {
                let guard = CallGuard {
                    shared: self.shared.clone(),
                    folder: self.folder.clone(),
                    chat: self.path.clone(),
                    inspection: self.inspection(),
                };
                tokio::task::spawn_blocking(move || guard.answer(vec![question]))
            }
        };
        asked.await.unwrap_or_default()
    }

    /// Returns why a call does not run, for its caller; `None` if it is approved.
    async fn refusal(
        &self,
        call: &CallKey,
        decided: &RuleDecision,
        way_out: &str,
    ) -> Option<String> {
        let name = &call.name;
        match decided.decision {
            Decision::Approve => None,
            Decision::Deny => {
                let why = match self.rules.options.chain.reason(&decided.by, call) {
                    Some(why) => format!(" {why}"),
                    None if decided.by == GUARD => self.problem(call).await,
                    None => String::new(),
                };
                Some(format!("\"{name}\" was not run: a policy denies it.{why}"))
            }
            Decision::RequireApproval => Some(match &decided.secret {
                Some(secret) if decided.by == GUARD => format!(
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

    /// Returns why a command is not approved as one that only reads; empty for other calls.
    async fn problem(&self, call: &CallKey) -> String {
        if !resolver_calls::is_command(call) {
            return String::new();
        }
        let (inspection, call) = (self.inspection(), call.clone());
        let problem = tokio::task::spawn_blocking(move || inspection.problem(&call)).await;
        let problem = problem.ok().flatten();
        problem.map(|it| format!(" {it}")).unwrap_or_default()
    }

    /// Writes a decision into the audit log, and the start of an approved call.
    async fn record(
        &self,
        call: &CallKey,
        decided: &RuleDecision,
        sandbox: &'static str,
    ) -> Result<(), String> {
        let decided = decided.decided(call);
        let (audit, path) = (self.audit.clone(), self.path.clone());
        let write = move || {
            audit.decided(path.as_deref(), std::slice::from_ref(&decided))?;
            if decided.ruling != Ruling::Approved {
                return Ok(());
            }
            let start = CallStart {
                call: &decided.call,
                by: None,
                sandbox,
            };
            audit.begun(path.as_deref(), &[], &[], &[start])
        };
        match tokio::task::spawn_blocking(write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.audit.refusal(&error).what),
            Err(error) => Err(format!("\"{}\" was not run: {error}.", call.name)),
        }
    }
}
