//! `:Flemma context`: shows what the next request contains. Nothing is sent, except that its provider
//! may be asked to count its tokens.

use std::sync::Arc;

use chat::Problem;
use chat::context::{ContextKind, ContextPart};
use policy::settings::Settings;
use provider::{CacheRetention, Endpoint, Protocol};
use tokio::task::spawn_blocking;
use tools::SeenFiles;

use super::Request;
use super::build_request::RequestSource;
use super::send::{DestinationFinder, tariff};
use crate::context::ContextReport;
use crate::editor::Editor;
use crate::endpoint::{self, Destination, LOCAL, RequestTarget};
use crate::frontend::SessionEvent;
use crate::protocol::{BufferId, Display, Report};
use crate::session::ctx::Ctx;
use crate::session::policy::with_rules_now;
use crate::usage::Tariff;

/// The task of a report.
struct Weighing {
    source: RequestSource,
    finder: DestinationFinder,
    editor: Editor,
    buffer: BufferId,
}

impl Request {
    /// Shows what the next request contains: estimated at once, and again once it is counted.
    pub(in crate::session) fn report_context(&self, ctx: &Ctx) {
        let mut weighing = Weighing {
            // Remarks about files that others changed are for a request that is sent.
            source: self.request_source(ctx, SeenFiles::default()),
            finder: DestinationFinder::of(ctx),
            editor: ctx.editor.clone(),
            buffer: ctx.buffer.id(),
        };
        with_rules_now(ctx, move |rules| {
            // A key would send nothing either.
            if let Some(Err(why)) = &rules.options.frontmatter {
                let problem = Problem::new(why.clone(), "");
                return weighing.editor.report_problem(&problem);
            }
            weighing.source.rules = Arc::new(rules.clone());
            tokio::spawn(weighing.run());
        });
    }
}

impl Weighing {
    async fn run(self) {
        let editor = self.editor.clone();
        if let Err(problem) = self.report().await {
            editor.report_problem(&problem);
        }
    }

    async fn report(self) -> Result<(), Problem> {
        let settings = &self.source.rules.settings;
        // Flemma's own server would load its model first, and counts nothing.
        let destination = if settings.provider == LOCAL {
            None
        } else {
            Some(self.finder.find(settings, &|_| ()).await)
        };
        let tariff = known_tariff(settings, destination.as_ref());
        let (destination, unreachable) = match destination {
            Some(Err(problem)) => (None, Some(problem.what)),
            found => (found.and_then(Result::ok), None),
        };
        let mut weighed = self.source.weigh().await?;
        let facts = &mut weighed.facts;
        (facts.tariff, facts.unreachable) = (tariff, unreachable);
        facts.is_cached = destination.as_ref().is_none_or(is_cached);
        if let Some(Destination::Server(endpoint, _)) = &destination {
            facts.parts.retain(|it| is_taken(it, endpoint));
        }
        let weighed = Arc::new(weighed);
        let report = |counted| ContextReport::new(&weighed.document(), &weighed.facts, counted);
        let count = async {
            let destination = destination.as_ref()?;
            let counted = weighed.clone();
            let prompt = spawn_blocking(move || counted.prompt()).await.ok()?;
            self.finder.models.count_tokens(destination, &prompt).await
        };
        if self.editor.is_headless() {
            let report = Box::new(report(count.await));
            self.editor.emit(SessionEvent::Context(report));
            return Ok(());
        }
        // At once, because counting takes as long as the network.
        show(&self.editor, self.buffer, &report(None), false);
        if let Some(counted) = count.await {
            show(&self.editor, self.buffer, &report(Some(counted)), true);
        }
        Ok(())
    }
}

fn show(editor: &Editor, buffer: BufferId, report: &ContextReport, is_update: bool) {
    let (lines, places) = report.lines_and_places();
    editor.show(Display::Report(Report {
        title: "context",
        lines,
        buffer: Some(buffer),
        places,
        is_update,
        ..Report::default()
    }));
}

/// Returns the prices of the next request, or else what the options say about its model.
fn known_tariff(
    settings: &Settings,
    destination: Option<&Result<Destination, Problem>>,
) -> Option<Tariff> {
    let RequestTarget {
        provider,
        model,
        context,
        ..
    } = match destination {
        Some(Ok(Destination::Tutor)) => RequestTarget::tutor(),
        Some(Ok(server)) => return tariff(server),
        Some(Err(_)) | None => endpoint::target(settings, &|name| tools::variable(name)),
    };
    Some(Tariff {
        provider,
        model,
        context,
        ..Tariff::default()
    })
}

/// Returns false for thinking that the provider does not get: of another provider, or without a
/// signature where it needs one.
fn is_taken(part: &ContextPart, endpoint: &Endpoint) -> bool {
    let is_signed = match endpoint.protocol {
        Protocol::ChatCompletions => part.name.is_empty(),
        Protocol::AnthropicMessages | Protocol::Gemini | Protocol::Responses => {
            part.name == endpoint.provider
        }
    };
    part.kind != ContextKind::Thinking || is_signed
}

/// Returns true if there is a provider that keeps what was sent. Only Anthropic can be asked not to.
fn is_cached(destination: &Destination) -> bool {
    match destination {
        Destination::Tutor => false,
        Destination::Server(endpoint, parameters) => {
            let is_asked = endpoint.protocol == Protocol::AnthropicMessages;
            !(is_asked && parameters.cache == CacheRetention::None)
        }
    }
}
