//! Assembles the calls of a Responses stream.
//!
//! Servers disagree on how an event names its item: OpenAI sends `output_index` and
//! `item_id`, llama.cpp only an `item_id` that is the call's ID, and others nothing.

use serde_json_borrow::Value;

use crate::ToolUse;

/// The calls that have begun but are not done, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    begun: Vec<Begun>,
}

#[derive(Debug)]
struct Begun {
    index: Option<u64>,
    item_id: String,
    call: ToolUse,
}

impl Calls {
    /// Returns true if no call is being written.
    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Returns true if a call with this ID is being written.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.begun.iter().any(|begun| begun.call.id == id)
    }

    /// Starts the call of an `output_item.added` event.
    pub(crate) fn begin(&mut self, event: &Value<'_>) -> &ToolUse {
        let item = event.get("item");
        self.begun.push(Begun {
            index: event.get("output_index").as_u64(),
            item_id: text_of(item.get("id")),
            call: ToolUse {
                id: text_of(item.get("call_id")),
                name: text_of(item.get("name")),
                input: arguments_of(item),
            },
        });
        &self.begun[self.begun.len() - 1].call
    }

    /// Appends arguments to the call of an event. Without a match, that is the last one.
    pub(crate) fn extend(&mut self, event: &Value<'_>, more: &str) {
        let at = self.place(event, event.get("item_id").as_str());
        if let Some(begun) = at.or(self.begun.len().checked_sub(1)) {
            self.begun[begun].call.input.push_str(more);
        }
    }

    /// Sets the complete arguments of the call of an event.
    pub(crate) fn complete(&mut self, event: &Value<'_>, arguments: &str) {
        let at = self.place(event, event.get("item_id").as_str());
        if let Some(begun) = at.or(self.begun.len().checked_sub(1)) {
            arguments.clone_into(&mut self.begun[begun].call.input);
        }
    }

    /// Returns the call of an `output_item.done` event, and whether it had begun before.
    pub(crate) fn end(&mut self, event: &Value<'_>) -> (ToolUse, bool) {
        let item = event.get("item");
        let at = self
            .place(event, item.get("id").as_str())
            .or_else(|| self.named(item.get("call_id").as_str()?));
        let begun = at.map(|at| self.begun.remove(at).call);
        let had_begun = begun.is_some();
        let mut call = begun.unwrap_or_else(|| ToolUse {
            id: String::new(),
            name: String::new(),
            input: String::new(),
        });
        // The final item is authoritative, but some servers omit fields of it.
        for (field, said) in [
            (&mut call.id, text_of(item.get("call_id"))),
            (&mut call.name, text_of(item.get("name"))),
            (&mut call.input, arguments_of(item)),
        ] {
            if !said.is_empty() {
                *field = said;
            }
        }
        (call, had_begun)
    }

    /// Returns the position of the call that an event belongs to: by the item's ID, because
    /// some servers give all items the same index, and then by the index.
    fn place(&self, event: &Value<'_>, item_id: Option<&str>) -> Option<usize> {
        let index = event.get("output_index").as_u64();
        let has_index = |begun: &Begun| index.is_some() && begun.index == index;
        let by_index = || self.begun.iter().rposition(has_index);
        item_id.and_then(|id| self.named(id)).or_else(by_index)
    }

    fn named(&self, id: &str) -> Option<usize> {
        let is = |begun: &Begun| {
            let call = begun.call.id.as_str();
            // Some servers make the item's ID from the call's with this prefix.
            begun.item_id == id || call == id || id.strip_prefix("fc_") == Some(call)
        };
        (!id.is_empty())
            .then(|| self.begun.iter().rposition(is))
            .flatten()
    }
}

fn text_of(value: &Value<'_>) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the arguments of an item as text. Some servers send the object itself.
fn arguments_of(item: &Value<'_>) -> String {
    match item.get("arguments") {
        whole @ Value::Object(_) => whole.to_string(),
        text => text_of(text),
    }
}
