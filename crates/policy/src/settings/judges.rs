//! Rules about the arguments of calls: which shell commands may run, and which hosts need
//! no approval.
//!
//! `tools` analyzes commands and addresses; this module decides. Knows the names of the
//! tools that take them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat::approval::{
    self, ArgumentRule, ArgumentRules, CallKey, Decision, OpinionSource, Resolver, ResolverChain,
    Verdict, decide_in_general,
};
use chat::tool::ToolUseId;
use serde_json::{Value, json};
use tools::{
    Confinement, HostList, Machine, Needs, Sandbox, SecretFile, ShellLists, Tool, Unsafe, Url,
};

use super::policy::OPTIONS_PRIORITY;
use super::{Here, Settings};
use crate::options::Unlisted;

/// The preset that approves shell commands that only read.
pub(crate) const SHELL_SAFE: &str = "$shell-safe";
/// The preset that tries commands, and decides by the outcome.
pub(crate) const TRIAL: &str = "$trial";
/// The resolver that denies shell commands, before all others.
pub(crate) const SHELL: &str = "urn:flemma:approval:bash";
/// The resolver that approves addresses of hosts that the user lists.
pub const HTTP: &str = "urn:flemma:approval:http_get";

impl Settings {
    /// Returns the user's lists of shell commands.
    pub(crate) fn shell_lists(&self) -> ShellLists {
        let bash = &self.tools.bash;
        ShellLists {
            allow: bash.allow.clone(),
            deny: bash.deny.clone(),
        }
    }

    /// Returns the hosts that `http_get` may reach.
    pub fn http_allow(&self) -> HostList {
        // Invalid entries were reported when the options were read.
        HostList::read(&self.tools.http_get.allow).unwrap_or_default()
    }

    /// Returns the resolvers that check arguments. Denials come before all other resolvers,
    /// so that none can allow what the user forbids.
    pub(super) fn judges(&self) -> Vec<Resolver> {
        let bash = &self.tools.bash;
        let only_listed = bash.unlisted == Unlisted::Deny;
        let is_known = self.has_known_shell();
        let mut links = Vec::new();
        if only_listed || !bash.deny.is_empty() {
            let rules = one(ShellBound {
                lists: self.shell_lists(),
                only_listed,
                is_known,
            });
            // The highest priority, so that no other resolver approves before it.
            links.push(Resolver::new(
                SHELL,
                i32::MAX,
                OpinionSource::ArgumentRules(rules),
            ));
        }
        if !self.tools.http_get.allow.is_empty() {
            let hosts = OpinionSource::ArgumentRules(one(ListedHosts(self.http_allow())));
            links.push(Resolver::yielding(HTTP, OPTIONS_PRIORITY, hosts));
        }
        links
    }

    /// Returns the rules that approve shell commands that only read. Empty if the shell
    /// parses commands in another way than `bash`.
    pub(super) fn shell_safe(&self) -> ArgumentRules {
        if self.has_known_shell() {
            // Other shells, such as fish, give the same text another meaning.
            one(ShellSafe(self.shell_lists()))
        } else {
            ArgumentRules::default()
        }
    }

    /// Returns the inspection of the shell commands of a chat. Relative paths start from
    /// `folder`.
    pub fn inspection(&self, folder: PathBuf, here: Here<'_>, sandbox: Arc<Sandbox>) -> Inspection {
        Inspection {
            lists: self.shell_lists(),
            unlisted: self.tools.bash.unlisted,
            cwd: self.bash(here).cwd.unwrap_or_else(|| folder.clone()),
            folder,
            sandbox,
        }
    }

    /// Returns how a call that `by` approved is confined.
    pub fn confinement(&self, by: &str) -> Confinement {
        // Where plan mode can try nothing, it lets only commands run that read.
        let is_untried = self.is_planning() && self.untried().is_some();
        // If only reading is allowed, a command that reads is confined, whoever approved it.
        let is_refused = self.tools.bash.unlisted == Unlisted::Deny;
        if is_untried || is_refused || approval::only_reads(by) {
            Confinement::ReadOnly
        } else {
            Confinement::Chat
        }
    }

    /// Returns the name of the sandbox for a command that `by` approved, for the log. A command
    /// that only reads is sandboxed even if the sandbox is off. Waits at the first call in a
    /// process.
    pub fn held_by(&self, sandbox: &Sandbox, call: &CallKey, by: &str) -> &'static str {
        // A program that the user listed runs like the user's other commands.
        let reads =
            || review(call, &self.shell_lists()).is_some_and(|it| it.is_ok_and(|it| !it.more));
        match self.confinement(by) == Confinement::ReadOnly && reads() {
            // A command that only reads gets a stricter sandbox than the others.
            true => sandbox.reading_held_by(),
            false if self.is_planning() => "trial",
            false => sandbox.held_by(),
        }
    }

    /// Returns true if the shell parses commands as `bash` does.
    pub fn has_known_shell(&self) -> bool {
        let shell = self.tools.bash.shell.as_deref().unwrap_or("bash");
        // The option may be a path, as in `/bin/bash`.
        let name = Path::new(shell).file_name().unwrap_or_default();
        ["bash", "sh", "dash"].iter().any(|known| name == *known)
    }
}

pub(super) fn one(rule: impl ArgumentRule + 'static) -> ArgumentRules {
    let mut rules = ArgumentRules::default();
    rules.add(Arc::new(rule));
    rules
}

/// Describes commands that the rules treat differently, to follow what the rules do with a call
/// of the shell.
pub fn exceptions(chain: &ResolverChain) -> Option<&'static str> {
    let decided = |command: &str| {
        let call = CallKey {
            id: ToolUseId::new("probe"),
            name: "bash".to_owned(),
            input: json!({"command": command}).to_string(),
        };
        match decide_in_general(chain, &call) {
            Verdict::Decided(decision, _) => Some(decision),
            // A function decides about each call, so there is nothing general to say.
            Verdict::Ask(_) => None,
        }
    };
    // Every rule treats these two commands alike unless it considers arguments.
    match (decided("ls")?, decided("./unlisted")?) {
        (Decision::Approve, Decision::RequireApproval) => Some("commands that only read run"),
        (Decision::Approve, Decision::Deny) => {
            Some("commands that only read run, all others are denied")
        }
        (Decision::RequireApproval, Decision::Deny) => Some("what does more than read is denied"),
        _ => None,
    }
}

/// Approves commands that only read.
#[derive(Debug)]
pub struct ShellSafe(pub ShellLists);

impl ArgumentRule for ShellSafe {
    fn name(&self) -> Option<&'static str> {
        Some(approval::SHELL_SAFE)
    }

    fn decide(&self, call: &CallKey) -> Option<Decision> {
        let reads = review(call, &self.0)?.is_ok();
        reads.then_some(Decision::Approve)
    }
}

/// Denies commands that the user forbids, or all that [`ShellSafe`] would not approve.
#[derive(Debug)]
pub struct ShellBound {
    /// The user's lists.
    pub lists: ShellLists,
    /// True if commands that are not listed are denied too.
    pub only_listed: bool,
    /// True if the shell's commands can be parsed.
    pub is_known: bool,
}

impl ShellBound {
    fn problem(&self, call: &CallKey) -> Option<Unsafe> {
        if self.only_listed && !self.is_known {
            // Only calls of the shell have a problem; others pass.
            command(call)?;
            return Some(Unsafe::Syntax("the commands of another shell than bash"));
        }
        if self.only_listed {
            return review(call, &self.lists)?.err();
        }
        let command = command(call)?.0;
        match tools::forbidden(&command, &self.lists.deny)? {
            denied @ Unsafe::Denied(_) => Some(denied),
            // The user can read a command that could not be parsed, so ask.
            _ => None,
        }
    }

    fn is_unclear(&self, call: &CallKey) -> bool {
        command(call).is_some_and(|(command, _)| {
            let found = tools::forbidden(&command, &self.lists.deny);
            matches!(found, Some(Unsafe::Syntax(_)))
        })
    }
}

impl ArgumentRule for ShellBound {
    fn decide(&self, call: &CallKey) -> Option<Decision> {
        match self.problem(call) {
            Some(_) => Some(Decision::Deny),
            None => self.is_unclear(call).then_some(Decision::RequireApproval),
        }
    }

    fn reason(&self, call: &CallKey) -> Option<String> {
        let problem = self.problem(call)?;
        Some(format!("{problem} Nothing was run."))
    }
}

/// Approves addresses of the hosts that the user lists.
#[derive(Debug)]
pub struct ListedHosts(pub HostList);

impl ArgumentRule for ListedHosts {
    fn decide(&self, call: &CallKey) -> Option<Decision> {
        if call.name != "http_get" {
            return None;
        }
        let input: Value = serde_json::from_str(&call.input).ok()?;
        // The tool itself reports an invalid address.
        let url = Url::parse(input.get("url")?.as_str()?.trim()).ok()?;
        self.0.names(&url).then_some(Decision::Approve)
    }
}

fn review(call: &CallKey, lists: &ShellLists) -> Option<Result<Needs, Unsafe>> {
    let (command, _) = command(call)?;
    Some(tools::review(&command, lists))
}

/// Inspects what a command would do on this machine.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The user's lists.
    pub lists: ShellLists,
    /// The treatment of a command that is not approved.
    pub unlisted: Unlisted,
    /// The folder in which `bash` starts, unless the call names one.
    pub cwd: PathBuf,
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// The sandbox of the command.
    pub sandbox: Arc<Sandbox>,
}

impl Inspection {
    /// Returns why `$shell-safe` would not approve a shell command; `None` if it would, and for
    /// other tools. Blocking.
    pub fn problem(&self, call: &CallKey) -> Option<Unsafe> {
        let (command, machine) = self.machine(call)?;
        tools::inspect(&command, &self.lists, &machine).err()
    }

    /// Returns which parts of a shell command need no rule if the others have one, because they only
    /// read. Blocking.
    pub fn reading_parts(&self, call: &CallKey) -> Vec<bool> {
        let found = self.machine(call);
        let reading = found
            .map(|(command, machine)| tools::reading_parts(&command, &self.lists, Some(&machine)));
        reading.unwrap_or_default()
    }

    /// Returns the command of a call of the shell, and where it would run.
    fn machine(&self, call: &CallKey) -> Option<(String, Machine)> {
        let (command, folder) = command(call)?;
        let cwd = match folder {
            Some(folder) => tools::resolve(&self.folder, &folder).ok()?,
            // `shell` starts in the chat's folder, and only `bash` has an option for it.
            None if call.name == "shell" => self.folder.clone(),
            None => self.cwd.clone(),
        };
        let secrets = self.sandbox.secrets();
        let machine = Machine::here(cwd, secrets, self.sandbox.can_hold_reading());
        Some((command, machine))
    }

    /// Returns the secret file or folder that a call of `tool` names to read or to write.
    /// Blocking.
    pub fn secret(&self, tool: &dyn Tool, input: &Value) -> Option<SecretFile> {
        let changed = tool.changes(input, &self.folder).into_iter();
        let secrets = self.sandbox.secrets();
        let mut named = changed.chain(tool.reads(input, &self.folder));
        // Secrets are named by their paths on the machine, which can differ inside the sandbox.
        named.find_map(|path| secrets.find(&self.sandbox.outside(&path)))
    }

    /// Returns true for a call that starts programs without the sandbox that they should have,
    /// unless it is a shell command that only reads. Blocking.
    pub fn runs_free(&self, call: &CallKey) -> bool {
        self.sandbox.is_lacking() && (command(call).is_none() || self.problem(call).is_some())
    }

    /// Returns the guard's decision about a call; `None` if it may run. Blocking.
    pub fn decide(&self, call: &CallKey) -> Option<(Decision, String)> {
        let problem = self.problem(call)?;
        Some(match self.unlisted {
            Unlisted::Deny => (
                Decision::Deny,
                format!("The call \"{}\" was denied. {problem}", call.id),
            ),
            Unlisted::Ask => (
                Decision::RequireApproval,
                format!("The call \"{}\" needs your approval. {problem}", call.id),
            ),
        })
    }
}

/// Returns the command of a call of the shell, and the folder that the call names.
fn command(call: &CallKey) -> Option<(String, Option<String>)> {
    if !matches!(call.name.as_str(), "bash" | "shell") {
        return None;
    }
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let text = |name: &str| Some(input.get(name)?.as_str()?.to_owned());
    Some((text("command")?, text("working_dir")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use tools::{Backend, Registry, SandboxLimits};

    use super::*;

    fn call(name: &str, input: &Value) -> CallKey {
        CallKey {
            id: ToolUseId::new("x"),
            name: name.to_owned(),
            input: chat::json::canonical(input),
        }
    }

    fn bash(command: &str) -> CallKey {
        call(
            "bash",
            &json!({"label": "", "command": command, "timeout": null}),
        )
    }

    #[test]
    fn a_command_that_only_reads_is_approved_under_both_names() {
        let safe = ShellSafe(ShellLists::default());
        let approve = Some(Decision::Approve);
        assert_eq!(safe.decide(&bash("ls -la")), approve);
        assert_eq!(safe.decide(&bash("rm x")), None);
        assert_eq!(safe.decide(&call("bash", &json!({}))), None);
        assert_eq!(safe.decide(&call("write", &json!({"command": "ls"}))), None);
        let shell = |command: &str, folder: Value| {
            call("shell", &json!({"command": command, "working_dir": folder}))
        };
        assert_eq!(safe.decide(&shell("pwd", json!("/tmp"))), approve);
        assert_eq!(safe.decide(&shell("git status", Value::Null)), approve);
        // Whether that folder's configuration is harmless is looked at by the guard.
        assert_eq!(safe.decide(&shell("git status", json!("evil"))), approve);
    }

    #[test]
    fn what_is_forbidden_is_denied_with_its_name() {
        let lists = ShellLists {
            deny: vec!["curl".to_owned()],
            ..ShellLists::default()
        };
        let bound = ShellBound {
            lists,
            only_listed: false,
            is_known: true,
        };
        assert_eq!(bound.decide(&bash("ls; curl x")), Some(Decision::Deny));
        let reason = bound.reason(&bash("ls; curl x")).unwrap_or_default();
        assert!(reason.contains("\"curl\" is not allowed") && reason.ends_with("Nothing was run."));
        assert_eq!(bound.decide(&bash("rm x")), None);
        let long = format!("{}curl x", "true; ".repeat(60_000));
        assert_eq!(bound.decide(&bash(&long)), Some(Decision::RequireApproval));
    }

    #[test]
    fn a_bound_shell_runs_only_what_is_listed() {
        let bound = ShellBound {
            lists: ShellLists::default(),
            only_listed: true,
            is_known: true,
        };
        assert_eq!(bound.decide(&bash("ls")), None);
        assert_eq!(bound.decide(&bash("rm x")), Some(Decision::Deny));
        assert_eq!(bound.decide(&call("write", &json!({}))), None);
    }

    #[test]
    fn a_listed_host_needs_no_question() {
        let allow = HostList::read(&["docs.rs".to_owned()]).unwrap_or_default();
        let hosts = ListedHosts(allow);
        let get = |url: &str| call("http_get", &json!({"url": url}));
        assert_eq!(
            hosts.decide(&get("https://docs.rs/x")),
            Some(Decision::Approve)
        );
        assert_eq!(hosts.decide(&get("https://docs.rs.evil.example/x")), None);
        assert_eq!(
            hosts.decide(&call("bash", &json!({"url": "https://docs.rs/"}))),
            None
        );
    }

    #[test]
    fn the_rule_of_a_command_that_reads_has_its_name() {
        let name = ShellSafe(ShellLists::default()).name();
        assert_eq!(name, Some(approval::SHELL_SAFE));
    }

    #[test]
    fn a_shell_that_is_not_known_is_bound_only_where_what_is_not_listed_is_denied() {
        let bound = |only_listed| ShellBound {
            lists: ShellLists::default(),
            only_listed,
            is_known: false,
        };
        assert_eq!(bound(false).decide(&bash("ls")), None);
        assert_eq!(bound(true).decide(&bash("ls")), Some(Decision::Deny));
        let reason = bound(true).reason(&bash("ls")).unwrap();
        assert!(reason.contains("another shell than bash"), "{reason}");
        assert_eq!(bound(true).decide(&call("write", &json!({}))), None);
    }

    #[test]
    fn the_rules_say_what_they_do_with_some_commands_only() {
        let safe = json!(["$default", "$shell-safe"]);
        for (approve, unlisted, expected) in [
            (json!(["$default"]), "ask", None),
            (json!(["bash"]), "ask", None),
            (safe.clone(), "ask", Some("commands that only read run")),
            (
                safe,
                "deny",
                Some("commands that only read run, all others are denied"),
            ),
            (
                json!([]),
                "deny",
                Some("what does more than read is denied"),
            ),
        ] {
            let given = json!({"tools": {"auto_approve": approve, "bash": {"unlisted": unlisted}}});
            let registry = Registry::builtin();
            let (settings, _) = Settings::read(&given, &registry);
            assert_eq!(
                exceptions(&settings.options(&registry).chain),
                expected,
                "{given}"
            );
        }
    }

    /// A folder whose `link` leads to a secret, and another one whose `link` does not.
    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let [secret, plain] = ["secret", "plain"].map(|it| folder.path().join(it));
        for (path, leads_to) in [(&secret, ".env"), (&plain, "notes")] {
            fs::create_dir(path).unwrap();
            fs::write(path.join(leads_to), "x").unwrap();
            std::os::unix::fs::symlink(leads_to, path.join("link")).unwrap();
        }
        (folder, secret, plain)
    }

    fn inspection(given: &Value, folder: &Path, sandbox: Sandbox) -> Inspection {
        let (settings, _) = Settings::read(given, &Registry::builtin());
        let here = Here {
            cwd: folder,
            chat: None,
        };
        settings.inspection(folder.to_owned(), here, Arc::new(sandbox))
    }

    #[test]
    fn a_command_is_inspected_in_the_folder_in_which_it_will_run() {
        let (_folder, secret, plain) = folders();
        let elsewhere = json!({"tools": {"bash": {"cwd": secret}}});
        let inspect = |given: &Value, call: &CallKey| {
            let inspection = inspection(given, &plain, Sandbox::off());
            inspection.problem(call).is_some()
        };
        let in_folder = |folder: Value| {
            call(
                "shell",
                &json!({"command": "cat link", "working_dir": folder}),
            )
        };
        let usual = json!({});
        assert!(!inspect(&usual, &bash("cat link")));
        assert!(inspect(&elsewhere, &bash("cat link")));
        assert!(
            !inspect(&elsewhere, &in_folder(Value::Null)),
            "bash.cwd is not its folder"
        );
        assert!(inspect(&usual, &in_folder(json!(secret))));
        assert!(inspect(&usual, &bash("rm link")));
        assert!(!inspect(
            &usual,
            &call("write", &json!({"command": "rm link"}))
        ));
    }

    #[test]
    fn what_the_guard_says_follows_the_option_for_commands_that_are_not_listed() {
        let (_folder, _, plain) = folders();
        for (unlisted, decision, said) in [
            (
                "ask",
                Decision::RequireApproval,
                "The call \"x\" needs your approval. ",
            ),
            ("deny", Decision::Deny, "The call \"x\" was denied. "),
        ] {
            let given = json!({"tools": {"bash": {"unlisted": unlisted}}});
            let inspection = inspection(&given, &plain, Sandbox::off());
            assert_eq!(inspection.decide(&bash("ls")), None);
            let (decided, why) = inspection.decide(&bash("rm x")).unwrap();
            assert_eq!(decided, decision);
            assert!(why.starts_with(said) && why.len() > said.len(), "{why}");
        }
    }

    #[test]
    fn a_secret_is_one_under_any_name_and_for_reading_and_writing() {
        let (_folder, secret, plain) = folders();
        let registry = Registry::builtin();
        for (tool, folder, path, expected) in [
            ("read", &secret, "link", true),
            ("read", &secret, ".env", true),
            ("write", &secret, ".env", true),
            ("read", &plain, "link", false),
            ("write", &plain, "notes", false),
        ] {
            let inspection = inspection(&json!({}), folder, Sandbox::off());
            let tool = registry.get(tool).unwrap();
            let input = json!({"path": path, "content": ""});
            let found = inspection.secret(&*tool, &input);
            assert_eq!(found.is_some(), expected, "{} {path}", tool.name());
        }
    }

    #[test]
    fn a_command_runs_free_where_the_sandbox_that_it_should_have_is_missing() {
        let (_folder, _, plain) = folders();
        let missing = |required| {
            let backend = Backend {
                program: Some(plain.join("no-bwrap")),
                required,
                ..Backend::default()
            };
            Sandbox::new(SandboxLimits::default(), backend)
        };
        let tool = call("my_tool", &json!({}));
        let runs_free = |sandbox: &Sandbox| {
            let inspection = inspection(&json!({}), &plain, sandbox.clone());
            [&tool, &bash("rm x"), &bash("ls")].map(|call| inspection.runs_free(call))
        };
        assert_eq!(runs_free(&missing(false)), [true, true, false]);
        assert_eq!(runs_free(&missing(true)), [false; 3], "it does not run");
        assert_eq!(
            runs_free(&Sandbox::off()),
            [false; 3],
            "as the user wants it"
        );
    }

    #[test]
    fn what_holds_a_command_is_named_for_the_log() {
        let (settings, _) = Settings::read(&json!({}), &Registry::builtin());
        for by in ["user", approval::SHELL_SAFE] {
            assert_eq!(settings.held_by(&Sandbox::off(), &bash("ls"), by), "none");
        }
    }
}
