//! The tables `tools` and `sandbox`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chat::cycle::CursorAfterResult;
use serde::Deserialize;
use serde_json::Value;

use super::{DAY, OptionValue};
use crate::options::kind::{MANY, OptionKind, OptionKind::*};
use crate::options::{ANYWHERE, CHAT, Loosens, Loosens::*, OptionDef, PROJECT, RULES, Scope};

const fn unless(strict: &'static str, what: &'static str) -> Loosens {
    Loosens::Unless { strict, what }
}

options! {
    /// `tools.*`
    pub struct ToolSettings {
        /// true: calls that no rule decides ask. false: they run.
        require_approval: bool = true {
            scopes: PROJECT,
            loosens: unless("true", "would run calls that no rule decides without asking"),
        },
        /// The calls that run without asking: a list of tool names, presets, and
        /// modules, or a function: >lua
        ///
        /// auto_approve = function(tool_name, input, context)
        ///   if tool_name == "calculator" then return true end        -- run
        ///   if tool_name == "bash" and input.command:match("rm %-rf") then
        ///     return "deny"                                           -- refuse
        ///   end
        ///   return false                                              -- ask
        /// end
        /// <
        /// nil passes the call to the next rule. If the function fails, the call asks.
        ///
        /// A chat's frontmatter can set its own list. Calls that are denied here, by a
        /// preset or this function, stay denied there; calls about which this function
        /// asks, or on which it fails, ask there too.
        ///
        /// An unknown preset and a misspelled tool are errors. Any other name may be that
        /// of a tool that is registered later. A name with a dot is a module with a
        /// function `resolve`, see |flemma.tools.approval|; it is loaded when it is first
        /// needed.
        auto_approve: Value as Any(&[List(&Text), Function, Module]) = ["$default"] {
            scopes: &[
                Scope::Setup, Scope::ConfigFile, Scope::Project, Scope::Rules, Scope::Frontmatter,
            ],
            loosens: Compared,
        },
        /// Named lists for `auto_approve`. A tool that one of them denies stays denied
        /// even if another approves it. Built in are "$readonly" (read), "$default"
        /// (read, write, edit, apply_patch), and "$standard" (those of "$default",
        /// find, grep, ls, tool_search); "$shell-safe" approves `bash` for commands that
        /// only read, see |flemma-shell-safe|; "$trial" tries the other commands, and
        /// approves those that change nothing, see |flemma-trials-rule|.
        /// >lua
        /// presets = { ["$no-bash"] = { deny = { "bash" } } }
        /// <
        presets: BTreeMap<String, Preset> = {},
        /// Tools that models are offered in addition to the default ones, see
        /// |flemma-built-in-tools|: >lua
        ///
        /// tools = { offer = { "grep", "find", "ls" }, auto_approve = { "$standard" } }
        /// <
        /// In one chat: `flemma.opt.tools:append("grep")`.
        offer: Vec<String> = [] { scopes: PROJECT },
        /// Whether the provider may search the web and read pages while it answers, if it
        /// offers that: true, false, "search", or "fetch". The provider does both itself,
        /// so you are not asked, and what the model puts into queries and addresses leaves
        /// the chat. See |flemma-web|.
        web: Value as Any(&[Flag, Choice(&["search", "fetch"])]) = false {
            scopes: CHAT,
            loosens: unless("false", "would let the provider search and read the web without asking"),
        },
        /// The only domains that the provider's web tools reach, such as "docs.rs" or
        /// "example.com/blog". Empty: all.
        web_allowed_domains: Vec<String> = [] {
            scopes: CHAT,
            loosens: Always("would change which sites the provider's web tools reach"),
        },
        /// Domains that the provider's web tools never reach.
        web_blocked_domains: Vec<String> = [] {
            scopes: CHAT,
            loosens: Always("would change which sites the provider's web tools reach"),
        },
        /// Maximum number of searches, and of pages read, in one request. Each request
        /// that continues a paused answer may make as many again. nil: the provider
        /// decides.
        web_max_uses: Option<u32> as Whole(1, MANY) {
            scopes: CHAT,
            loosens: WhenRaised("would let the provider search the web more often"),
        },
        autopilot: AutopilotSettings,
        /// Maximum number of seconds that a tool runs.
        default_timeout: f64 as Number(0.1, DAY) = 120.0,
        /// When you see changes of files that a rule approves.
        /// "after": when the run is over, one line says how many files and lines changed,
        /// with the diffs of at most three files and 60 lines; <CR> opens them all.
        /// "always": each call of `write`, `edit`, and `apply_patch` waits for you.
        /// "none": neither. Calls that no rule approves wait in any case. See
        /// |flemma-review|.
        review: ReviewRule = "after" {
            scopes: ANYWHERE,
            loosens: unless(r#""always""#, "would change files that you have not reviewed"),
        },
        /// Whether the result of a call that changes a file names the new syntax
        /// errors, and the new diagnostics of language servers. See
        /// |flemma-new-problems|.
        diagnostics: bool = true,
        /// Milliseconds that a pending call must be visible before one press of Alt-Enter
        /// runs it, so that a key that was meant for something else does not. Another
        /// press runs it at once; a key that is held down does not. 0: no delay.
        review_delay: u64 as Whole(0, 10_000) = 500,
        /// Maximum number of calls of a chat that run at the same time; 0: no limit.
        max_concurrent: usize = 4,
        /// Whether running calls show a spinner.
        show_spinner: bool = true,
        /// Where the cursor goes when a call that asked gets its result: "result": to the
        /// result, "stay": nowhere, "next": to the next `@You:`. A window at the end of
        /// a chat always follows new text.
        cursor_after_result: CursorAfterResult as Choice(&["result", "stay", "next"]) = "result",
        /// Whether the chat is not 'modifiable' while its tools run. If you are typing at
        /// that moment, the text is refused, and the rest of it runs as commands.
        lock_buffer: bool = false,
        /// Folders with script tools, in addition to `flemma/tools` in your configuration
        /// folder; see |flemma-script-tools|.
        script_paths: Vec<String> = [],
        /// Folders with Python modules for all script tools, in addition to each folder's
        /// `lib`.
        script_libraries: Vec<String> = [],
        bash: BashSettings,
        http_get: HttpSettings,
    }

    /// `tools.autopilot.*`
    pub struct AutopilotSettings {
        /// Whether approved calls run and their results are sent without a key. Autopilot
        /// stops if the same call fails with the same error in three requests.
        enabled: bool = true {
            scopes: ANYWHERE,
            loosens: WhenTurnedOn("would send again by itself after each approved call"),
        },
        /// Maximum number of requests in a row without a key from you.
        max_turns: u32 as Whole(1, MANY) = 100 {
            scopes: PROJECT,
            loosens: WhenRaised("would send more requests in a row without a key from you"),
        },
        /// Price in US dollars at which autopilot stops and waits for a key. The request
        /// that exceeds it is the last. Before a request to a model without a known price,
        /// which could not be stopped, Neovim asks; `flemma send` fails. nil: no limit.
        max_cost: Option<f64> as Number(0.01, 1e6) {
            scopes: PROJECT,
            loosens: WhenRaised("would spend more without a key from you"),
        },
    }

    /// `tools.bash.*`
    pub struct BashSettings {
        /// The shell that runs commands. nil: `bash`.
        shell: Option<String>,
        /// The folder in which commands run. "$FLEMMA_BUFFER_PATH" is the folder of the
        /// chat, "$CWD" Neovim's working directory, "~" your home. A relative path starts
        /// in "$CWD".
        cwd: Option<String> = "$FLEMMA_BUFFER_PATH",
        /// Environment variables for commands, with their values.
        env: BTreeMap<String, String> = {},
        /// Commands that "$shell-safe" also approves: programs, or programs with the words
        /// after them, such as "tokei" or "go test".
        allow: Vec<String> = [] {
            scopes: RULES,
            loosens: Always("would let \"$shell-safe\" run these commands"),
        },
        /// Commands that never run, even if approved. They are recognized by name, which
        /// prevents mistakes, not attacks: what a program starts itself is not checked.
        /// A project's list is added to yours.
        deny: Vec<String> = [] { scopes: PROJECT, loosens: Forbids },
        /// Commands that "$shell-safe" would not approve. "ask": the other rules
        /// decide, and without one you are asked. "deny": they are refused.
        unlisted: Unlisted = "ask" {
            scopes: PROJECT,
            loosens: unless(
                r#""deny""#,
                "would run commands that are refused now if a rule or you approve them",
            ),
        },
        /// Whether commands can be tried with `:Flemma try`, which runs them where they
        /// change nothing, to see what they would do. See |flemma-trials|.
        trial: bool = true,
        /// Files and folders in your home folder that commands also see when "$trial"
        /// tries them, besides the project and toolchains: "~/.config/foo". Secrets in
        /// them stay hidden, and so does a folder with more than 30,000 entries. See
        /// |flemma-trials-rule|.
        trial_home: Vec<String> = [],
    }

    /// `tools.http_get.*`
    pub struct HttpSettings {
        /// Hosts that `http_get` fetches from without asking: "docs.rs",
        /// "*.example.org", "localhost:8080". Addresses that only this machine or its
        /// network can reach are refused unless listed here: "localhost",
        /// "127.0.0.1", "10.0.0.0/8".
        allow: Vec<String> as Hosts = [] {
            scopes: RULES,
            loosens: Always("would fetch from these hosts without asking"),
        },
    }

    /// A named collection of rules.
    #[serde(default)]
    pub struct Preset {
        /// Tools to approve.
        approve: Vec<String> = [],
        /// Tools to deny.
        deny: Vec<String> = [],
    }

    /// `sandbox.*`
    #[derive(PartialEq, Eq)]
    pub struct SandboxSettings {
        /// Whether commands are sandboxed, and `write` and `edit` restricted to `rw_paths`.
        enabled: bool = true {
            scopes: ANYWHERE,
            loosens: unless("true", "would run commands outside the sandbox"),
        },
        /// "auto": bubblewrap, if it is installed and works; otherwise commands run
        /// unrestricted, and pending calls say UNSANDBOXED. "required" and "bwrap": no
        /// command runs without a sandbox.
        backend: BackendChoice = "auto" {
            scopes: CHAT,
            loosens: unless(r#""required""#, "would let commands run where no sandbox is available"),
        },
        // Only the user can set these three: each gives commands access beyond the sandbox.
        /// Sockets that commands can reach, by name: "ssh-agent" (for `git push`),
        /// "gpg-agent", "tmux", "nvim", "dbus", "docker", "podman", "x11",
        /// "wayland"; or by path. A command can do everything that the program behind the
        /// socket can do for you: with docker or tmux, that is everything.
        sockets: Vec<String> = [],
        /// Environment variables that commands and MCP servers get in addition to those in
        /// |flemma-sandbox-environment|, such as "GITHUB_TOKEN" or
        /// "AWS_*". They apply without a sandbox too.
        env: Vec<String> = [],
        /// Secret files and folders (|flemma-secrets|) that tools, references, and commands
        /// can read, such as "$CWD/.env" or "~/.ssh/config". A folder includes everything
        /// in it. Links are not followed: name the file that a link points to.
        reveal: Vec<String> = [],
        policy: SandboxPolicy,
        backends: Backends,
    }

    /// `sandbox.policy.*`
    #[derive(PartialEq, Eq)]
    pub struct SandboxPolicy {
        /// Folders below which files can be written. "$CWD" is Neovim's working
        /// directory, "$FLEMMA_BUFFER_PATH" the folder of the chat, "~" your home.
        /// Git's hooks and configuration, `.envrc`, and similar files stay unchanged;
        /// see |flemma-sandbox-limits|.
        rw_paths: Vec<String> = ["$CWD", "$FLEMMA_BUFFER_PATH", "/tmp"] {
            scopes: CHAT,
            // Folders are not compared, so every list but the empty one counts as looser.
            loosens: unless("[]", "would change which folders can be written"),
        },
        /// What commands can reach of the network: true, everything; false, nothing; or
        /// only some hosts: `{ allow = { "crates.io", "*.npmjs.org" } }`. See
        /// |flemma-sandbox-network|.
        network: NetworkPolicy = true {
            scopes: CHAT,
            loosens: ReachesMore("would let commands reach the network"),
        },
        /// Whether commands keep your privileges, such as root's.
        allow_privileged: bool = false {
            scopes: CHAT,
            loosens: unless("false", "would let commands keep your privileges"),
        },
    }

    /// `sandbox.policy.network.*`
    #[derive(PartialEq, Eq)]
    #[serde(default)]
    pub struct NetworkHosts {
        /// The hosts that commands can reach.
        allow: Vec<String> as Hosts = [] { scopes: CHAT },
    }

    /// `sandbox.backends.*`
    #[derive(PartialEq, Eq)]
    pub struct Backends {
        bwrap: Bwrap,
    }

    /// `sandbox.backends.bwrap.*`
    #[derive(PartialEq, Eq)]
    pub struct Bwrap {
        /// The bubblewrap program. nil: /usr/bin/bwrap, else the first in $PATH.
        path: Option<PathBuf> as Text,
        /// Additional arguments for bubblewrap, after Flemma's.
        extra_args: Vec<String> = [],
    }
}

/// `sandbox.policy.network`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum NetworkPolicy {
    /// Everything, or nothing.
    Switch(bool),
    /// These hosts, through a proxy.
    Hosts(NetworkHosts),
}

impl Default for NetworkPolicy {
    fn default() -> Self {
        Self::Switch(false)
    }
}

impl OptionValue for NetworkPolicy {
    const KIND: OptionKind = Any(&[Flag, NetworkHosts::KIND]);
}

choices! {
    /// `tools.review`
    pub enum ReviewRule {
        /// When the run is over.
        #[default]
        After = "after",
        /// Before each call runs.
        Always = "always",
        /// Not at all.
        None = "none",
    }

    /// `tools.bash.unlisted`
    pub enum Unlisted {
        /// The other rules decide; without one the user is asked.
        #[default]
        Ask = "ask",
        /// They are refused.
        Deny = "deny",
    }

    /// `sandbox.backend`
    pub enum BackendChoice {
        /// Any backend that works; commands run unrestricted without one.
        Auto = "auto",
        /// Any backend that works; no command runs without one.
        #[default]
        Required = "required",
        /// Bubblewrap; no command runs without it.
        Bwrap = "bwrap",
    }
}
