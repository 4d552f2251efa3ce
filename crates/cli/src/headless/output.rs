//! What a run prints: answers on standard output and everything else on standard error, or
//! all events as JSON lines on standard output.
//!
//! A closed pipe does not end the run, because the chat is in its file.

use std::io::{self, IsTerminal, Write};

use chat::cycle::{Level, Notice};
use chat::preview::{Describe, preview};
use serde_json::{Value, json};
use session::frontend::RequestStatus;
use session::protocol::{DiffItem, UsageEntry, UsageNote};
use session::usage::Sums;

use super::diff;
use super::reported::NewBlock;
use crate::problems::in_a_shell;
use crate::{stdout, terminal};

/// Maximum number of columns of a line about a call.
pub const COLUMNS: usize = 160;

/// What standard output gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// The model's text as it arrives.
    Answers,
    /// The last answer with text, at the end.
    LastAnswer,
    /// The results of calls.
    Results,
    /// Events as JSON lines.
    Events,
}

/// The output of a run.
#[derive(Debug)]
pub struct Output {
    show: Show,
    debug: bool,
    is_terminal: bool,
    /// The text of the last answer, for [`Show::LastAnswer`].
    last_answer: String,
    /// True if the next text starts another answer.
    is_new_answer: bool,
    /// True if standard output ends within a line.
    has_open_line: bool,
    /// Tokens and cost of the request that ends next.
    usage: Option<UsageEntry>,
    /// Sums of all requests.
    total: Sums,
    /// The last note, without the remaining seconds.
    note: String,
    /// The first error of writing output.
    lost: Option<io::Error>,
}

impl Output {
    /// Creates an output. If `debug` is true, it also prints calls and results in full.
    pub fn new(show: Show, debug: bool) -> Self {
        Self {
            show,
            debug,
            is_terminal: io::stdout().is_terminal(),
            last_answer: String::new(),
            is_new_answer: false,
            has_open_line: false,
            usage: None,
            total: Sums::default(),
            note: String::new(),
            lost: None,
        }
    }

    /// Returns what standard output gets.
    pub fn show(&self) -> Show {
        self.show
    }

    /// Prints the lines of a dry run.
    pub fn lines(&mut self, lines: &[String]) {
        if self.show != Show::Events && !lines.is_empty() {
            self.print(&(lines.join("\n") + "\n"));
        }
    }

    /// Handles text of an answer.
    pub fn answer_text(&mut self, text: &str) {
        match self.show {
            Show::Answers => {
                // Answers end without a newline, so the next one must start on a new line.
                if std::mem::take(&mut self.is_new_answer) && self.has_open_line {
                    self.print("\n");
                }
                self.print(text);
            }
            Show::LastAnswer => {
                // Cleared by the first text only: an answer without text leaves the earlier one.
                if std::mem::take(&mut self.is_new_answer) {
                    self.last_answer.clear();
                }
                self.last_answer.push_str(text);
            }
            Show::Events => self.event("text", json!({"text": text})),
            Show::Results => {}
        }
    }

    fn print(&mut self, text: &str) {
        // A pipe gets the text unchanged; only a terminal interprets control characters.
        let shown = if self.is_terminal {
            terminal::visible(text)
        } else {
            text.into()
        };
        self.write(&shown);
        self.has_open_line = !text.is_empty() && !text.ends_with('\n');
    }

    /// Reports that a request was sent.
    pub fn request_started(&mut self) {
        self.is_new_answer = true;
        self.event("request_started", json!({}));
    }

    /// Reports the end of a request. `has_calls` is true if the answer has calls.
    pub fn request_finished(&mut self, status: RequestStatus, has_calls: bool) {
        if self.debug && !has_calls && status == RequestStatus::Success {
            debug("No more tool calls, finalizing response");
        }
        let mut data = json!({"status": status.name()});
        if let Some(usage) = self.usage.take() {
            data["usage"] = figures(&usage.sums);
            data["usage"]["provider"] = json!(usage.provider);
            data["usage"]["model"] = json!(usage.model);
        }
        self.event("request_finished", data);
    }

    /// Notes tokens and cost of the request that ends next.
    pub fn usage(&mut self, note: UsageNote) {
        self.usage = Some(note.request);
        self.total = note.session;
    }

    /// Reports a call or result that is new in the chat.
    pub fn block(&mut self, block: &NewBlock, tools: &dyn Describe) {
        match block {
            NewBlock::Call { id, name, input } => {
                if self.debug {
                    debug(&format!("LLM requested tool: {name}"));
                    debug(&format!("Parameters: {input}"));
                } else if self.shows_answers() {
                    let input = serde_json::from_str(input).unwrap_or_default();
                    self.report(&preview(tools, name, &input, COLUMNS));
                }
                // Arguments that are not JSON are reported as the text that they are.
                let input = serde_json::from_str::<Value>(input).unwrap_or_else(|_| json!(input));
                self.event("call", json!({"id": id, "name": name, "input": input}));
            }
            NewBlock::Result {
                id,
                name,
                text,
                is_error,
            } => {
                if self.debug {
                    debug(&format!("Tool result: {text}"));
                } else if *is_error && self.shows_answers() {
                    self.report(&format!("{name} failed: {text}"));
                }
                let data = json!({"id": id, "name": name, "text": text, "is_error": is_error});
                self.event("result", data);
                if self.show == Show::Results {
                    self.print(text);
                }
            }
        }
    }

    fn shows_answers(&self) -> bool {
        matches!(self.show, Show::Answers | Show::LastAnswer)
    }

    /// Prints a message of the session.
    pub fn notice(&mut self, notice: &Notice) {
        if self.show == Show::Events {
            let level = match notice.level {
                Level::Info => "info",
                Level::Warning => "warn",
                Level::Error => "error",
            };
            let data = json!({"level": level, "message": notice.text});
            return self.event("notice", data);
        }
        self.report(&in_a_shell(&notice.text));
    }

    /// Prints what the request waits for, once and not again for each second.
    pub fn note(&mut self, note: &str) {
        // A countdown changes each second, and a line for each would fill the terminal.
        let what = note.rsplit_once(" in ").map_or(note, |(what, _)| what);
        if self.note == what {
            return;
        }
        what.clone_into(&mut self.note);
        if self.show == Show::Events {
            self.event("note", json!({"message": note}));
        } else {
            self.report(note);
        }
    }

    /// Prints a message on standard error, on one line.
    pub fn report(&mut self, text: &str) {
        self.finish_line();
        // One line for each message, so that logs can be searched.
        terminal::report(&text.replace('\n', " "));
    }

    /// Prints a question without a line end, because the answer is typed behind it, and a diff
    /// above its last line.
    pub fn ask(&mut self, id: &str, question: &str, diff: &[DiffItem]) {
        self.finish_line();
        self.event("question", json!({"id": id}));
        let mut err = io::stderr().lock();
        // The diff goes above the last line, which waits for the answer.
        let (above, last) = question.split_at(question.rfind('\n').map_or(0, |at| at + 1));
        let (above, last) = (terminal::visible(above), terminal::visible(last));
        let shown = diff::lines(diff, diff::Style::of_stderr());
        // A closed standard error must not end the run, because the chat is in its file.
        drop(write!(err, "{above}{shown}{last}").and_then(|()| err.flush()));
    }

    /// Prints an event as a JSON line, if events are shown.
    pub fn event(&mut self, name: &str, mut data: Value) {
        if self.show != Show::Events {
            return;
        }
        let mut line = json!({"event": name});
        if let (Some(line), Some(data)) = (line.as_object_mut(), data.as_object_mut()) {
            line.append(data);
        }
        self.write(&format!("{}\n", terminal::json(&line.to_string())));
    }

    fn write(&mut self, text: &str) {
        // Reported at the end of the run, because the chat is still saved.
        if let Err(error) = stdout::write(text) {
            self.lost.get_or_insert(error);
        }
    }

    /// Reports that output could not be written. Returns true if there was such output.
    pub fn report_lost(&mut self) -> bool {
        let lost = self.lost.take();
        if let Some(error) = &lost {
            // Standard output is gone, so its line can't be completed.
            self.has_open_line = false;
            self.report(&stdout::problem(error));
        }
        lost.is_some()
    }

    /// Prints what is due at the end of the run.
    pub fn finish(&mut self, code: u8) {
        let answer = std::mem::take(&mut self.last_answer);
        if !answer.is_empty() {
            self.print(&answer);
        }
        let mut total = figures(&self.total);
        total["requests"] = json!(self.total.requests);
        self.event("finished", json!({"exit_code": code, "usage": total}));
        self.finish_line();
    }

    fn finish_line(&mut self) {
        if std::mem::take(&mut self.has_open_line) {
            self.write("\n");
        }
    }
}

/// Returns tokens and cost as events have them.
fn figures(sums: &Sums) -> Value {
    json!({
        "input": sums.input,
        "output": sums.output,
        "thoughts": sums.thoughts,
        "cache_read": sums.cache_read,
        "cache_creation": sums.cache_creation,
        "cost": sums.dollars(),
    })
}

/// Prints a line of the debugging output.
fn debug(line: &str) {
    drop(writeln!(
        io::stderr(),
        "[DEBUG] {}",
        terminal::visible(line)
    ));
}
