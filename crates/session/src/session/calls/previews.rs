//! Previews that tools make of pending calls. They are requested when the call is shown,
//! and nothing waits for them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use chat::approval::CallKey;
use chat::cycle::callable;
use chat::marks::Mark;
use serde_json::Value;
use tools::Tool;

use super::Calls;
use crate::session::checkpoints::with_coverage;
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};

/// Requested previews, by call and width.
#[derive(Debug, Default)]
pub(super) struct Previews(RefCell<HashMap<(CallKey, usize), Preview>>);

#[derive(Debug, Clone)]
enum Preview {
    Requested,
    /// The tool's own preview; `None` if it has none for this call.
    Made(Option<String>),
}

impl Previews {
    /// Forgets calls that are no longer shown.
    pub(super) fn keep(&self, marks: &[Mark]) {
        let is_shown = |call: &CallKey| marks.iter().any(|mark| mark.call == *call);
        self.0.borrow_mut().retain(|(call, _), _| is_shown(call));
    }
}

impl Calls {
    /// Returns the line beside a call, for windows of `width` columns: the tool's own
    /// preview, nothing while that is being made, or `general`. A call that can only fail
    /// has none. Tools are asked about pending calls only, because making a preview
    /// prepares the call.
    pub(crate) fn preview(
        &self,
        ctx: &Ctx,
        call: &CallKey,
        width: usize,
        general: Option<String>,
        is_pending: bool,
    ) -> Option<String> {
        let general = general.filter(|_| self.can_run(ctx, call))?;
        let tool = ctx.shared.registry.get(&call.name);
        let general = if tool.as_ref().is_some_and(|it| it.traits().runs_commands) && is_pending {
            with_coverage(ctx, general, width)
        } else {
            general
        };
        let Some(tool) = tool.filter(|tool| tool.traits().has_preview) else {
            return Some(general);
        };
        let mut known = self.previews.0.borrow_mut();
        match known.get(&(call.clone(), width)) {
            // Not the general line, which the tool's preview would replace at once.
            Some(Preview::Requested) => None,
            Some(Preview::Made(None)) => Some(general),
            Some(Preview::Made(Some(preview))) => {
                let text = format!("{}: {preview}", call.name);
                Some(chat::preview::one_line(&text, width))
            }
            None if !is_pending => Some(general),
            // The key includes the width, because a preview is cut for its window.
            None => {
                known.insert((call.clone(), width), Preview::Requested);
                self.request_preview(ctx, call.clone(), width, tool);
                None
            }
        }
    }

    /// Returns true if the arguments fit the schema. An unknown tool may still load.
    fn can_run(&self, ctx: &Ctx, call: &CallKey) -> bool {
        let options = &ctx.rules().options;
        let input = serde_json::from_str::<Value>(&call.input);
        !options.tools.contains_key(&call.name)
            || input.is_ok_and(|input| callable(&call.name, input, options).is_ok())
    }

    fn request_preview(&self, ctx: &Ctx, call: CallKey, width: usize, tool: Arc<dyn Tool>) {
        let Some(inbox) = ctx.inbox.upgrade() else {
            return;
        };
        // The name, a colon, and a blank precede the preview.
        let room = width.saturating_sub(call.name.chars().count() + 2).max(1);
        tokio::spawn(async move {
            let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
            let preview = tool.preview(&input, room).await;
            drop(inbox.send(Input::Work(WorkInput::Preview(call, width, preview))));
        });
    }

    /// Takes a preview that a tool made.
    pub(crate) fn previewed(&mut self, call: CallKey, width: usize, preview: Option<String>) {
        let known = self.previews.0.get_mut();
        // A call that is no longer shown gets a new preview when it is shown again.
        if let Some(entry) = known.get_mut(&(call, width)) {
            *entry = Preview::Made(preview);
        }
    }
}
