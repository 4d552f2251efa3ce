//! Assembles calls from the fragments of a Chat Completions stream.
//!
//! Servers disagree on fragments: some repeat the name in each, some omit the ID or the
//! index, Ollama gives every complete call the index 0, and others one ID to several calls.

use serde_json_borrow::Value;

use crate::{
    StreamEvent, ToolUse,
    arguments::{self, whole_object},
};

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

    /// Adds one element of `delta.tool_calls`, or a call that is a part of the content.
    pub(crate) fn add(&mut self, fragment: &Value<'_>, events: &mut Vec<StreamEvent>) {
        let function = fragment.get("function");
        let function = if function.is_object() {
            function
        } else {
            fragment
        };
        let id = first(fragment, ["id", "call_id"])
            .as_str()
            .unwrap_or_default();
        let name = function.get("name").as_str().unwrap_or_default();
        let arguments = arguments_text(first(function, ["arguments", "input"]));
        self.bytes_held += id.len() + name.len() + arguments.len();
        let continued = self.continued(fragment.get("index").as_u64(), id, name);
        let has_second = |at: &usize| has_second_object(&self.begun[*at].call.input, &arguments);
        let again = continued.filter(has_second);
        let at = match (continued, again) {
            // A placeholder, which the arguments themselves replace.
            (Some(at), Some(_)) if is_placeholder(&self.begun[at].call.input, id, name) => {
                self.begun[at].call.input.clear();
                at
            }
            (Some(at), None) => at,
            (None, _) | (_, Some(_)) => self.begin(fragment.get("index").as_u64()),
        };
        // Fragments of a second call with the same ID may leave out its name.
        let first = again.filter(|again| *again != at);
        let first = first.map(|at| self.begun[at].call.clone());
        let call = &mut self.begun[at].call;
        // Only the first fragment has them, or all fragments repeat them.
        fill(&mut call.id, id, first.as_ref().map(|it| &it.id));
        if fill(&mut call.name, name, first.as_ref().map(|it| &it.name)) {
            let name = call.name.clone();
            events.push(StreamEvent::ToolUseStart { name });
        }
        call.input.push_str(&arguments);
    }

    fn begin(&mut self, index: Option<u64>) -> usize {
        // `take_all` sorts by index; without one, the order of arrival counts.
        let index = index.unwrap_or(self.begun.len() as u64);
        let call = ToolUse {
            id: String::new(),
            name: String::new(),
            input: String::new(),
        };
        self.begun.push(Begun { index, call });
        self.begun.len() - 1
    }

    /// Returns the position of the call that a fragment continues; `None` if it begins one.
    fn continued(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let has_id = |begun: &Begun| !id.is_empty() && begun.call.id == id;
        let at = match index {
            // The last one with this index: a complete call may be followed by another with
            // it.
            Some(index) => {
                let has_index = |begun: &Begun| begun.index == index;
                let both = |begun: &Begun| has_index(begun) && has_id(begun);
                let mut all = self.begun.iter();
                let both = all.clone().rposition(both);
                both.or_else(|| all.rposition(has_index))?
            }
            None if id.is_empty() => self.begun.len().checked_sub(1)?,
            None => self.begun.iter().rposition(has_id)?,
        };
        let call = &self.begun[at].call;
        let has_other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let has_other_name = !name.is_empty() && !call.name.is_empty() && call.name != name;
        (!has_other_id && !has_other_name).then_some(at)
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

/// Sets a field that is still empty, to `said` or else to that of an earlier call. Returns
/// true if it set it.
fn fill(field: &mut String, said: &str, earlier: Option<&String>) -> bool {
    let said = match said {
        "" => earlier.map_or("", String::as_str),
        said => said,
    };
    let is_new = field.is_empty() && !said.is_empty();
    if is_new {
        said.clone_into(field);
    }
    is_new
}

/// Returns true if the arguments so far are complete and `more` begins others, which are
/// therefore those of a second call.
fn has_second_object(arguments: &str, more: &str) -> bool {
    more.trim_start().starts_with('{') && whole_object(arguments).is_some()
}

/// Returns true if `arguments` may be an empty object that a server sends before the real
/// arguments, and the next fragment continues the same call.
fn is_placeholder(arguments: &str, id: &str, name: &str) -> bool {
    arguments.trim() == arguments::NONE && id.is_empty() && name.is_empty()
}

/// Returns the first of two fields that is present.
fn first<'a>(value: &'a Value<'a>, names: [&'static str; 2]) -> &'a Value<'a> {
    let [first, second] = names.map(|name| value.get(name));
    if first.is_null() { second } else { first }
}

/// Returns the arguments as text. They are a string, but some servers send the object
/// itself.
fn arguments_text(arguments: &Value<'_>) -> String {
    match arguments {
        Value::Str(text) => text.to_string(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
