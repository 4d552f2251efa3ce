//! Tests of `.chat` documents as text before, keys, and text after.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod approvals;
mod autopilot;
mod case;
mod cases;
mod cycle;
mod dump;
mod folds;
mod places;
mod play;
mod properties;
mod sights;
mod words;

use chat::diff::{StatedChange, StatedFile};

/// Tools that describe their calls.
struct Tools;

impl chat::preview::Describe for Tools {
    fn describe(&self, tool: &str, input: &serde_json::Value) -> Option<String> {
        match tool {
            "bash" => Some(format!("$ {}", input["command"].as_str()?)),
            "calculator" => input["expression"].as_str().map(str::to_owned),
            "read" => Some(format!(
                "{}  # {}",
                input["path"].as_str()?,
                input["label"].as_str()?
            )),
            "edit" => input["path"].as_str().map(str::to_owned),
            _ => None,
        }
    }

    fn stated_change(&self, tool: &str, input: &serde_json::Value) -> Option<StatedChange> {
        let text = |name: &str| {
            let text = input[name].as_str().filter(|_| tool == "edit");
            text.map(str::to_owned)
        };
        Some(StatedChange {
            arguments: &["path", "oldText", "newText"],
            files: vec![StatedFile {
                name: text("path")?,
                remark: None,
                texts: vec![(text("oldText")?, text("newText")?)],
            }],
        })
    }
}
