//! What tools say themselves of a call that waits. They are asked when it is shown;
//! nothing waits for their answer.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use chat::approval::CallKey;
use chat::cycle::callable;
use chat::marks::Mark;
use serde_json::Value;
use tools::Tool;

use super::{Input, Session};

/// Calls and widths that tools were asked about, and what they said.
#[derive(Debug, Default)]
pub(super) struct Previews(RefCell<HashMap<(CallKey, usize), Option<Said>>>);

/// A tool's own words, if it had any.
pub(super) type Said = Option<String>;

impl Session {
    /// The line beside a call, for windows of `width` columns: the tool's own words,
    /// nothing as long as these are awaited, else `general`. A call that can only fail
    /// has none. Only of a call that waits is the tool asked: it prepares it by that.
    pub(super) fn preview(
        &self,
        call: &CallKey,
        width: usize,
        general: Option<String>,
        waits: bool,
    ) -> Option<String> {
        let general = general.filter(|_| self.can_run(call))?;
        let tool = self.shared.registry.get(&call.name);
        let Some(tool) = tool.filter(|tool| tool.has_preview()) else {
            return Some(general);
        };
        let mut known = self.calls.previews.0.borrow_mut();
        match known.get(&(call.clone(), width)) {
            Some(None) => None,
            Some(Some(None)) => Some(general),
            Some(Some(Some(body))) => {
                let text = format!("{}: {body}", call.name);
                Some(chat::preview::one_line(&text, width))
            }
            None if !waits => Some(general),
            None => {
                known.insert((call.clone(), width), None);
                self.ask_for_preview(call.clone(), width, tool);
                None
            }
        }
    }

    /// Whether the arguments fit. A tool that is not there may yet come.
    fn can_run(&self, call: &CallKey) -> bool {
        let options = &self.policy.rules().options;
        let input = serde_json::from_str::<Value>(&call.input);
        !options.tools.contains_key(&call.name)
            || input.is_ok_and(|input| callable(&call.name, input, options).is_ok())
    }

    fn ask_for_preview(&self, call: CallKey, width: usize, tool: Arc<dyn Tool>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let room = width.saturating_sub(call.name.chars().count() + 2).max(1);
        tokio::spawn(async move {
            let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
            let said = tool.preview(&input, room).await;
            drop(inbox.send(Input::Preview(call, width, said)));
        });
    }

    /// A tool said what a call would do.
    pub(super) fn previewed(&mut self, call: CallKey, width: usize, said: Said) {
        let known = self.calls.previews.0.get_mut();
        // One that is shown no more is asked again when it is.
        if let Some(entry) = known.get_mut(&(call, width)) {
            *entry = Some(said);
            self.view.redraw();
        }
    }
}

impl Previews {
    /// Forgets calls that are not shown any more.
    pub(super) fn keep(&self, marks: &[Mark]) {
        let shown = |call: &CallKey| marks.iter().any(|mark| mark.call == *call);
        self.0.borrow_mut().retain(|(call, _), _| shown(call));
    }
}
