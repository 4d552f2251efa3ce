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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::frontmatter::{Source as Text, evaluate};
    use chat::approval::{Answers, Verdict, decide};
    use chat::tool::ToolUseId;
    use serde_json::json;

    fn rules(given: Value, frontmatter: &str, trusted: bool) -> Rules {
        let registry = Registry::builtin();
        let (settings, _) = Settings::read(&given, &registry);
        let source = Text {
            language: "lua".to_owned(),
            text: frontmatter.to_owned(),
            first_line: 2,
            file: None,
        };
        let result = evaluate(&source, &known(&settings, &registry));
        let text = frontmatter.to_owned();
        Rules::with(
            &Rules::plain(&settings, &registry),
            &registry,
            Reading {
                text,
                result,
                trusted,
            },
        )
    }

    fn key(tool: &str) -> CallKey {
        CallKey {
            id: ToolUseId::new("x"),
            name: tool.to_owned(),
            input: "{}".to_owned(),
        }
    }

    fn decision(rules: &Rules, tool: &str) -> Option<Decision> {
        match decide(&rules.options.chain, &key(tool), &Answers::new()) {
            Verdict::Decided(decision, _) => Some(decision),
            Verdict::Ask(_) => None,
        }
    }

    const APPROVE: Option<Decision> = Some(Decision::Approve);
    const WAIT: Option<Decision> = Some(Decision::RequireApproval);

    #[test]
    fn a_frontmatter_tightens_whether_it_is_trusted_or_not() {
        for trusted in [true, false] {
            let rules = rules(
                json!({}),
                "flemma.opt.tools.auto_approve = { \"$readonly\" }",
                trusted,
            );
            assert_eq!(decision(&rules, "read"), APPROVE);
            assert_eq!(decision(&rules, "write"), WAIT);
            assert!(rules.withheld.is_empty());
        }
    }

    #[test]
    fn what_loosens_waits_for_trust_and_is_named() {
        let more = "flemma.opt.tools.auto_approve = { \"$default\", \"bash\" }";
        assert_eq!(decision(&rules(json!({}), more, true), "bash"), APPROVE);
        let untrusted = rules(json!({}), more, false);
        assert_eq!(decision(&untrusted, "bash"), WAIT);
        assert_eq!(decision(&untrusted, "read"), APPROVE);
        assert_eq!(untrusted.withheld[0].line, 2);
        let always = rules(json!({"trust": {"frontmatter": "always"}}), more, false);
        assert_eq!(decision(&always, "bash"), APPROVE);
    }

    #[test]
    fn what_the_options_deny_stays_denied_whatever_a_trusted_frontmatter_says() {
        let deny = json!({"tools": {"presets": {"$no": {"deny": ["bash"]}}, "auto_approve": ["$default", "$no"]}});
        for names in ["{ \"bash\" }", "{ \"$default\", \"bash\" }"] {
            let text = format!("flemma.opt.tools.auto_approve = {names}");
            let rules = rules(deny.clone(), &text, true);
            for tool in ["bash", "shell"] {
                assert_eq!(
                    decision(&rules, tool),
                    Some(Decision::Deny),
                    "{names} {tool}"
                );
            }
            assert_eq!(rules.overruled, ["bash"]);
        }
        let text = "flemma.opt.tools.auto_approve = function() return true end";
        let rules = rules(deny, text, true);
        assert_eq!(decision(&rules, "bash"), Some(Decision::Deny));
    }

    #[test]
    fn an_untrusted_function_approves_nothing_that_the_options_do_not() {
        let text = "flemma.opt.tools.auto_approve = function() return true end";
        let untrusted = rules(json!({}), text, false);
        assert_eq!(untrusted.limited(&key("read"), APPROVE), APPROVE);
        assert_eq!(untrusted.limited(&key("bash"), APPROVE), WAIT);
        assert_eq!(untrusted.limited(&key("read"), WAIT), WAIT);
        let trusted = rules(json!({}), text, true);
        assert_eq!(trusted.limited(&key("bash"), APPROVE), APPROVE);
    }

    #[test]
    fn only_the_tools_of_the_chat_are_offered_and_can_run() {
        let rules = rules(json!({}), "flemma.opt.tools = {\"bash\", \"read\"}", false);
        let offered: Vec<&str> = rules.offered.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(offered, ["bash", "read"]);
        assert!(!rules.options.tools.contains_key("write"));
    }

    #[test]
    fn autopilot_can_be_turned_off_by_a_chat_and_on_only_by_a_trusted_one() {
        assert!(
            !rules(json!({}), "flemma.opt.tools.autopilot = false", false)
                .options
                .autopilot
        );
        let off = json!({"tools": {"autopilot": {"enabled": false}}});
        let on = "flemma.opt.tools.autopilot = true";
        assert!(!rules(off.clone(), on, false).options.autopilot);
        assert!(rules(off, on, true).options.autopilot);
    }

    #[test]
    fn a_general_parameter_of_the_chat_beats_the_providers_own_of_the_options() {
        let given = json!({"parameters": {"anthropic": {"max_tokens": 1}, "temperature": 1}});
        let text = "flemma.opt.max_tokens = 8000\nflemma.opt.anthropic.thinking_budget = 20000";
        let rules = rules(given, text, false);
        let parameter = |name: &str| rules.settings.parameter("anthropic", name).cloned();
        assert_eq!(parameter("max_tokens"), Some(json!(8000)));
        assert_eq!(parameter("thinking_budget"), Some(json!(20000)));
        assert_eq!(
            parameter("temperature").and_then(|it| it.as_f64()),
            Some(1.0)
        );
    }

    #[test]
    fn whose_account_is_asked_waits_for_trust_like_anything_that_leads_elsewhere() {
        let given = json!({"parameters": {"vertex": {"project_id": "mine"}}});
        let text = "flemma.opt.vertex.project_id = 'theirs'\nflemma.opt.vertex.thinking_budget = 9";
        for (trusted, project) in [(false, "mine"), (true, "theirs")] {
            let rules = rules(given.clone(), text, trusted);
            let parameter = |name: &str| rules.settings.parameter("vertex", name).cloned();
            assert_eq!(parameter("project_id"), Some(json!(project)));
            assert_eq!(parameter("thinking_budget"), Some(json!(9)));
        }
    }

    #[test]
    fn a_chat_chooses_its_model_and_another_provider_only_with_trust() {
        let given = json!({
            "provider": "anthropic", "model": "mine",
            "parameters": {"anthropic": {"max_tokens": 7}},
            "presets": {"$near": "anthropic near max_tokens=9", "$far": "gemini far"},
        });
        let chosen = |text: &str, trusted| {
            let rules = rules(given.clone(), text, trusted);
            let settings = &rules.settings;
            let max_tokens = settings.parameter(&settings.provider, "max_tokens");
            (
                settings.provider.clone(),
                settings.model.clone(),
                max_tokens.and_then(Value::as_u64),
                rules.withheld.len(),
            )
        };
        let anthropic = |model: &str, max_tokens, withheld| {
            (
                "anthropic".to_owned(),
                Some(model.to_owned()),
                Some(max_tokens),
                withheld,
            )
        };
        let model = "flemma.opt.model = 'other'";
        let near = "flemma.opt.model = '$near'";
        let far = "flemma.opt.model = '$far'";
        let provider = "flemma.opt.provider = 'openai'";
        let both = "flemma.opt.provider = 'openai'\nflemma.opt.model = 'gpt-5'";
        for trusted in [false, true] {
            assert_eq!(chosen(model, trusted), anthropic("other", 7, 0));
            assert_eq!(chosen(near, trusted), anthropic("near", 9, 0));
        }
        for text in [far, provider, both] {
            assert_eq!(chosen(text, false), anthropic("mine", 7, 1), "{text}");
        }
        let openai = |model: Option<&str>| ("openai".to_owned(), model.map(str::to_owned), None, 0);
        assert_eq!(chosen(far, true).0, "gemini");
        assert_eq!(chosen(provider, true), openai(None));
        assert_eq!(chosen(both, true), openai(Some("gpt-5")));
    }

    #[test]
    fn a_preset_of_another_provider_than_the_chat_names_sends_nothing() {
        let given = json!({"presets": {"$far": "gemini far"}});
        let text = "flemma.opt.provider = 'openai'\nflemma.opt.model = '$far'";
        let rules = rules(given, text, true);
        assert_eq!(rules.failure.map(|it| it.line), Some(3));
        assert!(matches!(&rules.options.frontmatter, Some(Err(why)) if why.contains("$far")));
    }

    #[test]
    fn a_frontmatter_that_fails_blocks_the_cycle() {
        let rules = rules(json!({}), "flemma.opt.tools = {\"bsah\"}", true);
        assert!(matches!(&rules.options.frontmatter, Some(Err(why)) if why.contains("bsah")));
    }
}
