//! A msgpack-RPC client over the two pipes of an embedded Neovim: requests and notifications.
//! Knows no particular method or event.

use std::collections::HashMap;
use std::io::{BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rmpv::Value;

/// Neovim's response: the result, or an error value.
pub(crate) type Reply = Result<Value, Value>;

/// The pending requests by id. `None` once the pipe is closed.
type Waiting = Arc<Mutex<Option<HashMap<u64, Sender<Reply>>>>>;

/// One end of a msgpack-RPC connection.
pub(crate) struct Channel {
    outgoing: Arc<Mutex<Outgoing>>,
    waiting: Waiting,
}

struct Outgoing {
    stdin: ChildStdin,
    next_id: u64,
}

/// Locks a mutex, even if it is poisoned: all guarded values here stay consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Channel {
    /// Reads `stdout` on another thread until it closes. That thread calls `notified` with the name
    /// and parameters of each notification.
    pub(crate) fn open(
        stdin: ChildStdin,
        stdout: ChildStdout,
        mut notified: impl FnMut(&str, &[Value]) + Send + 'static,
    ) -> Self {
        let outgoing = Arc::new(Mutex::new(Outgoing { stdin, next_id: 0 }));
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let reader = Reader {
            outgoing: Arc::clone(&outgoing),
            waiting: Arc::clone(&waiting),
        };
        thread::spawn(move || {
            let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
            while let Ok(message) = rmpv::decode::read_value(&mut stdout) {
                reader.route(message, &mut notified);
            }
            // Dropping the senders wakes all threads that wait for a response.
            lock(&reader.waiting).take();
        });
        Self { outgoing, waiting }
    }

    /// Sends a request. The receiver is disconnected if Neovim is gone.
    pub(crate) fn request(&self, method: &str, parameters: Vec<Value>) -> Receiver<Reply> {
        let (sender, receiver) = channel();
        let mut outgoing = lock(&self.outgoing);
        outgoing.next_id += 1;
        let id = outgoing.next_id;
        if let Some(waiting) = lock(&self.waiting).as_mut() {
            waiting.insert(id, sender);
        }
        outgoing.write(&Value::Array(vec![
            0.into(),
            id.into(),
            method.into(),
            Value::Array(parameters),
        ]));
        receiver
    }
}

impl Outgoing {
    /// Ignores write errors, because the reader sees the end of the process.
    fn write(&mut self, message: &Value) {
        let mut frame = Vec::new();
        if rmpv::encode::write_value(&mut frame, message).is_ok() {
            let _ = self.stdin.write_all(&frame);
            let _ = self.stdin.flush();
        }
    }
}

/// The state of the reading thread.
struct Reader {
    outgoing: Arc<Mutex<Outgoing>>,
    waiting: Waiting,
}

impl Reader {
    fn route(&self, message: Value, notified: &mut impl FnMut(&str, &[Value])) {
        let Value::Array(mut parts) = message else {
            return;
        };
        match parts.first().and_then(Value::as_u64) {
            Some(0) => self.refuse(&parts),
            Some(1) if parts.len() == 4 => {
                let result = parts.pop().unwrap_or(Value::Nil);
                let error = parts.pop().unwrap_or(Value::Nil);
                let id = parts[1].as_u64().unwrap_or(0);
                let reply = if error.is_nil() {
                    Ok(result)
                } else {
                    Err(error)
                };
                let sender = lock(&self.waiting).as_mut().and_then(|map| map.remove(&id));
                if let Some(sender) = sender {
                    // The receiver may be gone; see `Editor::keys`.
                    let _ = sender.send(reply);
                }
            }
            Some(2) => {
                if let [_, Value::String(name), Value::Array(parameters)] = parts.as_slice() {
                    notified(name.as_str().unwrap_or_default(), parameters);
                }
            }
            _ => {}
        }
    }

    /// Responds to a request with an error, because this client has no methods.
    fn refuse(&self, parts: &[Value]) {
        let id = parts.get(1).cloned().unwrap_or(Value::Nil);
        let error = Value::from("the test screen answers no requests");
        lock(&self.outgoing).write(&Value::Array(vec![1.into(), id, error, Value::Nil]));
    }
}
