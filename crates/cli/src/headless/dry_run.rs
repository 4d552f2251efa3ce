//! `--dry-run`: prints what the key would send and run.

use session::frontend::{SessionEvent, WouldRun, WouldSend};

use super::HeadlessRun;
use super::output::COLUMNS;
use crate::exit_code::Code;
use crate::terminal;

impl HeadlessRun {
    /// Records a call that would run.
    pub(super) fn would_run(&mut self, call: WouldRun) {
        let tools = &self.host.shared().registry;
        let shown = chat::preview::preview(tools, &call.call.name, &call.input, COLUMNS);
        if let Some(calls) = &mut self.dry_run {
            calls.push(format!("Would run  {shown}  ({})", call.by));
        }
        let event = SessionEvent::WouldRun(call);
        self.output.event("would_run", event.data());
    }

    /// Prints the request and ends the dry run.
    pub(super) fn would_send(&mut self, request: WouldSend) {
        // With calls to run first, the request would contain their results.
        if self.dry_run.as_ref().is_none_or(Vec::is_empty) {
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

    /// Prints the calls that would run or be asked about, and ends the run.
    pub(super) fn end_dry_run(&mut self) {
        let mut lines = self.dry_run.take().unwrap_or_default();
        if !lines.is_empty() {
            lines.push("The next request depends on their results.".to_owned());
        }
        for shown in self.pending_previews() {
            lines.push(format!("Would ask  {shown}"));
        }
        self.output.lines(&lines);
        // The option also says that this is a dry run, so it is never `None` from here on.
        self.dry_run = Some(Vec::new());
        // In a dry run, nothing was sent or run. That is no error here.
        let failed = self.outcome.failed;
        self.end.set(if failed { Code::Error } else { Code::Ok });
    }
}
