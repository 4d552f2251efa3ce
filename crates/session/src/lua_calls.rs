//! The calls that run in Lua, by the number that both sides know each by.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::protocol::{ToolCommand, ToolReturned};

/// Stands for a NUL byte, which a buffer line cannot hold.
const NUL_SHOWN: &str = "␀";

/// The calls that run. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    running: HashMap<u64, mpsc::UnboundedSender<News>>,
}

/// What arrives for a call.
#[derive(Debug)]
enum News {
    Returned(ToolReturned),
    Command(ToolCommand),
}

/// What a call came to.
#[derive(Debug)]
pub enum Said {
    /// Its output.
    Output(String),
    /// Why it failed.
    Problem(String),
    /// It wants this command to run, and goes on when that has ended.
    Command(ToolCommand),
}

/// A call that runs; when this is dropped before its end, Lua is told to stop it.
pub struct Call {
    calls: Calls,
    number: u64,
    /// Stops it in Lua.
    stop: Option<Box<dyn FnOnce(u64) + Send + Sync>>,
    news: mpsc::UnboundedReceiver<News>,
    /// What it has returned so far.
    bytes: Vec<u8>,
    is_over: bool,
}

impl Calls {
    /// Starts a call under a new number; `stop` stops the call of a number in Lua.
    pub fn start(&self, stop: impl FnOnce(u64) + Send + Sync + 'static) -> Call {
        let (sender, news) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.running.insert(number, sender);
        Call {
            calls: self.clone(),
            number,
            stop: Some(Box::new(stop)),
            news,
            bytes: Vec::new(),
            is_over: false,
        }
    }

    /// Takes what a call returned to it; one that is over hears nothing.
    pub fn returned(&self, returned: ToolReturned) {
        self.pass(returned.call, News::Returned(returned));
    }

    /// Takes a command to the call that wants it.
    pub fn asked(&self, command: ToolCommand) {
        self.pass(command.call, News::Command(command));
    }

    fn pass(&self, call: u64, news: News) {
        if let Some(call) = self.state().running.get(&call) {
            drop(call.send(news));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// What Lua knows it by.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits for what it says next.
    pub async fn next(&mut self) -> Said {
        while let Some(news) = self.news.recv().await {
            let piece = match news {
                News::Command(command) => return Said::Command(command),
                News::Returned(piece) => piece,
            };
            if let Some(text) = &piece.text {
                self.bytes.extend_from_slice(text);
            }
            if piece.more {
                continue;
            }
            self.is_over = true;
            let text = match (piece.text, piece.value) {
                (None, Some(value)) => json(&value),
                _ => String::from_utf8_lossy(&self.bytes).replace('\0', NUL_SHOWN),
            };
            return if piece.ok {
                Said::Output(text)
            } else {
                Said::Problem(text)
            };
        }
        Said::Problem("Neovim is gone, so nobody knows what the tool did.".to_owned())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.calls.state().running.remove(&self.number);
        if let Some(stop) = self.stop.take().filter(|_| !self.is_over) {
            stop(self.number);
        }
    }
}

/// A table of Lua's, the same text whenever it holds the same.
fn json(value: &Value) -> String {
    let sorted = sorted(value);
    serde_json::to_string_pretty(&sorted).unwrap_or_default()
}

/// The value with the keys of its objects in order.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
            pairs.sort_by_key(|(name, _)| *name);
            let pairs = pairs.into_iter();
            Value::Object(pairs.map(|(name, it)| (name.clone(), sorted(it))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
