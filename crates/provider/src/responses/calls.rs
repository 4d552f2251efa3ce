//! Calls of a Responses stream from their first event to their last.
//!
//! Servers disagree on how an event names its item: OpenAI by `output_index` and
//! `item_id`, llama.cpp by an `item_id` that is the call's id alone, others not at
//! all. Knows only calls.

use serde_json::Value;

use crate::ToolUse;

/// The calls that have begun and are not done, in the order in which they began.
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
    /// Begins the call of an `output_item.added` event.
    pub(crate) fn begin(&mut self, event: &Value) -> &ToolUse {
        let item = &event["item"];
        self.begun.push(Begun {
            index: event["output_index"].as_u64(),
            item_id: text_of(&item["id"]),
            call: ToolUse {
                id: text_of(&item["call_id"]),
                name: text_of(&item["name"]),
                input: text_of(&item["arguments"]),
            },
        });
        &self.begun[self.begun.len() - 1].call
    }

    /// Adds a piece of arguments to the call that an event names.
    pub(crate) fn extend(&mut self, event: &Value, more: &str) {
        let at = self.place(event, event["item_id"].as_str());
        if let Some(begun) = at.or(self.begun.len().checked_sub(1)) {
            self.begun[begun].call.input.push_str(more);
        }
    }

    /// Sets the whole arguments of the call that an event names.
    pub(crate) fn complete(&mut self, event: &Value, arguments: &str) {
        let at = self.place(event, event["item_id"].as_str());
        if let Some(begun) = at.or(self.begun.len().checked_sub(1)) {
            arguments.clone_into(&mut self.begun[begun].call.input);
        }
    }

    /// The call of an `output_item.done` event, and whether it had begun before.
    pub(crate) fn end(&mut self, event: &Value) -> (ToolUse, bool) {
        let item = &event["item"];
        let at = self
            .place(event, item["id"].as_str())
            .or_else(|| self.named(item["call_id"].as_str()?));
        let begun = at.map(|at| self.begun.remove(at).call);
        let had_begun = begun.is_some();
        let mut call = begun.unwrap_or_else(|| ToolUse {
            id: String::new(),
            name: String::new(),
            input: String::new(),
        });
        for (field, said) in [
            (&mut call.id, &item["call_id"]),
            (&mut call.name, &item["name"]),
            (&mut call.input, &item["arguments"]),
        ] {
            if let Some(said) = said.as_str().filter(|said| !said.is_empty()) {
                said.clone_into(field);
            }
        }
        (call, had_begun)
    }

    fn place(&self, event: &Value, item_id: Option<&str>) -> Option<usize> {
        let index = event["output_index"].as_u64();
        let by_index = self
            .begun
            .iter()
            .position(|begun| index.is_some() && begun.index == index);
        by_index.or_else(|| self.named(item_id?))
    }

    fn named(&self, id: &str) -> Option<usize> {
        let is = |begun: &Begun| {
            let call = begun.call.id.as_str();
            begun.item_id == id || call == id || id.strip_prefix("fc_") == Some(call)
        };
        (!id.is_empty())
            .then(|| self.begun.iter().position(is))
            .flatten()
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
