//! The connection to a running Python script: a start message, then JSON lines.
//!
//! It is a socket, or a named pipe on Windows. It is the script's standard input until the script's
//! own code starts. Output of the script is not part of it. The script is not trusted: the length of
//! a line is limited, and an invalid message ends the call.

use std::io;
use std::process::Stdio;

use platform::duplex;
use serde::Deserialize;
use serde_json::{Number, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::run::{Clock, Request};
use super::supervise::marshal;
use crate::context::ToolContext;

/// Maximum size of a message of a script: 64 MB.
const LONGEST: usize = 64 * 1024 * 1024;
/// Maximum number of requests of one call, so that a loop ends.
const MOST_REQUESTS: usize = 1000;

/// How a script's own code ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScriptMessage {
    /// It returned this text, or nothing.
    Done(Option<String>),
    /// It failed with this message.
    Failed(String),
    /// It ended without a message.
    Nothing,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Ask(Request),
    Done(Option<String>),
    Failed(String),
}

/// The message that answers a request.
fn answered(answer: Result<String, String>) -> Value {
    match answer {
        Ok(text) => json!({"ok": text}),
        Err(why) => json!({"error": why}),
    }
}

/// Our end of the connection.
pub(super) struct Wire {
    stream: BufReader<duplex::Stream>,
}

impl Wire {
    /// Creates a connection. Returns our end, and the script's standard input.
    ///
    /// # Errors
    ///
    /// The limit of open files is reached.
    pub(super) fn new() -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = duplex::pair()?;
        let stream = BufReader::new(ours);
        Ok((Self { stream }, theirs))
    }

    /// Sends the start message and answers requests until the script's code ends.
    pub(super) async fn serve(
        mut self,
        start: &Value,
        ctx: &ToolContext,
        clock: &Clock,
    ) -> ScriptMessage {
        if self.begin(start).await.is_err() {
            return ScriptMessage::Nothing;
        }
        let mut left = MOST_REQUESTS;
        loop {
            let request = match self.next().await {
                Ok(Some(Message::Ask(request))) => request,
                Ok(Some(Message::Done(result))) => return ScriptMessage::Done(result),
                Ok(Some(Message::Failed(why))) => return ScriptMessage::Failed(why),
                Ok(None) => return ScriptMessage::Nothing,
                Err(why) => return ScriptMessage::Failed(why),
            };
            // Refused and not ended, so that the script can report what it has.
            left = left.saturating_sub(1);
            let answer = if left == 0 {
                Err(format!("The script asked more than {MOST_REQUESTS} times."))
            } else {
                // The time limit is the script's own; waiting for the user or a model does not
                // count.
                clock.pause(super::run::answer(request, ctx)).await
            };
            if self.send(&answered(answer)).await.is_err() {
                return ScriptMessage::Nothing;
            }
        }
    }

    /// Sends the start message, the only one that is not a line of JSON.
    async fn begin(&mut self, start: &Value) -> io::Result<()> {
        let start = marshal(start)?;
        let mut message = format!("{}\n", start.len()).into_bytes();
        message.extend(start);
        // The length first, because the interpreter must not read beyond the message.
        self.stream.get_mut().write_all(&message).await
    }

    async fn send(&mut self, message: &Value) -> io::Result<()> {
        let line = format!("{message}\n");
        self.stream.get_mut().write_all(line.as_bytes()).await
    }

    /// Returns the next message, or `None` if the script closed the connection.
    async fn next(&mut self) -> Result<Option<Message>, String> {
        let mut line = Vec::new();
        loop {
            let Ok(more) = self.stream.fill_buf().await else {
                return Ok(None);
            };
            if more.is_empty() {
                return Ok(None);
            }
            let end = more.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(more.len(), |end| end + 1);
            line.extend_from_slice(&more[..taken]);
            self.stream.consume(taken);
            // Checked while reading, so that an endless line does not fill the memory.
            if line.len() > LONGEST {
                return Err("The script returned more than 64 MB, so it was stopped.".to_owned());
            }
            if end.is_some() {
                break;
            }
        }
        let message = serde_json::from_slice(&line);
        message
            .map(Some)
            .map_err(|error| format!("The script asked for something that is not known: {error}."))
    }
}

// Reads TOML files whose errors name a line.
//
// Only this module refers to the `toml` crate. It knows no particular fields.

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// The problem and what to do, a sentence without its full stop.
    pub what: String,
}

/// A table of a file.
pub(crate) struct Table<'a> {
    text: &'a str,
    /// Its first byte, for problems with missing fields.
    at: usize,
    entries: DeTable<'a>,
}

impl<'a> Table<'a> {
    /// Parses a whole file.
    ///
    /// # Errors
    ///
    /// It is not TOML.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Wrong> {
        let parsed = DeTable::parse(text).map_err(|error| Wrong {
            line: line(text, error.span().map_or(0, |span| span.start)),
            what: format!("This is not TOML: {}", error.message().trim()),
        })?;
        Ok(Self {
            text,
            at: 0,
            entries: parsed.into_inner(),
        })
    }

    /// A problem with a field, at its line, or at the line of the table if the field is missing.
    pub(crate) fn wrong(&self, field: &str, what: String) -> Wrong {
        let key = self.entries.keys().find(|key| key.get_ref() == field);
        let at = key.map_or(self.at, |key| key.span().start);
        Wrong {
            line: line(self.text, at),
            what,
        }
    }

    /// Refuses fields that misspell one of `known`; other unknown fields are ignored.
    ///
    /// # Errors
    ///
    /// The first misspelled field, with the correct name.
    pub(crate) fn no_slips(&self, known: &[&str]) -> Result<(), Wrong> {
        for key in self.entries.keys().map(Spanned::get_ref) {
            // The best suggestion for a known field is the field itself.
            let meant = chat::suggest(key, known.iter().copied());
            if let Some(meant) = meant.filter(|meant| meant != key) {
                let why = format!("There is no field \"{key}\". Did you mean \"{meant}\"?");
                return Err(self.wrong(key, why));
            }
        }
        Ok(())
    }

    fn get(&self, field: &str) -> Option<&DeValue<'a>> {
        self.entries.get(field).map(Spanned::get_ref)
    }

    fn not(&self, field: &str, kind: &str) -> Wrong {
        self.wrong(field, format!("\"{field}\" must be {kind}"))
    }

    /// Reads an optional string.
    ///
    /// # Errors
    ///
    /// It has another type.
    pub(crate) fn text(&self, field: &str) -> Result<Option<String>, Wrong> {
        match self.get(field) {
            None => Ok(None),
            Some(DeValue::String(text)) => Ok(Some(text.clone().into_owned())),
            Some(_) => Err(self.not(field, "text in quotes")),
        }
    }

    /// Reads a required string.
    ///
    /// # Errors
    ///
    /// It is missing, with `advice`, or it has another type.
    pub(crate) fn required(&self, field: &str, advice: &str) -> Result<String, Wrong> {
        let missing = || self.wrong(field, format!("\"{field}\" is missing: {advice}"));
        match self.text(field)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(missing()),
        }
    }

    /// Reads a list of strings, which is empty if the field is missing.
    ///
    /// # Errors
    ///
    /// It has another type.
    pub(crate) fn texts(&self, field: &str) -> Result<Vec<String>, Wrong> {
        let wrong = || self.not(field, "a list of text, as [\"one\", \"two\"]");
        let Some(value) = self.get(field) else {
            return Ok(Vec::new());
        };
        let DeValue::Array(items) = value else {
            return Err(wrong());
        };
        let text = |item: &Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            _ => Err(wrong()),
        };
        items.iter().map(text).collect()
    }

    /// Reads a boolean, which is false if the field is missing.
    ///
    /// # Errors
    ///
    /// It has another type.
    pub(crate) fn flag(&self, field: &str) -> Result<bool, Wrong> {
        match self.get(field) {
            None => Ok(false),
            Some(DeValue::Boolean(flag)) => Ok(*flag),
            Some(_) => Err(self.not(field, "true or false, without quotes")),
        }
    }

    /// Reads an optional number.
    ///
    /// # Errors
    ///
    /// It has another type.
    pub(crate) fn number(&self, field: &str) -> Result<Option<f64>, Wrong> {
        match self.value(field)? {
            None => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.not(field, "a number")),
            },
        }
    }

    /// Reads an optional value of any type.
    ///
    /// # Errors
    ///
    /// JSON has no such value.
    pub(crate) fn value(&self, field: &str) -> Result<Option<Value>, Wrong> {
        let wrong = || self.not(field, "text, a number, true, false, a list or a table");
        self.get(field)
            .map(|it| as_json(it).ok_or_else(wrong))
            .transpose()
    }

    /// The tables in the table `field` by name, in the order of the file.
    ///
    /// # Errors
    ///
    /// The field, or an entry of it, is not a table.
    pub(crate) fn tables(&self, field: &str) -> Result<Vec<(String, Table<'a>)>, Wrong> {
        let Some(value) = self.get(field) else {
            return Ok(Vec::new());
        };
        let DeValue::Table(inner) = value else {
            return Err(self.not(field, &format!("a table, as [{field}.name]")));
        };
        let mut all: Vec<_> = inner.iter().collect();
        // Sorted by position, because the map is sorted by name.
        all.sort_by_key(|(key, _)| key.span().start);
        let table = |(key, value): (&Spanned<_>, &Spanned<DeValue<'a>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            let at = key.span().start;
            match value.get_ref() {
                DeValue::Table(entries) => Ok((
                    name.clone().into_owned(),
                    Table {
                        text: self.text,
                        at,
                        entries: entries.clone(),
                    },
                )),
                _ => Err(Wrong {
                    line: line(self.text, at),
                    what: format!("\"{name}\" must be a table, as [{field}.{name}]"),
                }),
            }
        };
        all.into_iter().map(table).collect()
    }
}

fn as_json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => {
            // TOML numbers may have more than 64 bits; these are refused.
            let digits = i64::from_str_radix(number.as_str(), number.radix());
            json!(digits.ok()?)
        }
        DeValue::Float(number) => {
            // TOML allows `_` between digits.
            let number = number.as_str().replace('_', "").parse::<f64>().ok()?;
            // JSON has no "inf" and no "nan".
            Value::Number(Number::from_f64(number)?)
        }
        DeValue::Boolean(flag) => json!(flag),
        // JSON has no dates.
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => items
            .iter()
            .map(|item| as_json(item.get_ref()))
            .collect::<Option<Vec<_>>>()?
            .into(),
        DeValue::Table(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| Some((key.get_ref().to_string(), as_json(value.get_ref())?)))
                .collect::<Option<_>>()?,
        ),
    })
}

/// The number of the line that contains the byte at `at`, from 1.
fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|&&byte| byte == b'\n').count() + 1
}
