//! The rules of one chat: the user's options with the chat's frontmatter laid over them,
//! as far as it is trusted.
//!
//! Reads nothing: the frontmatter was evaluated before, and the caller says whether it is
//! trusted.
//!
//! [`Rules::chosen`] is what the frontmatter chooses by other means than its layer of options.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat::approval::{
    ArgumentRules, CallKey, Decision, Function, OpinionSource, Policy, ResolverChain,
};
use chat::cycle::Options;
use chat::tool::ToolDefinition;
use serde_json::{Value, json};
use tools::{FileUse, Registry};

use crate::frontmatter::{AutoApprove, Evaluated, FrontmatterError, Known, Overrides};
use crate::options::{self, FrontmatterTrust, Loosens, Unlisted, UnrecognizedCalls};
use crate::settings::{Settings, Target, plan, searching};
use crate::trust::{Escalation, escalations, overruled};

/// The rules of a chat until its next key.
#[derive(Clone)]
pub struct Rules {
    /// The options of the cycle.
    pub options: Options,
    /// The settings of requests.
    pub settings: Settings,
    /// The tools that the model is offered.
    pub offered: Vec<ToolDefinition>,
    /// The engine of the frontmatter, for its policy function and expressions.
    pub evaluated: Option<Arc<Evaluated>>,
    /// Settings of the frontmatter that do not apply, because it is not trusted.
    pub withheld: Vec<Escalation>,
    /// Tools that the frontmatter approves and the options deny: they stay denied.
    pub overruled: Vec<String>,
    /// The line of a frontmatter that could not be read, and why.
    pub failure: Option<FrontmatterError>,
    /// Tools that the user's messages address and that are not offered otherwise.
    pub addressed: BTreeSet<String>,
    /// True if commands on which no rule has an opinion are tried first.
    pub tries: bool,
    /// The most that an untrusted policy function may approve.
    at_most: Option<Policy>,
}

/// A frontmatter and the result of its evaluation.
pub struct Reading {
    /// The text inside the fence.
    pub text: String,
    /// Its value.
    pub result: Result<Evaluated, FrontmatterError>,
    /// True if it may loosen: the user typed it here, or trusts it.
    pub trusted: bool,
}

impl Rules {
    /// Returns the rules of a chat without frontmatter.
    pub fn plain(settings: &Settings, registry: &Registry) -> Self {
        let mut options = settings.options(registry);
        if settings.is_planning() {
            options.chain = options.chain.with(plan::resolver(settings, registry));
        }
        options.guarded = tools::with_access(FileUse::Changes);
        options.reading = tools::with_access(FileUse::Reads);
        if settings.tools.bash.unlisted == Unlisted::Deny {
            options.inspected = ["bash", "shell"].map(str::to_owned).into();
        }
        let commands = registry.iter().chain(registry.aliases());
        let commands = commands.filter(|tool| tool.traits().runs_commands);
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
            tries: settings.policy().tries,
            at_most: None,
        }
    }

    /// Lays a frontmatter over the rules of a chat that has none.
    pub fn with(plain: &Self, registry: &Registry, reading: Reading) -> Self {
        let settings = &plain.settings;
        let evaluated = match reading.result {
            Ok(evaluated) => evaluated,
            Err(failure) => return plain.failed(failure),
        };
        let overrides = &evaluated.overrides;
        let trusted = reading.trusted || settings.trust.frontmatter == FrontmatterTrust::Always;
        let withheld = if trusted {
            Vec::new()
        } else {
            escalations(overrides, settings)
        };
        let is_withheld = |option: &str| withheld.iter().any(|it| it.option == option);
        let settings = match chosen_model(settings, overrides, is_withheld) {
            Ok(settings) => settings.with_chat(values(overrides, is_withheld)),
            Err(failure) => return plain.failed(failure),
        };
        let mut settings = settings;
        if let Some(AutoApprove::List { names, .. }) = &overrides.auto_approve {
            // Plan mode only tightens, so it needs no trust.
            settings.plan |= settings.plans(names);
        }
        let mut rules = Self::plain(&settings, registry);
        rules.overruled = overruled(overrides, &plain.settings);
        rules.withheld = withheld;
        rules.options.frontmatter = Some(Ok(reading.text));
        rules.offer(overrides, registry);
        if let Some(approval) = &overrides.auto_approve {
            rules.options.chain = rules.chain(approval);
        }
        rules.evaluated = Some(Arc::new(evaluated));
        rules
    }

    /// Returns these rules with a frontmatter that could not be read.
    fn failed(&self, failure: FrontmatterError) -> Self {
        let mut rules = self.clone();
        rules.options.frontmatter = Some(Err(failure.message.clone()));
        rules.failure = Some(failure);
        rules
    }

    /// Also offers tools that the chat addresses by name.
    pub fn addressing(self: Arc<Self>, names: &BTreeSet<String>, registry: &Registry) -> Arc<Self> {
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
        // Sorted, so that requests begin alike and hit the provider's cache.
        rules.offered.sort_by(|a, b| a.name.cmp(&b.name));
        Arc::new(rules)
    }

    /// Returns the line of the frontmatter that chooses the provider or the model, if it
    /// applies.
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

    /// Offers only the tools that the chat names.
    fn offer(&mut self, overrides: &Overrides, registry: &Registry) {
        let Some(names) = &overrides.tools else {
            return;
        };
        let names = &with_jobs(names);
        let tool = |name: &String| registry.get(name).map(|tool| tool.definition());
        self.offered = names.iter().filter_map(tool).collect();
        let alias_of = |alias: &String| tools::aliases().find(|(it, _)| it == alias);
        let offered = |name: &String| {
            names.contains(name)
                || alias_of(name).is_some_and(|(_, it)| names.iter().any(|name| name == it))
        };
        self.options.tools.retain(|name, _| offered(name));
    }

    /// Replaces the options' list by the frontmatter's rules. If these are not trusted, they
    /// approve nothing that the options do not approve.
    fn chain(&mut self, approval: &AutoApprove) -> ResolverChain {
        let trusted = !self.is_withheld("tools.auto_approve");
        let ours = self.settings.policy();
        let source = match approval {
            AutoApprove::Function(_) => {
                self.at_most = (!trusted).then_some(ours);
                OpinionSource::Function(Function::frontmatter())
            }
            AutoApprove::List { names, exclusions } => {
                let names = names.iter().map(String::as_str);
                let theirs = self.settings.expand(names, exclusions);
                let mut theirs = searching(theirs, exclusions);
                if !trusted {
                    // Denials of an untrusted list apply, because they only tighten.
                    theirs.approve.retain(|name| ours.approve.contains(name));
                    // `$shell-safe` counts if the options have it too, or approve all commands
                    // anyway.
                    if ours.argument_rules.is_empty() && !ours.approve.contains("bash") {
                        theirs.argument_rules = ArgumentRules::default();
                    }
                    // The user's denials hold in every chat.
                    theirs.deny.extend(ours.deny);
                    theirs.tries &= ours.tries;
                }
                self.tries = theirs.tries;
                OpinionSource::List(theirs)
            }
        };
        self.options.chain.with_frontmatter(&source)
    }

    /// Limits the result of the frontmatter's function: an untrusted one approves only what the
    /// options approve too.
    pub fn limited(&self, call: &CallKey, decision: Option<Decision>) -> Option<Decision> {
        let Some(ours) = &self.at_most else {
            return decision;
        };
        match (ours.decide(&call.name), decision) {
            // No function can approve what the user's list denies.
            (Some(Decision::Deny), _) => Some(Decision::Deny),
            // By name only: this link cannot hold a call to what a rule approves it for.
            (ours, Some(Decision::Approve)) => ours.or(Some(Decision::RequireApproval)),
            (_, other) => other,
        }
    }
}

/// Returns the names with the tools of jobs if `bash`, which starts jobs, is among them, otherwise without.
fn with_jobs(names: &[String]) -> Vec<String> {
    let is_own = |name: &&String| !tools::JOB_TOOLS.contains(&name.as_str());
    let mut all: Vec<String> = names.iter().filter(is_own).cloned().collect();
    if all.iter().any(|name| name == "bash") {
        all.extend(tools::JOB_TOOLS.map(str::to_owned));
    }
    all
}

/// Returns the settings with the provider and the model that the chat names. Both apply or
/// neither: a model belongs to its provider.
fn chosen_model(
    settings: &Settings,
    overrides: &Overrides,
    is_withheld: impl Fn(&str) -> bool,
) -> Result<Settings, FrontmatterError> {
    let [provider, model] = ["provider", "model"].map(|path| overrides.values[path].as_str());
    let is_named = provider.is_some() || model.is_some();
    if !is_named || is_withheld("provider") || is_withheld("model") {
        return Ok(settings.clone());
    }
    let target = Target::of_chat(provider, model, settings);
    let chosen = target.and_then(|target| {
        let chosen = settings.with_model_of(&target);
        chosen.map_err(|problems| problems.join(" "))
    });
    chosen.map_err(|why| {
        let lines = &overrides.lines;
        let line = lines.get("model").or(lines.get("provider"));
        let line = line.copied().unwrap_or(1);
        FrontmatterError {
            line,
            column: None,
            message: format!("frontmatter line {line}: {why}"),
        }
    })
}

/// Returns the values of the frontmatter that apply, without those that are compared with
/// the user's rules: the provider, the model, and approvals have functions of their own.
fn values(overrides: &Overrides, is_withheld: impl Fn(&str) -> bool) -> Value {
    let mut values = Value::Null;
    for (path, option, value) in options::set_in(&overrides.values) {
        if !matches!(option.loosens, Loosens::Compared) && !is_withheld(path) {
            let value = options::nested(path, value.clone());
            options::lay_over(&mut values, value);
        }
    }
    values
}

/// Returns the names that a frontmatter may refer to under these options.
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
        auto_approve: is_list.then(|| settings.approved_names().map(str::to_owned).collect()),
    }
}

impl Rules {
    /// Returns the tools, the rules, the provider, and the model that the frontmatter sets,
    /// by option path, less what is withheld.
    pub fn chosen(&self) -> BTreeMap<String, Value> {
        let mut chosen = BTreeMap::new();
        let Some(evaluated) = &self.evaluated else {
            return chosen;
        };
        let overrides = &evaluated.overrides;
        let mut set = |path: &str, value: Option<Value>| {
            chosen.extend(value.map(|value| (path.to_owned(), value)));
        };
        // The list of tools only selects what is offered, so it needs no trust.
        set("tools", overrides.tools.clone().map(Value::from));
        let approval = overrides.auto_approve.as_ref();
        let approval = approval.filter(|_| !self.is_withheld("tools.auto_approve"));
        set("tools.auto_approve", approval.map(approval_value));
        if !self.is_withheld("provider") && !self.is_withheld("model") {
            for path in ["provider", "model"] {
                set(path, overrides.values.get(path).cloned());
            }
        }
        chosen
    }
}

fn approval_value(approval: &AutoApprove) -> Value {
    match approval {
        // Shown as "function"; only Neovim's functions have a meaningful number.
        AutoApprove::Function(_) => json!({"function": 0}),
        AutoApprove::List { names, exclusions } if exclusions.is_empty() => json!(names),
        AutoApprove::List { names, exclusions } => json!({"names": names, "without": exclusions}),
    }
}

#[cfg(test)]
mod tests;
