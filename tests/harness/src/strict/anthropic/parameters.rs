//! The parameters that a model of Anthropic accepts.

use serde_json::Value as Json;

use super::super::claude::Off;
use super::super::{Checked, refuse, text};
use super::{BINDING, COMPACT, Request, UPDATES};

/// Maximum length of the instructions for a summary.
const MAX_INSTRUCTIONS: usize = 16_384;

pub(super) fn check(request: &Request<'_>) -> Checked {
    limit(request)?;
    thinking(request)?;
    effort(request)?;
    sampling(request)?;
    choice(request)?;
    compaction(request)
}

/// Checks a request for a summary.
fn compaction(request: &Request<'_>) -> Checked {
    if !request.summarizes() {
        return Ok(());
    }
    let asked = &request.body["compaction"];
    if !request.has(COMPACT) {
        return refuse(format!("compaction: requires anthropic-beta: {COMPACT}"));
    }
    if !request.rules.compacts {
        return refuse(format!("compaction: not supported for {}", request.model));
    }
    let length = text(&asked["instructions"]).chars().count();
    if asked["type"] != "summarize" || length > MAX_INSTRUCTIONS {
        return refuse("compaction: Input should be a valid configuration");
    }
    let others = ["context_management", "stop_sequences"];
    if let Some(name) = others.iter().find(|it| !request.body[**it].is_null()) {
        return refuse(format!("compaction: cannot be combined with {name}"));
    }
    if matches!(text(&request.body["tool_choice"]["type"]), "any" | "tool") {
        return refuse("compaction: cannot be combined with a forced tool_choice");
    }
    Ok(())
}

fn limit(request: &Request<'_>) -> Checked {
    let Some(limit) = request.body["max_tokens"].as_u64() else {
        return refuse("max_tokens: Field required");
    };
    let most = request.rules.output;
    if limit == 0 {
        return refuse("max_tokens: Input should be greater than or equal to 1");
    }
    if limit > most {
        return refuse(format!(
            "max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens for {}",
            request.model
        ));
    }
    Ok(())
}

fn thinking(request: &Request<'_>) -> Checked {
    let config = &request.body["thinking"];
    let kind = request.thinking();
    let is_accepted = match (kind, request.rules.off) {
        ("", _) if config.is_null() => true,
        ("adaptive", _) => request.rules.preserves_thinking || !request.rules.efforts.is_empty(),
        ("enabled", _) => request.rules.has_budget,
        ("between_tools", off) => off == Off::BetweenTools,
        ("disabled", Off::UpToHigh) => !matches!(effort_of(request), "xhigh" | "max"),
        ("disabled", off) => off == Off::Accepted,
        _ => false,
    };
    if !is_accepted {
        return refuse(format!(
            "\"thinking.type.{kind}\" is not supported for this model."
        ));
    }
    if kind == "enabled" {
        let budget = config["budget_tokens"].as_u64().unwrap_or(0);
        if budget < 1024 {
            return refuse(
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            );
        }
        let limit = request.body["max_tokens"].as_u64().unwrap_or(0);
        if budget >= limit {
            return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.");
        }
    }
    // Only thinking with a budget or "adaptive" has more fields.
    let allowed: &[&str] = match kind {
        "adaptive" => &["type", "display", "block_binding"],
        "enabled" => &["type", "budget_tokens", "display", "block_binding"],
        _ => &["type"],
    };
    let mut fields = config.as_object().into_iter().flatten();
    let is_extra =
        |key: &str| !allowed.contains(&key) || key == "block_binding" && !request.has(BINDING);
    if let Some((key, _)) = fields.find(|(key, _)| is_extra(key)) {
        return refuse(format!(
            "thinking.{kind}.{key}: Extra inputs are not permitted"
        ));
    }
    display_and_binding(request, config, kind)
}

fn display_and_binding(request: &Request<'_>, config: &Json, kind: &str) -> Checked {
    let display = text(&config["display"]);
    let is_known = match display {
        "updates" => request.has(UPDATES),
        other => ["", "summarized", "omitted"].contains(&other),
    };
    if !is_known {
        return refuse(format!(
            "thinking.{kind}.display: Input should be 'summarized' or 'omitted'"
        ));
    }
    let behavior = &config["block_binding"]["prefix_mismatch_behavior"];
    if !behavior.is_null() && !["error", "drop_block"].contains(&text(behavior)) {
        return refuse(format!(
            "thinking.{kind}.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'"
        ));
    }
    Ok(())
}

fn effort_of<'a>(request: &'a Request<'_>) -> &'a str {
    text(&request.body["output_config"]["effort"])
}

fn effort(request: &Request<'_>) -> Checked {
    let effort = effort_of(request);
    if effort.is_empty() || request.rules.efforts.contains(&effort) {
        return Ok(());
    }
    refuse(format!(
        "output_config.effort: \"{effort}\" is not supported for this model."
    ))
}

fn sampling(request: &Request<'_>) -> Checked {
    let given = ["temperature", "top_p", "top_k"]
        .into_iter()
        .find(|name| !request.body[*name].is_null());
    match given {
        Some(name) if request.rules.preserves_thinking => {
            refuse(format!("`{name}` is deprecated for this model."))
        }
        Some("temperature") if request.thinks() && request.body["temperature"] != 1 => refuse(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.",
        ),
        Some(_) | None => Ok(()),
    }
}

fn choice(request: &Request<'_>) -> Checked {
    let kind = text(&request.body["tool_choice"]["type"]);
    if request.body["tools"].is_null() && !kind.is_empty() {
        return refuse("tool_choice: `tool_choice` may only be specified while providing `tools`.");
    }
    if !matches!(kind, "any" | "tool") {
        return Ok(());
    }
    if !request.rules.forces_calls || request.thinks() {
        return refuse("Thinking may not be enabled when tool_choice forces tool use.");
    }
    Ok(())
}
