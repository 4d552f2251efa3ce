//! The tools there are, by name.
//!
//! Knows no policy: a tool that is not offered can still be called.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat::tool::ToolDefinition;

use crate::aliases::{ReadFile, Shell, WriteFile};
use crate::bash::Bash;
use crate::calculator::{Calculator, CalculatorAsync};
use crate::edit::Edit;
use crate::files::FileLocks;
use crate::read::Read;
use crate::search::{Entry, search};
use crate::tool::Tool;
use crate::write::Write;

/// Tools by name. Cloning is cheap and shares the tools.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// Under names of other systems.
    aliases: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The six built-in tools, and the names that others know them by. Those that
    /// change files share one set of locks, so calls on one file follow each other.
    pub fn builtin() -> Self {
        let locks = FileLocks::default();
        let mut registry = Self::new();
        let bash: Arc<dyn Tool> = Arc::new(Bash);
        let read: Arc<dyn Tool> = Arc::new(Read);
        let write: Arc<dyn Tool> = Arc::new(Write::new(locks.clone()));
        registry.register(bash.clone());
        registry.register(read.clone());
        registry.register(write.clone());
        registry.register(Arc::new(Edit::new(locks.clone())));
        registry.add_alias(Arc::new(Shell(bash)));
        registry.add_alias(Arc::new(ReadFile(read)));
        registry.add_alias(Arc::new(WriteFile { write, locks }));
        registry.register(Arc::new(Calculator));
        registry.register(Arc::new(CalculatorAsync));
        registry
    }

    /// Adds a tool, in place of one with the same name.
    pub fn register(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.name().to_owned(), tool);
    }

    fn add_alias(&mut self, tool: Arc<dyn Tool>) {
        self.aliases.insert(tool.name().to_owned(), tool);
    }

    /// The tool with this name, offered or not.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tool = self.tools.get(name).or_else(|| self.aliases.get(name));
        tool.cloned()
    }

    /// All tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// The tools under names of other systems, sorted by name.
    pub fn aliases(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.aliases.values()
    }

    /// The tools that fit a few words, the best first, with how well they do: 1 is a
    /// tool's own name. Without a word, all of them.
    pub fn search(&self, query: &str) -> Vec<(f64, &Arc<dyn Tool>)> {
        let tools: Vec<&Arc<dyn Tool>> = self.iter().collect();
        let entries = tools.iter().map(|tool| Entry {
            name: tool.name(),
            description: tool.description(),
            keywords: tool.keywords(),
        });
        let hits = search(query, entries);
        hits.iter().map(|hit| (hit.score, tools[hit.at])).collect()
    }

    /// What models are offered, sorted by name so that requests stay the same
    /// from turn to turn.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let offered = self.iter().filter(|tool| tool.enabled());
        offered.map(|tool| tool.definition()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_offer_is_sorted_and_leaves_out_what_is_not_enabled() {
        let offered = Registry::builtin().definitions();

        let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["bash", "calculator", "edit", "read", "write"]);
        assert!(Registry::builtin().get("calculator_async").is_some());
    }

    #[test]
    fn every_schema_meets_strict_mode() {
        for tool in Registry::builtin().iter() {
            let schema = tool.input_schema();
            let properties = schema["properties"].as_object().unwrap();
            let names: Vec<&String> = properties.keys().collect();

            assert!(tool.strict(), "{}", tool.name());
            assert_eq!(schema["required"], json!(names), "{}", tool.name());
            assert_eq!(schema["additionalProperties"], json!(false));
            for (name, property) in properties {
                let said = property["description"].as_str().unwrap_or_default();
                assert!(!said.is_empty(), "{name} says nothing");
                assert!(!said.contains('\n'), "{name} is wrapped: {said}");
            }
        }
    }

    #[test]
    fn the_schema_of_bash_is_what_the_reference_lists() {
        let bash = Registry::builtin().get("bash").unwrap().input_schema();

        let types = |name: &str| bash["properties"][name]["type"].clone();
        assert_eq!(types("label"), json!("string"));
        assert_eq!(types("command"), json!("string"));
        assert_eq!(types("timeout"), json!(["number", "null"]));
        assert_eq!(bash.get("title"), None::<&Value>);
    }
}
