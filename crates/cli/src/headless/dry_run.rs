//! `--dry-run`: prints what the key would do; nothing is sent or run.

use super::Front;
use crate::exit_code::Code;
use crate::frontend::{SessionEvent, WouldRun, WouldSend};
use crate::terminal;

impl Front {
    /// A call would run.
    pub(super) fn would_run(&mut self, call: WouldRun) {
        let tools = &self.host.shared().registry;
        let shown = chat::preview::preview(tools, &call.call.name, &call.input, 160);
        if let Some(calls) = &mut self.dry_run {
            calls.push(format!("Would run  {shown}  ({})", call.by));
        }
        let event = SessionEvent::WouldRun(call);
        self.output.event("would_run", event.data());
    }

    /// The request would go out, unless calls would have to run before.
    pub(super) fn would_send(&mut self, request: WouldSend) {
        let runs = self.dry_run.as_ref().is_some_and(|it| !it.is_empty());
        if !runs {
            let mut lines = vec![format!("Would send POST {}", request.url)];
            let headers = request.headers.iter();
            lines.extend(headers.map(|(name, value)| format!("{name}: {value}")));
            let body = serde_json::to_string_pretty(&request.body).unwrap_or_default();
            lines.extend([String::new(), terminal::json(&body).into_owned()]);
            let event = SessionEvent::WouldSend(request);
            self.output.event("would_send", event.data());
            self.output.lines(&lines);
        }
        self.end_dry_run();
    }

    /// It is over; what would happen is printed.
    pub(super) fn end_dry_run(&mut self) {
        let mut lines = self.dry_run.take().unwrap_or_default();
        if !lines.is_empty() {
            lines.push("What is sent then depends on what they return.".to_owned());
        }
        for shown in self.all_waiting() {
            lines.push(format!("Would ask  {shown}"));
        }
        self.output.lines(&lines);
        self.dry_run = Some(Vec::new());
        let failed = self.outcome.failed;
        self.code = Some(if failed { Code::Error } else { Code::Ok });
    }
}
