//! The registry of tools by name.
//!
//! The registry knows no policy: a tool that is not offered to models can still be called.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat::diff::StatedChange;
use chat::preview::Describe;
use chat::tool::ToolDefinition;
use serde_json::Value;

use crate::builtin::{BuiltIn, FileUse, PRESETS};
use crate::files::FileLocks;
use crate::search::{SearchEntry, search};
use crate::tool::Tool;
use crate::{bash, calculator, edit, fs_search, http, job_tools, patch, read, todo, write};

/// The source name of the built-in tools.
pub const BUILTIN: &str = "builtin";

/// Which source wins if two provide a tool of the same name, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// The user's own configuration, which may replace built-in tools.
    Own,
    /// Built-in tools.
    BuiltIn,
    /// Tools found elsewhere. They get no name that is in use, because the user may have
    /// approved that name for another tool.
    Found,
}

/// A tool that is left out because its name is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// The name.
    pub name: String,
    /// The source of the tool that is left out.
    pub source: String,
    /// The source of the tool that has the name.
    pub holder: String,
}

/// The built-in tools that are offered by default: `bash` with `job_output` and `job_stop`,
/// `calculator`, `edit`, `read`, `write`. A program can add its own.
pub fn default_tools() -> Vec<Box<dyn Tool>> {
    let locks = FileLocks::default();
    let all = BUILT_INS.iter().map(|row| (row.make)(&locks));
    all.filter(|tool| tool.traits().is_enabled).collect()
}

type Tools = Arc<[Arc<dyn Tool>]>;

/// Tools by name. Clones are cheap and share the tools.
#[derive(Clone, Default)]
pub struct Registry {
    sources: BTreeMap<(Precedence, String), Tools>,
    tools: BTreeMap<String, (Arc<dyn Tool>, String)>,
    /// Tools by their names in other systems.
    aliases: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// The built-in tools and their aliases. The tools that modify files share one set of
    /// locks, so calls on the same file run one after the other.
    pub fn builtin() -> Self {
        let locks = FileLocks::default();
        let mut registry = Self::new();
        for (_, make) in BUILT_INS.iter().filter_map(|row| row.alias) {
            registry.add_alias(make(&locks).into());
        }
        let tools = BUILT_INS.iter().map(|row| (row.make)(&locks).into());
        registry.set_source(BUILTIN, Precedence::BuiltIn, tools.collect());
        registry
    }

    /// Replaces the tools of a source and returns the name clashes among all sources.
    pub fn set_source(
        &mut self,
        source: &str,
        precedence: Precedence,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Vec<Clash> {
        self.sources.retain(|(_, name), _| name != source);
        self.sources
            .insert((precedence, source.to_owned()), tools.into());
        self.merge()
    }

    /// Removes a source and its tools.
    pub fn remove_source(&mut self, source: &str) {
        self.sources.retain(|(_, name), _| name != source);
        // The clashes that remain were reported before.
        self.merge();
    }

    /// Assigns the names, in order of precedence.
    fn merge(&mut self) -> Vec<Clash> {
        self.tools.clear();
        let mut clashes = Vec::new();
        // Sorted by precedence and name, so that it does not matter which source was ready
        // first.
        for ((precedence, source), tools) in &self.sources {
            for tool in tools.iter() {
                let name = tool.name();
                // A rule for a built-in tool also applies to its alias, so only the user's own
                // tools may take an alias's name.
                let is_alias = *precedence == Precedence::Found && self.aliases.contains_key(name);
                let holder = self.tools.get(name).map(|(_, holder)| holder.as_str());
                match holder.or(is_alias.then_some(BUILTIN)) {
                    Some(holder) => clashes.push(Clash {
                        name: name.to_owned(),
                        source: source.clone(),
                        holder: holder.to_owned(),
                    }),
                    None => {
                        let entry = (tool.clone(), source.clone());
                        self.tools.insert(name.to_owned(), entry);
                    }
                }
            }
        }
        clashes
    }

    fn add_alias(&mut self, tool: Arc<dyn Tool>) {
        self.aliases.insert(tool.name().to_owned(), tool);
    }

    /// The tool of this name, whether or not it is offered to models.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tool = self.tools.get(name).map(|(tool, _)| tool);
        tool.or_else(|| self.aliases.get(name)).cloned()
    }

    /// The built-in tools that run without approval unless a rule denies them. A user's tool
    /// that replaces one of them is not included.
    pub fn harmless(&self) -> impl Iterator<Item = &'static str> {
        harmless().filter(|name| self.source_of(name) == Some(BUILTIN))
    }

    /// The source of the tool of this name.
    pub fn source_of(&self, name: &str) -> Option<&str> {
        let alias = self.aliases.get(name).map(|_| BUILTIN);
        let source = self.tools.get(name).map(|(_, source)| source.as_str());
        source.or(alias)
    }

    /// Returns all tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values().map(|(tool, _)| tool)
    }

    /// Returns the aliases, sorted by name.
    pub fn aliases(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.aliases.values()
    }

    /// The tools that match `query`, best first, with their scores; 1 is the tool's own name.
    /// An empty query matches all tools.
    pub fn search(&self, query: &str) -> Vec<(f64, &Arc<dyn Tool>)> {
        let tools: Vec<&Arc<dyn Tool>> = self.iter().collect();
        let entries = tools.iter().map(|tool| SearchEntry {
            name: tool.name(),
            description: tool.description(),
            keywords: tool.keywords(),
        });
        let hits = search(query, entries);
        hits.iter().map(|hit| (hit.score, tools[hit.at])).collect()
    }

    /// The definitions sent to models, sorted by name so that requests stay the same from turn
    /// to turn (which prompt caches need).
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let offered = self.iter().filter(|tool| tool.traits().is_enabled);
        offered.map(|tool| tool.definition()).collect()
    }
}

impl Describe for Registry {
    fn describe(&self, tool: &str, input: &Value) -> Option<String> {
        self.get(tool)?.describe(input)
    }

    fn stated_change(&self, tool: &str, input: &Value) -> Option<StatedChange> {
        self.get(tool)?.stated_change(input)
    }

    fn shown_file(&self, tool: &str, input: &Value) -> Option<String> {
        self.get(tool)?.shown_file(input)
    }
}

// The table of built-in tools, and queries on it for the registry, presets, aliases, and file
// protection.

/// All built-in tools.
pub(crate) const BUILT_INS: [&BuiltIn; 16] = [
    &patch::BUILT_IN,
    &bash::BUILT_IN,
    &calculator::BUILT_IN,
    &calculator::BUILT_IN_ASYNC,
    &edit::BUILT_IN,
    &fs_search::FIND,
    &fs_search::GREP,
    &fs_search::LIST,
    &http::BUILT_IN,
    &job_tools::OUTPUT,
    &job_tools::STOP,
    &read::BUILT_IN,
    &todo::BUILT_IN,
    &crate::tool_search::EXECUTE,
    &crate::tool_search::SEARCH,
    &write::BUILT_IN,
];

/// The tools that a built-in preset approves, or `None` for an unknown preset.
pub fn preset(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    let rank = |preset: &str| PRESETS.iter().position(|it| *it == preset);
    let most = rank(name)?;
    let is_in = move |row: &&&BuiltIn| row.preset.and_then(rank).is_some_and(|it| it <= most);
    Some(BUILT_INS.iter().filter(is_in).map(|row| row.name))
}

/// Aliases, each with the name of its tool. A rule for the tool applies to both names.
pub fn aliases() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = BUILT_INS.iter();
    rows.filter_map(|row| Some((row.alias?.0, row.name)))
}

/// The built-in tools that run without approval unless a rule denies them.
pub fn harmless() -> impl Iterator<Item = &'static str> {
    let rows = BUILT_INS.iter().filter(|row| row.harmless);
    rows.map(|row| row.name)
}

/// The names of built-in tools with this file access, including aliases.
pub fn with_access(access: FileUse) -> BTreeSet<String> {
    let rows = BUILT_INS.iter().filter(|row| row.files == access);
    let names = rows.flat_map(|row| [Some(row.name), row.alias.map(|it| it.0)]);
    names.flatten().map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::FileLocks;

    #[test]
    fn the_offer_is_sorted_and_leaves_out_what_is_not_enabled() {
        let offered = Registry::builtin().definitions();

        let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
        let expected = [
            "bash",
            "calculator",
            "edit",
            "job_output",
            "job_stop",
            "read",
            "write",
        ];
        assert_eq!(names, expected);
        let tools = default_tools();
        let by_default: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
        assert_eq!(by_default, names);
        for more in [
            "calculator_async",
            "grep",
            "find",
            "ls",
            "search",
            "list_files",
        ] {
            assert!(Registry::builtin().get(more).is_some(), "{more}");
        }
    }

    /// A tool that does nothing under a name of one's own.
    struct Named(&'static str);

    #[async_trait::async_trait]
    impl Tool for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn label(&self) -> &str {
            self.0
        }
        fn description(&self) -> &str {
            "Does nothing."
        }
        fn input_schema(&self) -> Value {
            json!({"type": "object"})
        }
        async fn execute(
            &self,
            _id: &chat::tool::ToolUseId,
            _input: Value,
            _ctx: crate::ToolContext,
        ) -> Result<crate::ToolResult, crate::ToolError> {
            Ok(crate::ToolResult::default())
        }
    }

    fn clash(name: &str, source: &str, holder: &str) -> Clash {
        Clash {
            name: name.to_owned(),
            source: source.to_owned(),
            holder: holder.to_owned(),
        }
    }

    #[test]
    fn what_is_found_takes_no_name_that_means_something_and_what_is_the_users_does() {
        let mut registry = Registry::builtin();
        let found = |name| Arc::new(Named(name)) as Arc<dyn Tool>;
        let tools = vec![found("read"), found("shell"), found("weather")];

        let clashes = registry.set_source("scripts", Precedence::Found, tools);
        assert_eq!(
            clashes,
            [
                clash("read", "scripts", BUILTIN),
                clash("shell", "scripts", BUILTIN)
            ]
        );
        assert_eq!(registry.source_of("weather"), Some("scripts"));
        assert_eq!(registry.source_of("read"), Some(BUILTIN));

        registry.set_source("lua", Precedence::Own, vec![found("read")]);
        assert_eq!(registry.source_of("read"), Some("lua"));
        assert_eq!(registry.get("read").unwrap().description(), "Does nothing.");

        registry.remove_source("lua");
        assert_eq!(registry.source_of("read"), Some(BUILTIN));
        registry.set_source("scripts", Precedence::Found, vec![]);
        assert!(registry.get("weather").is_none());
    }

    #[test]
    fn every_schema_meets_strict_mode() {
        // The arguments of another tool have no form of their own.
        let is_open = |tool: &&Arc<dyn Tool>| tool.name() == "execute_tool";
        for tool in Registry::builtin().iter().filter(|it| !is_open(it)) {
            let schema = tool.input_schema();
            let properties = schema["properties"].as_object().unwrap();
            let names: Vec<&String> = properties.keys().collect();

            assert!(tool.traits().is_strict, "{}", tool.name());
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

    #[test]
    fn a_row_has_the_name_of_its_tool_and_of_its_alias() {
        let locks = FileLocks::default();
        for row in BUILT_INS {
            assert_eq!(row.name, (row.make)(&locks).name());
            assert!(
                row.alias
                    .is_none_or(|(name, make)| name == make(&locks).name())
            );
        }
    }

    #[test]
    fn presets_approve_what_the_manual_says() {
        let of = |name: &str| preset(name).unwrap().collect::<BTreeSet<_>>();
        assert_eq!(of("$readonly"), ["read"].into());
        assert_eq!(
            of("$default"),
            ["apply_patch", "edit", "read", "write"].into()
        );
        let standard = [
            "apply_patch",
            "edit",
            "find",
            "grep",
            "ls",
            "read",
            "tool_search",
            "write",
        ];
        assert_eq!(of("$standard"), standard.into());
        assert!(preset("$other").is_none());
    }

    #[test]
    fn only_tools_that_change_files_name_files_to_change() {
        let (locks, cwd) = (FileLocks::default(), std::path::Path::new("/p"));
        for row in BUILT_INS {
            let tool = (row.make)(&locks);
            let named = tool.changes(
                &serde_json::json!({"path": "~/a", "input": "*** Delete File: b"}),
                cwd,
            );
            let expected = usize::from(row.files == FileUse::Changes);
            assert_eq!(named.len(), expected, "{}", row.name);
            for input in ["{}", r#"{"path": 3}"#, r#"{"path": null}"#, "[]"] {
                let input = serde_json::from_str(input).unwrap();
                assert!(tool.changes(&input, cwd).is_empty(), "{}", row.name);
            }
        }
    }

    #[test]
    fn what_reads_or_changes_files_is_known_under_both_names() {
        let of = |access| with_access(access).into_iter().collect::<Vec<_>>();
        assert_eq!(
            of(FileUse::Changes),
            ["apply_patch", "edit", "write", "write_file"]
        );
        let reading = [
            "find",
            "grep",
            "list_files",
            "ls",
            "read",
            "read_file",
            "search",
        ];
        assert_eq!(of(FileUse::Reads), reading);
    }
}
