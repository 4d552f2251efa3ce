//! The output of a run: answers on standard output and everything else on standard error, or
//! all events as JSON lines on standard output.
//!
//! A closed pipe does not end the run, because the chat is in its file. Calls and results are found
//! in the document, because the events of an answer have only the model's text.

use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};

use chat::cycle::{Level, Notice};
use chat::document::{Document, PairedCall, ResultKind};
use chat::preview::{Describe, preview};
use chat::tool::ToolUseId;
use serde_json::{Value, json};
use session::context::ContextReport;
use session::frontend::RequestStatus;
use session::protocol::{Action, DiffItem, DiffRow, UsageEntry, UsageNote};
use session::usage::Sums;

use crate::problems::in_a_shell;
use crate::terminal;

/// Maximum number of columns of a line about a call.
pub const COLUMNS: usize = 160;

/// The contents of standard output.
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
    /// What the next request contains, instead of sending it.
    Context {
        /// True for one JSON object.
        json: bool,
    },
}

impl Show {
    /// Returns the key that gives what is shown.
    pub fn action(self) -> Action {
        match self {
            Self::Context { .. } => Action::Context,
            Self::Answers | Self::LastAnswer | Self::Results | Self::Events => {
                Action::Advance { from_insert: false }
            }
        }
    }
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

    /// Returns true if only [`Output::context`] is wanted.
    pub fn is_context(&self) -> bool {
        matches!(self.show, Show::Context { .. })
    }

    /// Prints what the next request contains.
    pub fn context(&mut self, report: &ContextReport) {
        let text = if self.show == (Show::Context { json: true }) {
            let json = serde_json::to_string(report).unwrap_or_default();
            terminal::json(&json).into_owned()
        } else {
            report.lines().join("\n")
        };
        self.print(&(text + "\n"));
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
            Show::Results | Show::Context { .. } => {}
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
        let shown = diff_lines(diff, Style::of_stderr());
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
        if let Err(error) = terminal::write(text) {
            self.lost.get_or_insert(error);
        }
    }

    /// Reports that output could not be written. Returns true if there was such output.
    pub fn report_lost(&mut self) -> bool {
        let lost = self.lost.take();
        if let Some(error) = &lost {
            // Standard output is gone, so its line can't be completed.
            self.has_open_line = false;
            self.report(&terminal::output_problem(error));
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

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const REVERSE: &str = "\u{1b}[7m";
const NOT_REVERSE: &str = "\u{1b}[27m";
const RESET: &str = "\u{1b}[0m";

/// How a diff is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// Escape sequences of a terminal.
    Colored,
}

impl Style {
    /// The style for standard error. `NO_COLOR` turns colors off.
    pub fn of_stderr() -> Self {
        // An empty value does not count, by <https://no-color.org>.
        let is_off = tools::variable("NO_COLOR").is_some_and(|it| !it.is_empty());
        if io::stderr().is_terminal() && !is_off {
            Self::Colored
        } else {
            Self::Plain
        }
    }

    fn paint(self, color: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colored => format!("{color}{text}{RESET}"),
        }
    }
}

/// Returns the lines of all files. The host has spelled out what a terminal would interpret.
pub fn diff_lines(diff: &[DiffItem], style: Style) -> String {
    let mut text = String::new();
    for file in diff {
        let title = [&*file.name, &*file.counts, &*file.labels];
        let title = title.into_iter().filter(|it| !it.is_empty());
        let title = title.collect::<Vec<_>>().join("  ");
        text.push_str(&style.paint(BOLD, &title));
        text.push('\n');
        for row in &file.rows {
            text.push_str(&diff_line(row, file.digits, style));
            text.push('\n');
        }
        if file.more > 0 {
            text.push_str(&format!("… {} more lines\n", file.more));
        }
    }
    text
}

fn diff_line(row: &DiffRow, digits: usize, style: Style) -> String {
    let number = match row.number {
        0 => String::new(),
        number => number.to_string(),
    };
    let (sign, color) = match row.kind {
        "add" => ("+ ", GREEN),
        "delete" => ("- ", RED),
        // Context has no sign, but lines up with the lines that have one.
        "context" => return format!("{number:>digits$}   {}", row.text),
        _ => return format!("{number:>digits$} {}", row.text),
    };
    let text = match style {
        Style::Plain => row.text.clone(),
        Style::Colored => with_words(row),
    };
    let line = style.paint(color, &format!("{sign}{text}"));
    format!("{number:>digits$} {line}")
}

/// Returns the text with changed words in reverse.
fn with_words(row: &DiffRow) -> String {
    let mut text = row.text.clone();
    // From the last range to the first, so that the positions stay valid.
    for range in row.changed.chunks_exact(2).rev() {
        text.insert_str(range[1], NOT_REVERSE);
        text.insert_str(range[0], REVERSE);
    }
    text
}

/// A call's message in the document, and its ID.
type Key = (usize, ToolUseId);

/// The calls and results that were reported.
#[derive(Debug, Default)]
pub struct ReportedBlocks {
    calls: HashSet<Key>,
    results: HashSet<Key>,
}

/// A block that was not reported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBlock {
    /// A call.
    Call {
        /// The call's ID.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as written in the document.
        input: String,
    },
    /// The result of a call.
    Result {
        /// The call's ID.
        id: String,
        /// The tool's name.
        name: String,
        /// The text for the model.
        text: String,
        /// True if the call failed.
        is_error: bool,
    },
}

impl ReportedBlocks {
    /// Creates a record in which all blocks of `document` are reported.
    pub fn all(document: &Document<'_>) -> Self {
        let mut reported = Self::default();
        drop(reported.new_blocks(document));
        reported
    }

    /// Returns the blocks that were not reported yet, in the order of the document, and
    /// records them.
    pub fn new_blocks(&mut self, document: &Document<'_>) -> Vec<NewBlock> {
        let mut blocks = Vec::new();
        for turn in document.turns() {
            for call in &turn.calls {
                // Providers may repeat an ID in a chat, so the message is a part of the key.
                let key = (turn.assistant, call.tool_use.id.clone());
                if self.calls.insert(key.clone()) {
                    blocks.push(NewBlock::Call {
                        id: call.tool_use.id.to_string(),
                        name: call.tool_use.name.to_string(),
                        input: document.lossy(call.tool_use.body.clone()).into_owned(),
                    });
                }
                let result = final_result(document, call);
                blocks.extend(result.filter(|_| self.results.insert(key)));
            }
        }
        blocks
    }
}

fn final_result(document: &Document<'_>, call: &PairedCall<'_>) -> Option<NewBlock> {
    let result = call.result?;
    let ResultKind::Final { is_error } = result.kind else {
        return None;
    };
    Some(NewBlock::Result {
        id: call.tool_use.id.to_string(),
        name: call.tool_use.name.to_string(),
        text: document.lossy(result.body.clone()).into_owned(),
        is_error,
    })
}

#[cfg(test)]
mod tests {
    use chat::text::Text;

    use super::*;

    #[test]
    fn a_diff_has_signs_without_colors_and_both_on_a_terminal() {
        let row = |kind, number, text: &str, changed: &[usize]| DiffRow {
            kind,
            number,
            text: text.to_owned(),
            changed: changed.to_vec(),
        };
        let file = DiffItem {
            name: "f.rs".to_owned(),
            counts: "+1 −1".to_owned(),
            digits: 2,
            rows: vec![
                row("context", 9, "fn f() {", &[]),
                row("delete", 10, "a(1)", &[2, 3]),
                row("add", 10, "a(2)", &[2, 3]),
                row("remark", 0, "⋯", &[]),
            ],
            more: 4,
            ..DiffItem::default()
        };
        let plain = "f.rs  +1 −1\n 9   fn f() {\n10 - a(1)\n10 + a(2)\n   ⋯\n… 4 more lines\n";
        let files = [file];
        assert_eq!(diff_lines(&files, Style::Plain), plain);
        let colored = diff_lines(&files, Style::Colored);
        assert!(colored.contains("10 \u{1b}[31m- a(\u{1b}[7m1\u{1b}[27m)\u{1b}[0m\n"));
        assert!(colored.contains("10 \u{1b}[32m+ a(\u{1b}[7m2\u{1b}[27m)\u{1b}[0m\n"));
    }

    const CALL: &str = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{\"command\":\"ls\"}\n```\n";

    #[test]
    fn a_call_and_its_result_are_reported_once_each() {
        let text = Text::from(CALL);
        let mut reported = ReportedBlocks::default();
        let call = NewBlock::Call {
            id: "t".to_owned(),
            name: "bash".to_owned(),
            input: r#"{"command":"ls"}"#.to_owned(),
        };
        assert_eq!(reported.new_blocks(&Document::parse(&text)), [call]);
        let answered = format!("{CALL}\n@You:\n**Tool Result:** `t` (error)\n\n```\nno\n```\n");
        let text = Text::from(answered.as_str());
        let document = Document::parse(&text);
        let result = NewBlock::Result {
            id: "t".to_owned(),
            name: "bash".to_owned(),
            text: "no".to_owned(),
            is_error: true,
        };
        assert_eq!(reported.new_blocks(&document), [result]);
        assert_eq!(reported.new_blocks(&document), []);
        assert_eq!(ReportedBlocks::all(&document).new_blocks(&document), []);
    }
}
