//! What one chat goes by: the user's options with its frontmatter laid over them,
//! as far as it is trusted.
//!
//! Decides and reads nothing: whether a frontmatter is trusted is told, and it was
//! evaluated before.

mod layer;

use std::collections::BTreeSet;
use std::sync::Arc;

use chat::approval::{CallKey, Decision, Function, Judges, Policy, ResolverChain, Source};
use chat::cycle::Options;
use chat::tool::ToolDefinition;
use serde_json::Value;
use tools::Registry;

use crate::frontmatter::{AutoApprove, Evaluated, Failure, Known, Overrides};
use crate::settings::{FrontmatterTrust, Settings, Target, Unlisted, UnrecognizedCalls, searching};
use crate::trust::{Loosening, loosening, overruled};

/// The tools that read files which a call names.
const READING: [&str; 7] = [
    "find",
    "grep",
    "list_files",
    "ls",
    "read",
    "read_file",
    "search",
];

/// What a chat goes by until its next key.
#[derive(Clone)]
pub struct Rules {
    /// What the cycle goes by.
    pub options: Options,
    /// What requests go by.
    pub settings: Settings,
    /// The tools that the model is offered.
    pub offered: Vec<ToolDefinition>,
    /// The engine of the frontmatter, for its policy function and expressions.
    pub evaluated: Option<Arc<Evaluated>>,
    /// What the frontmatter asks for and does not get, because nobody trusts it.
    pub withheld: Vec<Loosening>,
    /// Tools that the frontmatter approves and the options deny: they stay denied.
    pub overruled: Vec<String>,
    /// The line of a frontmatter that could not be read, and why.
    pub failure: Option<Failure>,
    /// Tools that the user's messages address, beside those that are offered anyway.
    pub addressed: BTreeSet<String>,
    /// Of an untrusted policy function: what it may approve at the most.
    at_most: Option<Policy>,
}

/// A frontmatter and what became of evaluating it.
pub struct Reading {
    /// What stands between its fences.
    pub text: String,
    /// Its value.
    pub result: Result<Evaluated, Failure>,
    /// Whether it may loosen: it was typed here, or the user agreed to it.
    pub trusted: bool,
}

impl Rules {
    /// What a chat without frontmatter goes by.
    pub fn plain(settings: &Settings, registry: &Registry) -> Self {
        let mut options = settings.options(registry);
        options.guarded = ["edit", "write", "write_file"].map(str::to_owned).into();
        options.reading = READING.map(str::to_owned).into();
        if settings.tools.bash.unlisted == Unlisted::Deny {
            options.inspected = ["bash", "shell"].map(str::to_owned).into();
        }
        let commands = registry.iter().chain(registry.aliases());
        let commands = commands.filter(|tool| tool.runs_commands());
        options.commands = commands.map(|tool| tool.name().to_owned()).collect();
        options.trust_loaded_calls = settings.trust.unrecognized_calls == UnrecognizedCalls::Policy;
        Self {
            options,
            settings: settings.clone(),
            offered: settings.offered(registry),
            evaluated: None,
            withheld: Vec::new(),
            overruled: Vec::new(),
            failure: None,
            addressed: BTreeSet::new(),
            at_most: None,
        }
    }

    /// Lays a frontmatter over the rules of a chat that has none.
    pub fn with(plain: &Self, registry: &Registry, reading: Reading) -> Self {
        let (mut rules, settings) = (plain.clone(), &plain.settings);
        let evaluated = match reading.result {
            Ok(evaluated) => evaluated,
            Err(failure) => {
                rules.options.frontmatter = Some(Err(failure.message.clone()));
                rules.failure = Some(failure);
                return rules;
            }
        };
        let trusted = reading.trusted || settings.trust.frontmatter == FrontmatterTrust::Always;
        if !trusted {
            rules.withheld = loosening(&evaluated.overrides, settings);
        }
        rules.overruled = overruled(&evaluated.overrides, settings);
        rules.options.frontmatter = Some(Ok(reading.text));
        rules.lay_over(&evaluated.overrides, registry);
        rules.evaluated = Some(Arc::new(evaluated));
        rules
    }

    /// Offers tools that the chat addresses by their names as well.
    pub fn addressing(self: Arc<Self>, names: BTreeSet<String>, registry: &Registry) -> Arc<Self> {
        let is_new = |name: &String| !self.offered.iter().any(|it| it.name == *name);
        let tools: Vec<_> = names
            .iter()
            .filter(|name| is_new(name))
            .filter_map(|name| registry.get(name))
            .collect();
        if tools.is_empty() {
            return self;
        }
        let mut rules = Self::clone(&self);
        for tool in tools {
            let definition = tool.definition();
            let name = definition.name.clone();
            rules.options.tools.insert(name.clone(), definition.clone());
            rules.offered.push(definition);
            rules.addressed.insert(name);
        }
        rules.offered.sort_by(|a, b| a.name.cmp(&b.name));
        Arc::new(rules)
    }

    /// The line of the frontmatter that chooses the provider or the model, if it applies.
    pub fn line_of_model(&self) -> Option<usize> {
        let lines = &self.evaluated.as_ref()?.overrides.lines;
        let options = ["model", "provider"];
        if options.iter().any(|option| self.is_withheld(option)) {
            return None;
        }
        options
            .iter()
            .find_map(|option| lines.get(*option).copied())
    }

    fn is_withheld(&self, option: &str) -> bool {
        self.withheld.iter().any(|it| it.option == option)
    }

    /// Lays the provider and the model that the chat names over the settings. Both apply
    /// or neither: a model belongs to its provider.
    fn choose_model(&mut self, overrides: &Overrides) {
        let is_named = overrides.provider.is_some() || overrides.model.is_some();
        if !is_named || self.is_withheld("provider") || self.is_withheld("model") {
            return;
        }
        let target = Target::of_chat(
            overrides.provider.as_deref(),
            overrides.model.as_deref(),
            &self.settings,
        );
        let chosen = target.and_then(|target| {
            let chosen = self.settings.with_model_of(&target);
            chosen.map_err(|problems| problems.join(" "))
        });
        match chosen {
            Ok(settings) => self.settings = settings,
            Err(why) => {
                let line = overrides
                    .lines
                    .get("model")
                    .or(overrides.lines.get("provider"));
                let line = line.copied().unwrap_or(1);
                let message = format!("frontmatter line {line}: {why}");
                self.options.frontmatter = Some(Err(message.clone()));
                self.failure = Some(Failure {
                    line,
                    column: None,
                    message,
                });
            }
        }
    }

    fn lay_over(&mut self, overrides: &Overrides, registry: &Registry) {
        self.choose_model(overrides);
        if let Some(names) = &overrides.tools {
            let tool = |name: &String| registry.get(name).map(|tool| tool.definition());
            self.offered = names.iter().filter_map(tool).collect();
            let alias_of = |alias: &String| tools::ALIASES.iter().find(|(it, _)| it == alias);
            let offered = |name: &String| {
                names.contains(name)
                    || alias_of(name).is_some_and(|(_, it)| names.iter().any(|name| name == it))
            };
            self.options.tools.retain(|name, _| offered(name));
        }
        if let Some(autopilot) = overrides.autopilot
            && !self.is_withheld("tools.autopilot")
        {
            self.options.autopilot = autopilot;
        }
        if let Some(sandbox) = &overrides.sandbox
            && !self.is_withheld("sandbox")
        {
            self.settings.sandbox.lay_over(sandbox);
        }
        if let Some(approval) = &overrides.auto_approve {
            self.options.chain = self.chain(approval);
        }
        self.parameters(overrides);
    }

    /// The frontmatter's opinion takes the place of the options', and where it is
    /// not trusted it approves nothing that they do not.
    fn chain(&mut self, approval: &AutoApprove) -> ResolverChain {
        let trusted = !self.is_withheld("tools.auto_approve");
        let ours = self.settings.policy();
        let source = match approval {
            AutoApprove::Function(_) => {
                self.at_most = (!trusted).then_some(ours);
                Source::Function(Function::frontmatter())
            }
            AutoApprove::List { names, exclusions } => {
                let names = names.iter().map(String::as_str);
                let theirs = self.settings.expand(names, exclusions);
                let mut theirs = searching(theirs, exclusions);
                if !trusted {
                    theirs.approve.retain(|name| ours.approve.contains(name));
                    if ours.judges.is_empty() && !ours.approve.contains("bash") {
                        theirs.judges = Judges::default();
                    }
                    theirs.deny.extend(ours.deny);
                }
                Source::List(theirs)
            }
        };
        self.options.chain.with_frontmatter(source)
    }

    /// General parameters of the frontmatter beat every one of the options, its
    /// provider's own beat these: "Per-buffer parameter overrides".
    fn parameters(&mut self, overrides: &Overrides) {
        let withheld: BTreeSet<&str> = self.withheld.iter().map(|it| it.option.as_str()).collect();
        let parameters = &mut self.settings.parameters;
        for (name, value) in &overrides.parameters {
            for table in parameters.values_mut().filter_map(Value::as_object_mut) {
                table.remove(name);
            }
            parameters.insert(name.clone(), value.clone());
        }
        for (provider, own) in &overrides.provider_parameters {
            let table = parameters
                .entry(provider.clone())
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
            if let Value::Object(table) = table {
                // Whose account is asked is nothing that a stranger's chat decides.
                let applies =
                    |name: &str| !withheld.contains(format!("{provider}.{name}").as_str());
                let own = own.iter().filter(|(name, _)| applies(name));
                table.extend(own.map(|(name, value)| (name.clone(), value.clone())));
            }
        }
    }

    /// What an answer of the frontmatter's function comes to: one that is not
    /// trusted approves only what the options approve as well.
    pub fn limited(&self, call: &CallKey, decision: Option<Decision>) -> Option<Decision> {
        match (&self.at_most, decision) {
            (Some(ours), Some(Decision::Approve)) => {
                // By name only: this link cannot hold a call to what a rule approves it for.
                Some(ours.decide(&call.name).unwrap_or(Decision::RequireApproval))
            }
            (Some(ours), other) if ours.decide(&call.name) == Some(Decision::Deny) => {
                other.and(Some(Decision::Deny)).or(Some(Decision::Deny))
            }
            (_, other) => other,
        }
    }
}

/// What a frontmatter may refer to under these options.
pub fn known(settings: &Settings, registry: &Registry) -> Known {
    let is_list = settings.tools.auto_approve.is_array();
    Known {
        tools: registry.iter().map(|tool| tool.name().to_owned()).collect(),
        default_tools: settings
            .offered(registry)
            .into_iter()
            .map(|it| it.name)
            .collect(),
        presets: settings.preset_names().into_iter().collect(),
        model_presets: settings.presets.keys().cloned().collect(),
        providers: providers(),
        auto_approve: is_list.then(|| settings.approved_names().map(str::to_owned).collect()),
    }
}

/// Whose parameters a chat may set: its text may be meant for a provider that is
/// not built in here as well, such as the specification's example.
fn providers() -> Vec<String> {
    crate::endpoint::provider_names()
}

#[cfg(test)]
mod tests;
