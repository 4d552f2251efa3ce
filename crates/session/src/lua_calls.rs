//! Running calls of tools that are registered in Lua, by number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::protocol::{ToolCommand, ToolReturned};

/// Shown for a NUL byte, which a buffer line cannot contain.
const NUL_SHOWN: &str = "␀";

/// The running calls. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LuaCalls(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    last: u64,
    running: HashMap<u64, mpsc::UnboundedSender<Message>>,
}

/// A message from Lua about a call.
#[derive(Debug)]
enum Message {
    Returned(ToolReturned),
    Command(ToolCommand),
}

/// An event of a call.
#[derive(Debug)]
pub enum LuaCallEvent {
    /// The call ended with this output.
    Output(String),
    /// The call failed, and why.
    Problem(String),
    /// The call waits for a command, which the host runs.
    Command(ToolCommand),
}

/// A running call. Dropping it before its end stops it in Lua.
pub struct LuaCall {
    calls: LuaCalls,
    number: u64,
    /// Stops the call in Lua.
    stop: Option<Box<dyn FnOnce(u64) + Send + Sync>>,
    messages: mpsc::UnboundedReceiver<Message>,
    /// The output so far.
    bytes: Vec<u8>,
    is_over: bool,
}

impl LuaCalls {
    /// Starts a call under a new number; `stop` stops the call of a number in Lua.
    pub fn start(&self, stop: impl FnOnce(u64) + Send + Sync + 'static) -> LuaCall {
        let (sender, messages) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.running.insert(number, sender);
        LuaCall {
            calls: self.clone(),
            number,
            stop: Some(Box::new(stop)),
            messages,
            bytes: Vec::new(),
            is_over: false,
        }
    }

    /// Passes output to its call, unless that has ended.
    pub fn returned(&self, returned: ToolReturned) {
        self.pass(returned.call, Message::Returned(returned));
    }

    /// Passes a command to its call, unless that has ended.
    pub fn run_command(&self, command: ToolCommand) {
        self.pass(command.call, Message::Command(command));
    }

    fn pass(&self, call: u64, message: Message) {
        if let Some(call) = self.state().running.get(&call) {
            // Fails if the call has ended meanwhile, and then the message is not needed.
            drop(call.send(message));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LuaCall {
    /// Returns the number that Lua uses for the call.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> LuaCallEvent {
        while let Some(message) = self.messages.recv().await {
            let piece = match message {
                Message::Command(command) => return LuaCallEvent::Command(command),
                Message::Returned(piece) => piece,
            };
            if let Some(text) = &piece.text {
                // Pieces are cut at bytes, so they are decoded only when they are complete.
                self.bytes.extend_from_slice(text);
            }
            if piece.more {
                continue;
            }
            self.is_over = true;
            let text = match (piece.text, piece.value) {
                // A table is printed in a fixed order, because Lua has none.
                (None, Some(value)) => json(&value),
                _ => String::from_utf8_lossy(&self.bytes).replace('\0', NUL_SHOWN),
            };
            return if piece.ok {
                LuaCallEvent::Output(text)
            } else {
                LuaCallEvent::Problem(text)
            };
        }
        LuaCallEvent::Problem("Neovim has ended, so the result of the tool is unknown.".to_owned())
    }
}

impl Drop for LuaCall {
    fn drop(&mut self) {
        self.calls.state().running.remove(&self.number);
        // The call was cancelled or has timed out, but still runs in Neovim.
        if let Some(stop) = self.stop.take().filter(|_| !self.is_over) {
            stop(self.number);
        }
    }
}

/// Formats a Lua table. Equal tables have equal texts.
fn json(value: &Value) -> String {
    let sorted = sorted(value);
    serde_json::to_string_pretty(&sorted).unwrap_or_default()
}

/// Sorts the keys of all objects in a value.
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
