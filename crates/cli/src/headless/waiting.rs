//! Calls that wait for the user: each is asked about once, and then approved or
//! refused by the keys that do it in a buffer.

use std::path::Path;
use std::sync::Arc;

use chat::approval::{self, CallKey};
use chat::cycle;
use chat::document::{Document, Status};
use chat::tool::ToolUseId;
use tokio::sync::oneshot;

use super::Front;
use super::compose;
use super::file::ChatFile;
use super::stdin_prompt::{self, Answer};
use crate::exit_code::Code;
use crate::protocol::Action;
use crate::sandbox;
use crate::settings::Here;
use crate::settings::judges::Inspection;

/// What the model is told when the user says no.
const NO: &str = "The user cancelled this call.";
/// What it is told when there is no user.
const UNASKED: &str = "No user could be asked whether this call may run, so it was denied.";

/// How often a call is approved anew under `--yes` because its file changed.
const MOST_AGAIN: usize = 10;

/// A question that stands.
#[derive(Debug)]
pub struct Question {
    call: (usize, ToolUseId),
    answer: oneshot::Receiver<Option<String>>,
}

/// Waits for the answer to the question that stands.
pub async fn answer(question: &mut Option<Question>) -> Answer {
    match question {
        Some(question) => stdin_prompt::answer((&mut question.answer).await.unwrap_or(None)),
        None => std::future::pending().await,
    }
}

/// A call that waits.
struct Waiting {
    key: (usize, ToolUseId),
    line: usize,
    name: String,
    input: serde_json::Value,
}

impl Front {
    /// Nothing goes on any more. Somebody has to decide, or it is over.
    pub(super) fn rested(&mut self, limited: bool) {
        self.save();
        self.tell_news();
        self.outcome.limited = limited;
        let stopped = self.outcome.cancelled || self.outcome.failed;
        let waiting = self.waiting().filter(|_| !stopped);
        if self.dry_run.is_some() {
            return self.end_dry_run();
        }
        match waiting {
            // A key that changes nothing would be pressed for ever.
            Some(waiting) if !self.asked.insert(waiting.key.clone()) => {
                let told = format!(
                    "The call \"{}\" still waits. See the chat for why.",
                    waiting.key.1
                );
                self.output.tell(&told);
                self.outcome.failed = true;
                self.end();
            }
            Some(waiting) if self.yes => {
                if self.runs_free(&waiting.name) {
                    self.output
                        .tell("UNSANDBOXED: commands run with all of your rights.");
                }
                self.approve_call(waiting.line);
            }
            Some(waiting) => self.ask(waiting),
            None => self.end(),
        }
    }

    /// A call was not run, as what it would change is not what was shown: it is asked
    /// about again. Not for ever where nobody is asked: a file may change all the time.
    pub(super) fn ask_again(&mut self, id: &ToolUseId) {
        self.again += 1;
        if !self.yes || self.again <= MOST_AGAIN {
            self.asked.retain(|(_, asked)| asked != id);
        }
    }

    fn end(&mut self) {
        // What was not said is kept where the next one finds it.
        if self.unsaid && !std::mem::replace(&mut self.taken_back, true) {
            return self.press(Action::TakeBackQueue, 0);
        }
        // The notice of a limit of cost says all.
        if self.outcome.limited && self.outcome.requests >= self.max_turns {
            let told = format!("round limit ({}) reached", self.max_turns);
            self.output.tell(&told);
        }
        if !self.outcome.denied.is_empty() {
            let told = format!("Denied by a rule: {}.", self.outcome.denied.join(", "));
            self.output.tell(&told);
        }
        if !self.outcome.refused.is_empty() {
            let told = format!(
                "Denied: {}. --approve NAME lets a tool run without asking, --yes all of them.",
                self.outcome.refused.join(", ")
            );
            self.output.tell(&told);
        }
        self.code = Some(self.outcome.code());
    }

    fn waiting(&self) -> Option<Waiting> {
        let document = Document::parse(self.text());
        document.turns().find_map(|turn| {
            let mut calls = turn.calls.iter();
            let call = calls.find(|call| call.status() == Some(Status::Pending))?;
            Some(Waiting {
                key: (turn.assistant, call.tool_use.id.clone()),
                line: call.result?.lines.start,
                name: call.tool_use.name.to_string(),
                input: document.input(call.tool_use).unwrap_or_default(),
            })
        })
    }

    /// Whether a tool starts commands that should be held by a sandbox and are not.
    fn runs_free(&self, tool: &str) -> bool {
        let shared = self.host.shared();
        let sandbox = &shared.settings.sandbox;
        let tool = shared.registry.get(tool);
        tool.is_some_and(|tool| tool.runs_commands())
            && sandbox.enabled
            && tools::find_out(&sandbox.backend()).is_err()
    }

    /// What waits, for a dry run.
    pub(super) fn all_waiting(&self) -> Vec<String> {
        let document = Document::parse(self.text());
        let mut found = Vec::new();
        for turn in document.turns() {
            let calls = turn.calls.iter();
            for call in calls.filter(|call| call.status() == Some(Status::Pending)) {
                let input = document.input(call.tool_use).unwrap_or_default();
                let tools = &self.host.shared().registry;
                found.push(chat::preview::preview(
                    tools,
                    &call.tool_use.name,
                    &input,
                    160,
                ));
            }
        }
        found
    }

    fn ask(&mut self, waiting: Waiting) {
        let runs_free = self.runs_free(&waiting.name);
        let asked = stdin_prompt::question(&waiting.name, &waiting.input, &self.folder, runs_free);
        self.output.ask(waiting.key.1.as_str(), &asked);
        self.question = Some(Question {
            call: waiting.key,
            answer: self.answers.next(),
        });
    }

    pub(super) fn answered(&mut self, answer: Answer) {
        let Some(question) = self.question.take() else {
            return;
        };
        match answer {
            Answer::Yes => {
                if let Some(waiting) = self.waiting().filter(|it| it.key == question.call) {
                    self.approve_call(waiting.line);
                }
            }
            Answer::No => self.refuse(&question.call, NO),
            Answer::Nobody => {
                let why = self.why_asked(&question.call);
                self.refuse(&question.call, &why);
            }
        }
    }

    /// The text about a call that no user could be asked about. Of a command, and of a call
    /// that names a secret, also what kept it from running by itself.
    fn why_asked(&self, call: &(usize, ToolUseId)) -> String {
        let waiting = self.waiting().filter(|it| it.key == *call);
        let problem = waiting.and_then(|waiting| {
            let key = CallKey {
                id: call.1.clone(),
                name: waiting.name.clone(),
                input: chat::json::canonical(&waiting.input),
            };
            let (meant, input) = approval::meant(&key, &waiting.input);
            let inspection = self.inspection();
            let tool = self.host.shared().registry.get(&meant.name);
            let secret = tool.and_then(|tool| inspection.secret(tool.as_ref(), &input));
            let problem = inspection.problem(&meant).map(|it| it.to_string());
            let secret =
                secret.map(|it| format!("{it}. The user can grant it with {}.", it.grant()));
            problem.or(secret)
        });
        match problem {
            Some(problem) => format!("{UNASKED} {problem}"),
            None => UNASKED.to_owned(),
        }
    }

    /// What inspects the shell commands of the chat.
    fn inspection(&self) -> Inspection {
        let settings = &self.host.shared().settings;
        let path = self.file.as_ref().map(ChatFile::path);
        let here = Here {
            cwd: &self.folder,
            chat: path,
        };
        let folder = path.and_then(Path::parent).unwrap_or(&self.folder);
        let sandbox = sandbox::of_chat(&settings.sandbox, here);
        settings.inspection(folder.to_owned(), here, Arc::new(sandbox))
    }

    /// Alt-Enter on a call that waits.
    fn approve_call(&mut self, line: usize) {
        self.press(Action::Resolve, line);
    }

    /// Writes the refusal into the call's block, then Alt-Enter on it.
    fn refuse(&mut self, key: &(usize, ToolUseId), reason: &str) {
        let document = Document::parse(self.buffer.text());
        let turn = document.turn(key.0);
        let calls = turn.into_iter().flat_map(|turn| turn.calls);
        let mut calls = calls.filter(|call| call.tool_use.id == key.1);
        let Some((name, edit)) = calls.find_map(|call| {
            let name = cycle::key(&document, call.tool_use).name;
            Some((name, compose::refusal(&call, reason)?))
        }) else {
            self.code = Some(Code::Error);
            return;
        };
        let line = edit.lines.start;
        self.outcome.refused.push(format!("{name} ({})", key.1));
        self.outcome.worked = true;
        self.type_lines(edit.lines, &edit.replacement);
        self.press(Action::Resolve, line);
    }
}
