//! The configured MCP servers: whether each starts, and how many tools it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use mcp::Server;
use mcp::configured::{Configured, known};
use serde_json::Value;
use session::mcp_servers::{ProjectConsent, http, pins};
use tokio::time::timeout;

use super::Finding;

/// How long a server may take to start. A session waits longer, but a report should not.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts all servers at the same time, and stops them.
pub async fn report(options: &Value) -> Vec<Finding> {
    let folder = std::env::current_dir().unwrap_or_default();
    let configured = Configured::in_options(options, None, &folder);
    let (specs, words) = configured.specs(&ProjectConsent);
    let warnings = words.into_iter().map(|it| {
        let warning = Finding::new("warn", it);
        warning.fixed_by("See `:help flemma-mcp`.")
    });
    let mut findings: Vec<Finding> = warnings.collect();
    let pins = pins();
    let servers: Vec<Arc<Server>> = specs.into_iter().map(|it| known(&pins, it, http)).collect();
    findings.extend(join_all(servers.iter().map(|it| started(it))).await);
    if findings.is_empty() {
        findings.push(Finding::new("info", "None is configured.".to_owned()));
    }
    findings
}

async fn started(server: &Server) -> Finding {
    let name = &server.spec.name;
    let begun = Instant::now();
    let started = timeout(PATIENCE, server.start()).await;
    let took = begun.elapsed().as_millis();
    let finding = match started {
        Ok(Ok(())) => running(server, took),
        Ok(Err(why)) => unusable(name, &why),
        Err(_) => unusable(
            name,
            &format!("it did not start within {} s", PATIENCE.as_secs()),
        ),
    };
    // Also after a time limit: a report must not leave a program running.
    server.stop().await;
    finding
}

fn running(server: &Server, took: u128) -> Finding {
    let name = &server.spec.name;
    let status = server.status();
    let count = status.said.as_ref().map_or(0, Vec::len);
    let tools = if count == 1 { "tool" } else { "tools" };
    let text = format!("{name} starts in {took} ms and has {count} {tools}.");
    let changes = status.changes().lines();
    if changes.is_empty() {
        return Finding::new("ok", text);
    }
    let text = format!(
        "{text} They changed since you accepted them: {}",
        changes.join(" ")
    );
    Finding::new("warn", text)
        .fixed_by(format!("Check them, then run `:Flemma mcp:accept {name}`."))
}

fn unusable(name: &str, why: &str) -> Finding {
    let text = format!("{name} cannot be used: {why}.");
    Finding::new("error", text).fixed_by(format!("Correct mcp.servers.{name}, or remove it."))
}
