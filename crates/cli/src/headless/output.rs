//! What a run on the command line prints: the model's words on standard output, all
//! else on standard error; or everything as JSON lines on standard output.
//!
//! Whoever reads no further is no reason to stop: the chat is in its file.

use std::io::{self, IsTerminal, Write};

use chat::cycle::{Level, Notice};
use chat::preview::{Describe, preview};
use serde_json::{Value, json};

use super::news::News;
use crate::frontend::RequestStatus;
use crate::{stdout, terminal};

/// Most columns of a line about a call.
const COLUMNS: usize = 160;

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

/// See the module.
#[derive(Debug)]
pub struct Output {
    show: Show,
    debug: bool,
    terminal: bool,
    /// Words that are kept for the end.
    words: String,
    /// Whether the next words are those of another answer.
    fresh: bool,
    /// Whether the last thing on standard output ended in the middle of a line.
    open_line: bool,
    /// What the request waited for last, without the seconds that are left.
    note: String,
    /// Why some of the output could not be written.
    lost: Option<io::Error>,
}

impl Output {
    /// Prints as `show` says; with `debug` also what the model asked for, in full.
    pub fn new(show: Show, debug: bool) -> Self {
        Self {
            show,
            debug,
            terminal: io::stdout().is_terminal(),
            words: String::new(),
            fresh: false,
            open_line: false,
            note: String::new(),
            lost: None,
        }
    }

    /// What standard output gets.
    pub fn show(&self) -> Show {
        self.show
    }

    /// Lines that are what was asked for.
    pub fn lines(&mut self, lines: &[String]) {
        if self.show != Show::Events && !lines.is_empty() {
            self.print(&(lines.join("\n") + "\n"));
        }
    }

    /// The model said something.
    pub fn words(&mut self, text: &str) {
        match self.show {
            Show::Answers => {
                if std::mem::take(&mut self.fresh) && self.open_line {
                    self.print("\n");
                }
                self.print(text);
            }
            Show::LastAnswer => {
                if std::mem::take(&mut self.fresh) {
                    self.words.clear();
                }
                self.words.push_str(text);
            }
            Show::Events => self.event("text", json!({"text": text})),
            Show::Results => {}
        }
    }

    fn print(&mut self, text: &str) {
        let shown = if self.terminal {
            terminal::visible(text)
        } else {
            text.into()
        };
        self.write(&shown);
        self.open_line = !text.is_empty() && !text.ends_with('\n');
    }

    /// A request goes out.
    pub fn request_started(&mut self) {
        self.fresh = true;
        self.event("request_started", json!({}));
    }

    /// A request ended; `calls` tells whether its answer asked for tools.
    pub fn request_finished(&mut self, status: RequestStatus, calls: bool) {
        if self.debug && !calls && status == RequestStatus::Success {
            debug("No more tool calls, finalizing response");
        }
        self.event("request_finished", json!({"status": status.name()}));
    }

    /// A call or a result stands in the chat.
    pub fn news(&mut self, news: &News, tools: &dyn Describe) {
        match news {
            News::Call { id, name, input } => {
                if self.debug {
                    debug(&format!("LLM requested tool: {name}"));
                    debug(&format!("Parameters: {input}"));
                } else if self.is_talkative() {
                    let input = serde_json::from_str(input).unwrap_or_default();
                    self.tell(&preview(tools, name, &input, COLUMNS));
                }
                let input = serde_json::from_str::<Value>(input).unwrap_or_else(|_| json!(input));
                self.event("call", json!({"id": id, "name": name, "input": input}));
            }
            News::Result {
                id,
                name,
                text,
                is_error,
            } => {
                if self.debug {
                    debug(&format!("Tool result: {text}"));
                } else if *is_error && self.is_talkative() {
                    self.tell(&format!("{name} failed: {text}"));
                }
                let data = json!({"id": id, "name": name, "text": text, "is_error": is_error});
                self.event("result", data);
            }
        }
        if let (Show::Results, News::Result { text, .. }) = (self.show, news) {
            self.print(text);
        }
    }

    fn is_talkative(&self) -> bool {
        matches!(self.show, Show::Answers | Show::LastAnswer)
    }

    /// The host tells the user something.
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
        self.tell(&in_a_shell(&notice.text));
    }

    /// The request waits for something: told once, and not again for each second.
    pub fn note(&mut self, note: &str) {
        let what = note.rsplit_once(" in ").map_or(note, |(what, _)| what);
        if self.note == what {
            return;
        }
        what.clone_into(&mut self.note);
        if self.show == Show::Events {
            self.event("note", json!({"message": note}));
        } else {
            self.tell(note);
        }
    }

    /// Says something on standard error, on one line.
    pub fn tell(&mut self, text: &str) {
        self.finish_line();
        terminal::report(&text.replace('\n', " "));
    }

    /// Shows a question; the answer is typed behind it.
    pub fn ask(&mut self, id: &str, question: &str) {
        self.finish_line();
        self.event("question", json!({"id": id}));
        let mut err = io::stderr().lock();
        let question = terminal::visible(question);
        drop(write!(err, "{question}").and_then(|()| err.flush()));
    }

    /// A JSON line, where these are wanted.
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
        if let Err(error) = stdout::write(text) {
            self.lost.get_or_insert(error);
        }
    }

    /// Says that some of the output could not be written, if that is so.
    pub fn tell_lost(&mut self) -> bool {
        let lost = self.lost.take();
        if let Some(error) = &lost {
            self.open_line = false;
            self.tell(&stdout::problem(error));
        }
        lost.is_some()
    }

    /// Words and lines that are due at the end.
    pub fn finish(&mut self, code: u8) {
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.print(&words);
        }
        self.event("finished", json!({"exit_code": code}));
        self.finish_line();
    }

    fn finish_line(&mut self) {
        if std::mem::take(&mut self.open_line) {
            self.write("\n");
        }
    }
}

/// A line of document 4's debugging output.
fn debug(line: &str) {
    drop(writeln!(
        io::stderr(),
        "[DEBUG] {}",
        terminal::visible(line)
    ));
}

/// Messages name keys of Neovim; here the command is given again.
pub fn in_a_shell(message: &str) -> String {
    [
        ("setup(): ", "flemma/config.toml: "),
        ("setup{}", "flemma/config.toml"),
        ("setup()", "flemma/config.toml"),
        ("ress Ctrl-] again", "ress Ctrl-]"),
        (", or press Ctrl-]", ", or run it again"),
        ("press Ctrl-]", "run it again"),
        ("Press Ctrl-]", "Run it again"),
        (" and restart Neovim", " and run it again"),
        (", or try `:Flemma tutor`, which needs no key", ""),
        ("; :Flemma trust lets it", "; `flemma trust` lets it"),
        ("agree with :Flemma trust", "agree with `flemma trust`"),
    ]
    .iter()
    .fold(message.to_owned(), |message, (key, command)| {
        message.replace(key, command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_what_can_be_done_in_a_shell() {
        for (message, shown) in [
            (
                "Raise it, or press Ctrl-] to let the model go on.",
                "Raise it, or run it again to let the model go on.",
            ),
            (
                "Start it, then press Ctrl-] again.",
                "Start it, then run it again.",
            ),
            (
                "Press Ctrl-] to ask again; it is unchanged.",
                "Run it again to ask again; it is unchanged.",
            ),
            (
                "Set $X and restart Neovim, or try `:Flemma tutor`, which needs no key.",
                "Set $X and run it again.",
            ),
            (
                "setup(): nothing is named \"x\". Set model in setup{}, as in setup().",
                "flemma/config.toml: nothing is named \"x\". Set model in flemma/config.toml, as in flemma/config.toml.",
            ),
        ] {
            assert_eq!(in_a_shell(message), shown);
        }
    }
}
