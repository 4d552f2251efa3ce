//! Reports on one chat: `:Flemma status`, `:Flemma tool:list`, `:Flemma log`, and the
//! sandbox of its commands.

use chat::cycle::{Level, Notice};
use platform::paths::below;
use policy::rules::Rules;

use super::calls::Calls;
use super::ctx::Ctx;
use super::policy::{Policy, with_rules_now};
use super::request::Request;
use super::view::queued_count;
use crate::protocol::Display;
use crate::{log, status};

pub(super) fn report_autopilot(ctx: &Ctx) {
    ctx.inform(if ctx.rules().options.autopilot {
        "Autopilot is on."
    } else {
        "Autopilot is off."
    });
}

/// Shows `:Flemma status`, with every option if `verbose`.
pub(super) fn report_status(
    ctx: &Ctx,
    calls: &Calls,
    request: &Request,
    policy: &Policy,
    verbose: bool,
) {
    let doing = match (request.is_open(), calls.running_count()) {
        (true, _) => "an answer is arriving".to_owned(),
        (false, 0) => "nothing is running here".to_owned(),
        (false, 1) => "one tool is running".to_owned(),
        (false, count) => format!("{count} tools are running"),
    };
    let is_tutor = status::is_tutor_chat(ctx.place.path());
    let queued = queued_count(ctx);
    let sent = request.sent_status();
    let project = policy.project_lines();
    let editor = ctx.editor.clone();
    let show = move |rules: &Rules| {
        let mut report = status::report(rules, is_tutor, &doing);
        report.lines.splice(2..2, project.into_iter().chain(sent));
        if queued > 0 {
            let messages = if queued == 1 { "message" } else { "messages" };
            let line = format!("queued     {queued} {messages}; :Flemma queue lists them");
            report.lines.insert(1, line);
        }
        if verbose {
            let lines = status::option_lines(&rules.settings, &rules.chosen());
            report.lines.extend(lines);
        }
        editor.show(Display::Report(report));
    };
    with_rules_now(ctx, show);
}

/// Shows how the commands of this chat are confined.
pub(super) fn report_sandbox(ctx: &Ctx) {
    let (editor, sandbox) = (ctx.editor.clone(), ctx.sandbox().clone());
    let (folder, tries) = (ctx.place.folder(), ctx.shared.settings.tools.bash.trial);
    with_rules_now(ctx, move |rules| {
        let held = status::held(&rules.settings.sandbox);
        tokio::spawn(async move {
            let trials = if tries {
                tools::why_untried(sandbox, folder).await
            } else {
                Some("tools.bash.trial is false".to_owned())
            };
            let trials = match trials {
                None => "Commands can be tried here.".to_owned(),
                Some(why) => format!("Commands cannot be tried here: {why}."),
            };
            editor.notify(&Notice {
                level: Level::Info,
                text: format!("Sandbox: {held}. {trials}"),
            });
        });
    });
}

/// `:Flemma sandbox:clear`: removes what trials of this chat wrote to ignored folders.
pub(super) fn clear_scratch(ctx: &Ctx) {
    let (editor, sandbox, folder) = (
        ctx.editor.clone(),
        ctx.sandbox().clone(),
        ctx.place.folder(),
    );
    tokio::task::spawn_blocking(move || {
        let text = match tools::clear_scratch(&sandbox) {
            Err(error) => format!("The scratch layer was not removed: {error}."),
            Ok(places) if places.is_empty() => "This chat has no scratch layer.".to_owned(),
            Ok(places) => {
                let names = places.iter().map(|it| below(it, &folder));
                let names: Vec<String> = names.collect();
                format!("The next trial starts without {}.", names.join(", "))
            }
        };
        let level = Level::Info;
        editor.notify(&Notice { level, text });
    });
}

/// Shows `:Flemma tool:list`.
pub(super) fn list_tools(ctx: &Ctx, calls: &Calls) {
    let mut lines: Vec<String> = calls
        .running_calls()
        .into_iter()
        .map(|(call, seconds)| format!("{:<12} {:<24} {seconds} s", call.name, call.id))
        .collect();
    if lines.is_empty() {
        lines.push("No tool is running here.".to_owned());
    }
    let (editor, shared) = (ctx.editor.clone(), ctx.shared.clone());
    with_rules_now(ctx, move |rules| {
        lines.extend([String::new(), "All tools".to_owned()]);
        lines.extend(status::tool_lines(rules, &shared.registry));
        editor.report("tools", lines);
    });
}

/// Shows `:Flemma log`.
pub(super) fn report_log(ctx: &Ctx) {
    let editor = ctx.editor.clone();
    // Reads up to 20 MB, which must not block the thread that handles keys.
    tokio::task::spawn_blocking(move || editor.show(Display::Report(log::report())));
}
