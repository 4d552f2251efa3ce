//! The resolvers of calls, from the options and from registered functions.
//!
//! Knows names and priorities; the cycle acts on the decisions.
//!
//! Checks the names in the rules: of tools, presets, and modules.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat::approval::{
    ArgumentRules, CATCH_ALL, CONFIG, Decision, FRONTMATTER, Function, HARMLESS, OnError,
    OpinionSource, Policy, REMEMBERED, Resolver, ResolverChain, SHELL_SAFE as SHELL_SAFE_NAME,
};
use chat::cycle::Options;
use chat::did_you_mean;
use chat::tool::ToolDefinition;
use serde_json::Value;
use tools::{Registry, Tool};

use super::judges::{SHELL, SHELL_SAFE, TRIAL};
use super::plan::{PLAN_PRESET, SEARCHES};
use super::sandbox::in_home;
use super::{CommandLineApproval, Problems, RegisteredResolver, Settings};
use crate::options::InvalidOption;
use crate::options::ReviewRule;

/// Priority of the resolvers made from options. Higher priorities decide first.
pub(super) const OPTIONS_PRIORITY: i32 = 100;

/// Below the frontmatter: the rules that the user chose at earlier calls.
const REMEMBERED_PRIORITY: i32 = 70;

/// Name of the resolver that applies `--approve` and `--yes`.
const COMMAND_LINE: &str = "command line";

/// Below all functions and options: the tools that `--approve` names, then `--yes`.
const COMMAND_LINE_PRIORITY: i32 = -100;

/// Below the command line's tools: the rules that `--approve` names.
const LAST_PRIORITY: i32 = -101;

/// Below every rule of the user.
const HARMLESS_PRIORITY: i32 = i32::MIN;

/// Adds `tool_search` to a policy that approves anything, unless the policy names it. The tool
/// only finds tools, and without it models could reach none that are not offered.
pub(crate) fn searching(mut policy: Policy, exclusions: &[String]) -> Policy {
    let is_named = policy.deny.contains(SEARCH) || exclusions.iter().any(|it| it == SEARCH);
    if !policy.approve.is_empty() && !is_named {
        policy.approve.insert(SEARCH.to_owned());
    }
    policy
}

/// Adds the aliases of the tools that a policy names. Models call a tool by either name, and
/// both must be treated alike.
fn with_aliases(mut policy: Policy) -> Policy {
    for (alias, name) in tools::aliases() {
        for names in [&mut policy.approve, &mut policy.deny] {
            if names.contains(name) {
                names.insert(alias.to_owned());
            }
        }
    }
    policy
}

/// The tool that finds tools.
const SEARCH: &str = "tool_search";

impl Settings {
    /// Returns the policy of a list of tool names and presets. `exclusions` take approvals
    /// away, and never a denial.
    pub fn expand<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        exclusions: &[String],
    ) -> Policy {
        let mut policy = Policy::default();
        for name in names {
            // The user's preset takes precedence, because it may have the name of a built-in
            // one.
            match (self.tools.presets.get(name), tools::preset(name)) {
                (Some(preset), _) => {
                    policy.approve.extend(preset.approve.iter().cloned());
                    policy.deny.extend(preset.deny.iter().cloned());
                }
                (None, Some(approve)) => policy.approve.extend(approve.map(str::to_owned)),
                (None, None) if name == PLAN_PRESET => {
                    policy.approve.extend(SEARCHES.map(str::to_owned));
                    policy.argument_rules = self.shell_safe();
                }
                (None, None) if name == SHELL_SAFE => {
                    policy.argument_rules = self.shell_safe();
                }
                (None, None) if name == TRIAL => policy.tries = true,
                (None, None) => {
                    policy.approve.insert(name.to_owned());
                }
            }
        }
        // Denials stay: removing a name from a list must not allow what it forbade.
        policy.approve.retain(|name| !exclusions.contains(name));
        // Without `bash`, its rules about arguments must not approve it either.
        if exclusions.iter().any(|it| it == "bash" || it == SHELL_SAFE) {
            policy.argument_rules = ArgumentRules::default();
        }
        policy.tries &= !exclusions.iter().any(|it| it == "bash" || it == TRIAL);
        with_aliases(policy)
    }

    /// Returns the list policy of the options: presets expanded and merged. A project's list
    /// replaces the user's, whose denials still apply.
    pub fn policy(&self) -> Policy {
        let mut policy = searching(self.expand(self.approved_names(), &[]), &[]);
        let own = self.expand(self.names_below_project(), &[]);
        policy.deny.extend(own.deny);
        policy
    }

    /// Returns all resolvers: the built-in ones, without those that the user removed, and
    /// the registered ones. Only its own name approves a tool of `asking`; a tool of
    /// `harmless` runs unless a rule has an opinion.
    pub(super) fn chain(
        &self,
        asking: BTreeSet<String>,
        harmless: BTreeSet<String>,
    ) -> ResolverChain {
        let mut links = self.lists(asking);
        links.extend(self.missing_modules());
        links.extend(self.command_line());
        if !harmless.is_empty() {
            let approve = OpinionSource::List(Policy {
                approve: harmless,
                ..Policy::default()
            });
            links.push(Resolver::new(HARMLESS, HARMLESS_PRIORITY, approve));
        }
        // The user can remove any resolver except their own denials of shell commands.
        let is_removed = |link: &Resolver| self.resolvers.without.contains(&link.name);
        links.retain(|link| link.name == SHELL || !is_removed(link));
        // After the removal: a registered function may replace a built-in one of the same name.
        links.extend(self.resolvers.items.iter().map(link));
        ResolverChain::new(links)
    }

    /// Returns the resolvers that the options define.
    fn lists(&self, asking: BTreeSet<String>) -> Vec<Resolver> {
        let config = match self.function() {
            Some(function) => OpinionSource::Function(Function::auto_approve(function)),
            None => OpinionSource::List(self.policy()),
        };
        let mut links = vec![
            // A chat's own list replaces the approvals of this one.
            Resolver::yielding(CONFIG, OPTIONS_PRIORITY, config),
            // Has no opinion until a chat's frontmatter replaces it.
            Resolver::new(FRONTMATTER, 90, OpinionSource::List(Policy::default())),
            Resolver::yielding(
                REMEMBERED,
                REMEMBERED_PRIORITY,
                OpinionSource::Function(Function::remembered()),
            ),
        ];
        links.extend(self.judges());
        if !self.tools.require_approval {
            links.push(Resolver::new(
                CATCH_ALL,
                0,
                OpinionSource::Unless(Decision::Approve, asking),
            ));
        }
        links
    }

    /// Returns resolvers for modules that the options name and that are not registered.
    /// They ask about every call, because an unknown rule might deny it.
    fn missing_modules(&self) -> impl Iterator<Item = Resolver> {
        let items = &self.resolvers.items;
        let is_missing =
            |name: &&str| is_module(name) && !items.iter().any(|item| item.name == **name);
        self.entries().filter(is_missing).map(|name| {
            let wait = OpinionSource::Always(Decision::RequireApproval);
            Resolver::yielding(name, OPTIONS_PRIORITY, wait)
        })
    }

    /// Returns the resolvers of `--approve` and `--yes`.
    fn command_line(&self) -> Vec<Resolver> {
        let approval = &self.resolvers.command_line;
        // Neovim gives no such approvals, so the chain that it shows has no resolver for them.
        if *approval == CommandLineApproval::default() {
            return Vec::new();
        }
        let CommandLineApproval { policy, yes } = approval;
        let listed = Policy {
            argument_rules: ArgumentRules::default(),
            ..policy.clone()
        };
        let named = |source| Resolver::new(COMMAND_LINE, COMMAND_LINE_PRIORITY, source);
        let mut links = vec![named(OpinionSource::List(listed))];
        // Below the list, which may deny. Sorting keeps the order of equal priorities.
        if *yes {
            links.push(named(OpinionSource::Always(Decision::Approve)));
        }
        if !policy.argument_rules.is_empty() {
            let reads = OpinionSource::ArgumentRules(self.shell_safe());
            links.push(Resolver::new(SHELL_SAFE_NAME, LAST_PRIORITY, reads));
        }
        links
    }

    /// Returns the tools offered to models unless a chat says otherwise, sorted by name.
    pub fn offered(&self, registry: &Registry) -> Vec<ToolDefinition> {
        let is_offered = |tool: &&Arc<dyn Tool>| {
            tool.traits().is_enabled || self.tools.offer.iter().any(|name| name == tool.name())
        };
        let tools = registry.iter().chain(registry.aliases());
        let mut offered: Vec<_> = tools.filter(is_offered).map(|it| it.definition()).collect();
        // In a fixed order, so that requests begin alike and hit the provider's cache.
        offered.sort_by(|a, b| a.name.cmp(&b.name));
        offered
    }

    /// Returns the options of the cycle.
    pub fn options(&self, registry: &Registry) -> Options {
        let tools = registry
            .iter()
            .chain(registry.aliases())
            .map(|tool| (tool.name().to_owned(), tool.definition()))
            .collect();
        let asking = registry.iter().filter(|tool| tool.traits().asks_always);
        Options {
            chain: self.chain(
                asking.map(|tool| tool.name().to_owned()).collect(),
                registry.harmless().map(str::to_owned).collect(),
            ),
            tools,
            reviews: self.tools.review == ReviewRule::Always,
            autopilot: self.tools.autopilot.enabled,
            // Settings that failed to load have the limit 0, with which nothing could be sent.
            max_turns: self.tools.autopilot.max_turns.max(1),
            max_cost: self.tools.autopilot.max_cost,
            max_concurrent: self.tools.max_concurrent,
            cursor_after_result: self.tools.cursor_after_result,
            ..Options::default()
        }
    }
}

/// Returns the resolver of a registered function or of a module that the options name.
fn link(item: &RegisteredResolver) -> Resolver {
    let on_error = if item.closed {
        // A function registered as `closed` guards something, so if it fails, the call must not
        // pass.
        OnError::Deny
    } else {
        OnError::Pass
    };
    let source = OpinionSource::Function(Function::resolver(item.function, on_error));
    if item.from_options {
        Resolver::yielding(&item.name, item.priority, source)
    } else {
        Resolver::new(&item.name, item.priority, source)
    }
}

/// Returns true if an entry of `tools.auto_approve` is the path of a module.
pub(crate) fn is_module(name: &str) -> bool {
    // Names of our own resolvers are not modules.
    name.contains('.') && !name.starts_with("urn:flemma:")
}

/// Reports a name that is not in `known`. One that resembles none of them may belong to a tool
/// that is registered later.
fn check_name(path: &str, name: &str, known: &BTreeSet<String>, problems: &mut Problems) {
    if known.contains(name) {
        return;
    }
    // Tools register later, so only a name that looks like a typing error counts as one.
    let meant = did_you_mean(name, known.iter().map(String::as_str));
    if meant.is_empty() && !name.starts_with('$') {
        problems.remarks.push(format!(
            "{path}: there is no tool named \"{name}\" so far. The setting applies once such a tool is registered."
        ));
        return;
    }
    let message = format!("{path}: unknown name \"{name}\".{meant}");
    let invalid = InvalidOption::new(path, message);
    if name.starts_with('$') {
        // Presets cannot be registered, so a preset that is missing now will stay missing.
        problems.invalid.push(invalid)
    } else {
        problems.unknown.push(invalid)
    }
}

impl Settings {
    /// Reports problems of the names in `tools.auto_approve` and `tools.presets`, of hosts, and of
    /// folders for trials. A name that resembles none may belong to a tool that is registered later.
    pub(crate) fn check_names(&self, registry: &Registry, problems: &mut Problems) {
        let tools = registry.iter().chain(registry.aliases());
        let tools: BTreeSet<String> = tools.map(|it| it.name().to_owned()).collect();
        let presets = self.preset_names();
        for name in &self.tools.offer {
            check_name("tools.offer", name, &tools, problems);
        }
        for name in self.approved_names() {
            let known = if name.starts_with('$') {
                &presets
            } else {
                &tools
            };
            let remarks = problems.remarks.len();
            check_name("tools.auto_approve", name, known, problems);
            // The tool may be registered later, so such a name is looked up again.
            if problems.remarks.len() > remarks {
                problems.missing.push(name.to_owned());
            }
        }
        self.check_presets(&tools, problems);
        for entry in &self.tools.bash.trial_home {
            if in_home(entry).is_none() {
                let path = "tools.bash.trial_home";
                let message = format!(
                    "{path}: \"{entry}\" must be a path below your home folder, such as \"~/.config/foo\"."
                );
                problems.invalid.push(InvalidOption::new(path, message));
            }
        }
    }

    fn check_presets(&self, tools: &BTreeSet<String>, problems: &mut Problems) {
        for (preset, lists) in &self.tools.presets {
            if !preset.starts_with('$') {
                let message =
                    format!("tools.presets: the name \"{preset}\" must start with \"$\".");
                let invalid = InvalidOption::new("tools.presets", message);
                problems.invalid.push(invalid);
            }
            for (list, names) in [("approve", &lists.approve), ("deny", &lists.deny)] {
                let path = format!("tools.presets.{preset}.{list}");
                for name in names {
                    check_name(&path, name, tools, problems);
                }
            }
        }
    }

    /// Returns the names of all presets, with their `$`.
    pub(crate) fn preset_names(&self) -> BTreeSet<String> {
        let built_in = tools::PRESETS.iter().map(|name| (*name).to_owned());
        let built_in = built_in.chain([SHELL_SAFE, TRIAL, PLAN_PRESET].map(str::to_owned));
        built_in.chain(self.tools.presets.keys().cloned()).collect()
    }

    /// Returns the policy function, if `auto_approve` is one.
    pub(super) fn function(&self) -> Option<u64> {
        self.tools
            .auto_approve
            .get("function")
            .and_then(Value::as_u64)
    }

    /// Returns true if the user's own rules are code: a function, or modules by their paths.
    pub(crate) fn decides_by_code(&self) -> bool {
        self.function().is_some() || self.entries().any(is_module)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &str> {
        entries_of(&self.tools.auto_approve)
    }

    /// Returns the user's own list, if a project's list replaces it.
    pub(super) fn names_below_project(&self) -> impl Iterator<Item = &str> {
        const PATH: &str = "tools.auto_approve";
        let own = self.own_value(PATH).filter(|_| self.is_of_project(PATH));
        entries_of(own.unwrap_or(&Value::Null)).filter(|name| !is_module(name))
    }

    /// Returns the tools and presets that `tools.auto_approve` lists.
    pub(crate) fn approved_names(&self) -> impl Iterator<Item = &str> {
        self.entries().filter(|name| !is_module(name))
    }
}

/// Returns the names in a value of `tools.auto_approve`.
fn entries_of(value: &Value) -> impl Iterator<Item = &str> {
    let (list, single) = match value {
        Value::Array(list) => (list.as_slice(), None),
        Value::String(name) => (&[][..], Some(name.as_str())),
        _ => (&[][..], None),
    };
    list.iter().filter_map(Value::as_str).chain(single)
}

#[cfg(test)]
mod tests;
