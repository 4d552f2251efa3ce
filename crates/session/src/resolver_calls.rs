//! Whoever has a say about calls beside the lists: the user's functions in the
//! editor, the frontmatter's, and the guard of protected and secret files.
//!
//! Asks, and reads what comes back; what follows from it is decided elsewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chat::approval::{Answers, CallKey, Decision, Function, FunctionId, Question, Returned};
use chat::cycle::{Level, Notice};
use serde_json::json;
use tools::{Registry, Secret, leads_to};

use crate::editor::Editor;
use crate::protected::needs_review;
use crate::protocol::{BufferId, FunctionAnswer, FunctionCall};
use crate::rules::Rules;
use crate::scripts::Scripts;
use crate::settings::judges::Inspection;

/// Each question with all functions that are asked in the same message.
pub fn together(rules: &Rules, questions: Vec<Question>) -> Vec<(Question, Vec<Function>)> {
    let functions = |question: Question| {
        let (first, name) = (question.function.id, &question.call.name);
        let functions = rules.options.chain.asked_together(first, name);
        (question, functions)
    };
    questions.into_iter().map(functions).collect()
}

/// Why a command waits that no sandbox holds.
pub const RUNS_FREE: &str = "no sandbox holds commands here (:Flemma sandbox:status says why), so this one could read \
                             the keys of Neovim and of your shell.";

/// Why a call waits that names a secret: a sentence or two for the user.
pub fn asks_about(secret: &Secret) -> String {
    format!(
        "{secret}, so this waits for you whatever the policy says. To let it be read without being asked, set {}.",
        secret.grant()
    )
}

/// What the guard of protected and secret files says of calls that a policy approves.
#[derive(Default)]
pub struct Guarded {
    /// Its answer to each question.
    pub answers: Answers,
    /// What the user should know, a sentence each.
    pub told: Vec<String>,
    /// The last secret that a call named.
    pub secret: Option<Secret>,
    /// Where the path of each call led when it was decided on; the call does its work only
    /// while it still leads there.
    pub paths: Vec<(CallKey, PathBuf)>,
}

/// Whether a call runs a shell command.
pub fn is_command(call: &CallKey) -> bool {
    matches!(call.name.as_str(), "bash" | "shell")
}

/// Decides whether calls that a policy approves would write what no policy may let them
/// write, or read what is secret. The path of a call that writes is resolved once, for this
/// and for the call; one that reads is looked at again when it runs. Blocking.
pub fn look_closer(
    questions: Vec<Question>,
    folder: &Path,
    registry: &Registry,
    scripts: &Scripts,
    inspection: &Inspection,
) -> Guarded {
    let mut guarded = Guarded::default();
    for question in questions {
        let Question {
            call,
            input,
            function,
        } = question;
        let tool = registry.get(&call.name);
        if function.id == FunctionId::Held {
            let is_free = inspection.runs_free(&call);
            let told = is_free.then(|| format!("The call \"{}\" waits: {RUNS_FREE}", call.id));
            let decision = is_free.then_some(Decision::RequireApproval);
            guarded.told.extend(told);
            guarded.answers.insert((call, FunctionId::Held), decision);
            continue;
        }
        if is_command(&call) {
            let (decision, told) = inspection.decide(&call).unzip();
            guarded.told.extend(told);
            guarded.answers.insert((call, FunctionId::Guard), decision);
            continue;
        }
        let real = tool
            .as_ref()
            .and_then(|tool| tool.changes(&input, folder))
            .map(|path| leads_to(&inspection.sandbox.outside(&path)));
        let reason = needs_review(
            &call.name,
            &input,
            folder,
            real.as_deref(),
            scripts.folders(),
        );
        let secret = tool.and_then(|tool| inspection.secret(tool.as_ref(), &input));
        let reason = reason.or_else(|| secret.as_ref().map(asks_about));
        guarded.secret = secret.or(guarded.secret);
        let waits = reason.map(|reason| format!("The call \"{}\" waits: {reason}", call.id));
        let decision = waits.is_some().then_some(Decision::RequireApproval);
        guarded.told.extend(waits);
        guarded.paths.extend(real.map(|real| (call.clone(), real)));
        guarded.answers.insert((call, FunctionId::Guard), decision);
    }
    guarded
}

/// Asks the policy function of the frontmatter. Blocking.
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
        let said = match &rules.evaluated {
            Some(it) => it.call_policy(name, &question.input, &context),
            None => Err("the frontmatter is gone".to_owned()),
        };
        let returned = match &said {
            Ok(value) => Returned::Value(value),
            Err(message) => Returned::Error(message),
        };
        let (decision, problem) = question.function.read(returned);
        if let Some(problem) = problem {
            tracing::warn!(
                tool = name,
                "the policy function of the frontmatter {problem}"
            );
            problems.insert(format!("The auto_approve of the frontmatter {problem}."));
        }
        let decision = rules.limited(&question.call, decision);
        answers.insert((question.call, FunctionId::Frontmatter), decision);
    }
    report(editor, problems);
    answers
}

/// Shows what went wrong in functions, once for all calls of a step: the calls are not
/// decided as the user's rules mean to.
fn report(editor: &Editor, problems: BTreeSet<String>) {
    for text in problems {
        editor.notify(&Notice {
            level: Level::Warning,
            text,
        });
    }
}

/// Asks the editor; each question goes to the functions beside it until one of
/// them says something.
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
        let replies = replies.next().unwrap_or_default();
        problems.extend(read(&question, &functions, &replies, &mut answers));
    }
    report(editor, problems);
    answers
}

fn editor_number(function: &Function) -> Option<u64> {
    match function.id {
        FunctionId::Editor(number) => Some(number),
        FunctionId::Frontmatter | FunctionId::Guard | FunctionId::Held | FunctionId::Sight => None,
    }
}

/// Adds what the functions said. The one that the cycle asked for always gets an
/// answer, because otherwise it would be asked for ever. Returns what went wrong, in
/// sentences for the user.
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
        FunctionAnswer { ok: true, .. } if reply.kind != "nil" && reply.value.is_null() => {
            Returned::Error("it returned a value that is no answer")
        }
        FunctionAnswer {
            ok: true, value, ..
        } => Returned::Value(value),
        FunctionAnswer { kind, .. } if kind == "gone" => Returned::Gone,
        FunctionAnswer { message, .. } => Returned::Error(message.as_deref().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat::approval::OnError;
    use chat::tool::ToolUseId;
    use serde_json::Value;

    fn answer(ok: bool, value: Value, kind: &str) -> FunctionAnswer {
        FunctionAnswer {
            ok,
            value,
            kind: kind.to_owned(),
            message: None,
        }
    }

    fn decisions(functions: &[Function], replies: &[FunctionAnswer]) -> Vec<Option<Decision>> {
        let question = Question {
            call: CallKey {
                id: ToolUseId::new("t"),
                name: "bash".to_owned(),
                input: "{}".to_owned(),
            },
            input: json!({}),
            function: functions[0],
        };
        let mut answers = Answers::new();
        read(&question, functions, replies, &mut answers);
        answers.into_values().collect()
    }

    #[test]
    fn a_function_that_throws_or_answers_oddly_makes_the_call_wait() {
        let wait = [Some(Decision::RequireApproval)];
        let policy = [Function::auto_approve(1)];
        for (reply, expected) in [
            (
                answer(true, json!(true), "boolean"),
                Some(Decision::Approve),
            ),
            (answer(true, Value::Null, "nil"), None),
            (answer(true, json!("deny"), "string"), Some(Decision::Deny)),
            (answer(true, json!("approve"), "string"), wait[0]),
            (answer(true, Value::Null, "table"), wait[0]),
            (answer(false, json!(true), "nil"), wait[0]),
            (answer(false, Value::Null, "gone"), wait[0]),
        ] {
            assert_eq!(decisions(&policy, &[reply]), [expected]);
        }
        assert_eq!(decisions(&policy, &[]), wait);
    }

    #[test]
    fn resolvers_that_were_asked_together_each_have_their_answer() {
        let functions = [1, 2, 3].map(|id| Function::resolver(id, OnError::Pass));
        let replies = [
            answer(false, Value::Null, "nil"),
            answer(true, json!("approve"), "string"),
        ];
        assert_eq!(
            decisions(&functions, &replies),
            [None, Some(Decision::Approve)]
        );
    }
}
