//! Asks the resolvers that are not lists of rules: approval functions of the editor and of
//! the frontmatter, and the guard of protected files, secrets, and commands.
//!
//! The cycle decides what follows from an answer.

mod reason;
mod remembered;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use chat::approval::{Answers, CallKey, Decision, Function, FunctionId, Question, Returned};
use chat::cycle::{Level, Notice};
use chat::tool::ToolUseId;
use policy::protected::needs_review;
use policy::rules::Rules;
use policy::settings::judges::Inspection;
use serde_json::json;
use tools::{ApprovedPath, SecretFile};

pub use reason::{Reason, WaitsBy};
pub use remembered::facts;

use crate::editor::Editor;
use crate::protocol::{BufferId, FunctionAnswer, FunctionCall};
use crate::shared::Shared;

/// Returns each question with all functions that the same message asks.
pub fn together(rules: &Rules, questions: Vec<Question>) -> Vec<(Question, Vec<Function>)> {
    let functions = |question: Question| {
        let (first, name) = (question.function.id, &question.call.name);
        let functions = rules.options.chain.asked_together(first, name);
        (question, functions)
    };
    questions.into_iter().map(functions).collect()
}

/// Why a command waits that would run without a sandbox.
pub const RUNS_FREE: &str = "no sandbox confines commands here (:Flemma sandbox:status says why), so this one could read \
                             the keys of Neovim and of your shell.";

/// Explains why a call that names a secret waits, in one or two sentences.
fn asks_about(secret: &SecretFile) -> String {
    format!(
        "{secret}, so this needs your approval, whatever the policy says. To let it be read without being asked, set {}.",
        secret.grant()
    )
}

/// The answers of a [`CallGuard`].
#[derive(Default)]
pub struct GuardAnswers {
    /// The answer to each question.
    pub answers: Answers,
    /// Messages for the user, one sentence each.
    pub messages: Vec<String>,
    /// The last secret that a call named.
    pub secret: Option<SecretFile>,
    /// The paths of each call that changes files. The call runs only while all of them lead
    /// where they did.
    pub paths: Vec<(CallKey, Vec<ApprovedPath>)>,
    /// The names of the remembered rules that approve calls.
    pub rules: Vec<(ToolUseId, String)>,
}

/// Returns true if a call runs a shell command.
pub fn is_command(call: &CallKey) -> bool {
    matches!(call.name.as_str(), "bash" | "shell")
}

/// Makes calls wait although a policy approves them: for protected files, secrets, and
/// commands without a sandbox.
pub struct CallGuard {
    /// The tools and script folders.
    pub shared: Arc<Shared>,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// The chat's path.
    pub chat: Option<PathBuf>,
    /// The rules about shell commands and secrets.
    pub inspection: Inspection,
}

impl CallGuard {
    /// Answers questions about calls. Blocking.
    pub fn answer(&self, questions: Vec<Question>) -> GuardAnswers {
        let mut found = GuardAnswers::default();
        for question in questions {
            let id = question.function.id;
            let decision = match id {
                FunctionId::Remembered => self.remembered(&question, &mut found),
                FunctionId::Held => self.requires_sandbox(&question.call, &mut found),
                _ if is_command(&question.call) => self.command(&question.call, &mut found),
                _ => self.files(&question, &mut found),
            };
            found.answers.insert((question.call, id), decision);
        }
        found
    }

    /// Makes a command wait if no sandbox confines it.
    fn requires_sandbox(&self, call: &CallKey, found: &mut GuardAnswers) -> Option<Decision> {
        self.inspection.runs_free(call).then(|| {
            let message = format!("The call \"{}\" needs your approval: {RUNS_FREE}", call.id);
            found.messages.push(message);
            Decision::RequireApproval
        })
    }

    fn command(&self, call: &CallKey, found: &mut GuardAnswers) -> Option<Decision> {
        let (decision, message) = self.inspection.decide(call).unzip();
        found.messages.extend(message);
        decision
    }

    /// Makes a call wait that would write a protected file or read a secret. The paths of a
    /// call that writes are resolved once, for this check and for the call; those of a call that
    /// reads are resolved again when it runs.
    fn files(&self, question: &Question, found: &mut GuardAnswers) -> Option<Decision> {
        let Question { call, input, .. } = question;
        let tool = self.shared.registry.get(&call.name);
        let files = tool.as_ref().map(|it| it.changes(input, &self.folder));
        let paths = self.paths(call, input);
        let real = paths.iter().map(|it| it.real.clone());
        let files: Vec<_> = files.unwrap_or_default().into_iter().zip(real).collect();
        let protected = needs_review(&files, self.shared.scripts.folders());
        let secret = tool.and_then(|tool| self.inspection.secret(tool.as_ref(), input));
        let protected = protected.map(|it| it.to_string());
        let reason = protected.or_else(|| secret.as_ref().map(asks_about));
        // Keeps an earlier secret if this call names none.
        found.secret = secret.or(found.secret.take());
        if !paths.is_empty() {
            found.paths.push((call.clone(), paths));
        }
        reason.map(|reason| {
            let message = format!("The call \"{}\" needs your approval: {reason}", call.id);
            found.messages.push(message);
            Decision::RequireApproval
        })
    }
}

/// Asks the approval function of the frontmatter. Blocking.
pub fn ask_frontmatter(
    editor: &Editor,
    rules: &Rules,
    buffer: BufferId,
    questions: Vec<Question>,
) -> Answers {
    let mut answers = Answers::new();
    let mut problems = BTreeSet::new();
    for question in questions {
        let context = json!({"bufnr": buffer, "tool_id": question.call.id.as_str()});
        let name = &question.call.name;
        let result = match &rules.evaluated {
            Some(it) => it.call_policy(name, &question.input, &context),
            None => Err("the frontmatter is gone".to_owned()),
        };
        let returned = match &result {
            Ok(value) => Returned::Value(value),
            Err(message) => Returned::Error(message),
        };
        let (decision, problem) = question.function.read(returned);
        if let Some(problem) = problem {
            tracing::warn!(
                tool = name,
                "the policy function of the frontmatter {problem}"
            );
            // A set, because a broken function fails in the same way for each call.
            problems.insert(format!("The auto_approve of the frontmatter {problem}."));
        }
        // A function of a document must not allow more than the user does.
        let decision = rules.limited(&question.call, decision);
        answers.insert((question.call, FunctionId::Frontmatter), decision);
    }
    report(editor, problems);
    answers
}

/// Shows the errors of functions, once for all calls of a step.
fn report(editor: &Editor, problems: BTreeSet<String>) {
    for text in problems {
        editor.notify(&Notice {
            level: Level::Warning,
            text,
        });
    }
}

/// Asks functions in the editor. Each question goes to its functions until one decides.
pub async fn ask_functions(
    editor: &Editor,
    buffer: BufferId,
    asked: Vec<(Question, Vec<Function>)>,
) -> Answers {
    let call = |(question, functions): &(Question, Vec<Function>)| FunctionCall {
        functions: functions.iter().filter_map(editor_number).collect(),
        arguments: vec![
            question.call.name.clone().into(),
            question.input.clone(),
            json!({"bufnr": buffer, "tool_id": question.call.id.as_str()}),
        ],
    };
    let replies = editor
        .call_functions(asked.iter().map(call).collect())
        .await
        .unwrap_or_default();
    let mut replies = replies.into_iter();
    let mut answers = Answers::new();
    let mut problems = BTreeSet::new();
    for (question, functions) in asked {
        // If Neovim has ended, every function counts as gone.
        let replies = replies.next().unwrap_or_default();
        problems.extend(read(&question, &functions, &replies, &mut answers));
    }
    report(editor, problems);
    answers
}

fn editor_number(function: &Function) -> Option<u64> {
    match function.id {
        FunctionId::Editor(number) => Some(number),
        FunctionId::Frontmatter
        | FunctionId::Guard
        | FunctionId::Held
        | FunctionId::Remembered
        | FunctionId::Sight => None,
    }
}

/// Adds the functions' answers. The function that the cycle asked about always gets one,
/// because the cycle would ask again forever. Returns what went wrong, in sentences for
/// the user.
fn read(
    question: &Question,
    functions: &[Function],
    replies: &[FunctionAnswer],
    answers: &mut Answers,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut add = |function: &Function, returned: Returned<'_>| {
        let (decision, problem) = function.read(returned);
        if let Some(problem) = problem {
            tracing::warn!(tool = question.call.name, call = %question.call.id, "a policy function {problem}");
            problems.push(format!("{} {problem}.", function.subject()));
        }
        answers.insert((question.call.clone(), function.id), decision);
    };
    for (function, reply) in functions.iter().zip(replies) {
        add(function, returned(reply));
    }
    if functions.is_empty() || replies.is_empty() {
        add(&question.function, Returned::Gone);
    }
    problems
}

fn returned(reply: &FunctionAnswer) -> Returned<'_> {
    match reply {
        // A value that messages cannot represent arrives as null, which would mean no opinion.
        FunctionAnswer { ok: true, .. } if reply.kind != "nil" && reply.value.is_null() => {
            Returned::Error("it returned a value that is not an answer")
        }
        FunctionAnswer {
            ok: true, value, ..
        } => Returned::Value(value),
        FunctionAnswer { kind, .. } if kind == "gone" => Returned::Gone,
        FunctionAnswer { message, .. } => Returned::Error(message.as_deref().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;
