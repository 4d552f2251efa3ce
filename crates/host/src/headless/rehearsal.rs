//! `--dry-run`: what the key would do, told and not done.

use serde_json::Value;

use super::Front;
use crate::exit_code::Code;
use crate::terminal;

impl Front {
    /// A call would run.
    pub(super) fn would_run(&mut self, call: &Value) {
        let name = call["name"].as_str().unwrap_or_default();
        let by = call["by"].as_str().unwrap_or_default();
        let shown = chat::preview::preview(&self.host.shared().registry, name, &call["input"], 160);
        self.output.event("would_run", call.clone());
        if let Some(calls) = &mut self.rehearsal {
            calls.push(format!("Would run  {shown}  ({by})"));
        }
    }

    /// The request would go out, unless calls would have to run before.
    pub(super) fn would_send(&mut self, request: &Value) {
        let runs = self.rehearsal.as_ref().is_some_and(|it| !it.is_empty());
        if !runs {
            self.output.event("would_send", request.clone());
            let url = request["url"].as_str().unwrap_or_default();
            let headers = request["headers"].as_object().into_iter().flatten();
            let mut lines = vec![format!("Would send POST {url}")];
            lines
                .extend(headers.map(|(name, value)| {
                    format!("{name}: {}", value.as_str().unwrap_or_default())
                }));
            let body = serde_json::to_string_pretty(&request["body"]).unwrap_or_default();
            lines.extend([String::new(), terminal::json(&body).into_owned()]);
            self.output.lines(&lines);
        }
        self.end_rehearsal();
    }

    /// It is over; what would happen is printed.
    pub(super) fn end_rehearsal(&mut self) {
        let mut lines = self.rehearsal.take().unwrap_or_default();
        if !lines.is_empty() {
            lines.push("What is sent then depends on what they return.".to_owned());
        }
        for shown in self.all_waiting() {
            lines.push(format!("Would ask  {shown}"));
        }
        self.output.lines(&lines);
        self.rehearsal = Some(Vec::new());
        let failed = self.outcome.failed;
        self.code = Some(if failed { Code::Error } else { Code::Ok });
    }
}
