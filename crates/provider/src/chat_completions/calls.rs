//! Assembles calls from the fragments of a Chat Completions stream.
//!
//! Servers disagree on fragments: some repeat the name in each, some omit the ID or the
//! index, and Ollama gives every complete call the index 0.

use serde_json_borrow::Value;

use crate::{StreamEvent, ToolUse, arguments::whole_object};

/// The calls of an answer so far, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    begun: Vec<Begun>,
    /// Bytes of names, IDs, and arguments so far.
    pub bytes_held: usize,
}

#[derive(Debug)]
struct Begun {
    index: u64,
    call: ToolUse,
}

impl Calls {
    /// Returns true if no call has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Adds one element of `delta.tool_calls`.
    pub(crate) fn add(&mut self, fragment: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let function = fragment.get("function");
        let id = fragment.get("id").as_str().unwrap_or_default();
        let name = function.get("name").as_str().unwrap_or_default();
        let arguments = arguments_text(function.get("arguments"));
        self.bytes_held += id.len() + name.len() + arguments.len();
        let at = self.continued(fragment.get("index").as_u64(), id, name, &arguments);
        let at = at.unwrap_or_else(|| {
            // `take_all` sorts by index; without one, the order of arrival counts.
            let index = fragment
                .get("index")
                .as_u64()
                .unwrap_or(self.begun.len() as u64);
            let call = ToolUse {
                id: String::new(),
                name: String::new(),
                input: String::new(),
            };
            self.begun.push(Begun { index, call });
            self.begun.len() - 1
        });
        let call = &mut self.begun[at].call;
        // Only the first fragment has them, or all fragments repeat them.
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut call.name);
            events.push(StreamEvent::ToolUseStart {
                name: name.to_owned(),
            });
        }
        call.input.push_str(&arguments);
    }

    /// Returns the position of the call that a fragment continues; `None` if it begins one.
    fn continued(
        &self,
        index: Option<u64>,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Option<usize> {
        let at = match index {
            // The last one with this index: a complete call may be followed by another with
            // it.
            Some(index) => self.begun.iter().rposition(|begun| begun.index == index)?,
            None if id.is_empty() => self.begun.len().checked_sub(1)?,
            None => self.begun.iter().rposition(|begun| begun.call.id == id)?,
        };
        let call = &self.begun[at].call;
        let has_other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let has_other_name = !name.is_empty() && !call.name.is_empty() && call.name != name;
        // Nothing can follow whole arguments, so a second object is a second call.
        let is_second_object = id.is_empty()
            && !name.is_empty()
            && arguments.starts_with('{')
            && whole_object(&call.input).is_some();
        (!has_other_id && !has_other_name && !is_second_object).then_some(at)
    }

    /// Returns all calls, because the answer is complete.
    pub(crate) fn take_all(&mut self) -> Vec<StreamEvent> {
        // The sort must be stable, because all of Ollama's calls have the index 0.
        self.begun.sort_by_key(|begun| begun.index);
        self.begun
            .drain(..)
            .map(|begun| StreamEvent::ToolUse(begun.call))
            .collect()
    }

    /// Returns all calls but the last one, which the token limit may have cut.
    pub(crate) fn take_all_but_last(&mut self) -> Vec<StreamEvent> {
        self.begun.pop();
        self.take_all()
    }

    /// Returns the calls that were followed by another and have complete arguments, because
    /// the answer failed.
    pub(crate) fn take_whole(&mut self) -> Vec<StreamEvent> {
        self.begun.pop();
        self.begun
            .retain(|begun| whole_object(&begun.call.input).is_some());
        self.take_all()
    }

    /// Returns true if the arguments of every call are complete or absent.
    pub(crate) fn are_whole(&self) -> bool {
        let is_whole = |input: &str| input.trim().is_empty() || whole_object(input).is_some();
        self.begun.iter().all(|begun| is_whole(&begun.call.input))
    }
}

/// Returns the arguments as text. They are a string, but some servers send the object
/// itself.
fn arguments_text(arguments: &Value<'_>) -> String {
    match arguments {
        Value::Str(text) => text.to_string(),
        Value::Object(_) => arguments.to_string(),
        _ => String::new(),
    }
}
