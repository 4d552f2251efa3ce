//! Commands of `:Flemma` that concern all chats, or none.

use serde_json::Value;
use session::protocol::*;
use session::usage::log as usage_log;
use session::{EditorInput, Input, switch};

use super::{Host, choices};

impl Host {
    /// Carries out a command that concerns all chats, or passes it to the buffer's session.
    pub(super) fn command(&mut self, command: EditorCommand) {
        let has_session = self.sessions.contains_key(&command.buffer);
        match &command.action {
            Action::Tutor => self.open_tutor(),
            Action::Run(arguments) => self.run(arguments),
            Action::Switch(words) if is_empty(words) => self.show_choices(false),
            Action::SwitchAll(words) if is_empty(words) => self.show_choices(true),
            Action::SwitchAll(words) => self.switch_all(words),
            // Without a chat, the user may have meant all of them.
            Action::Switch(_) if !has_session => {
                self.report_no_chat("Use `:Flemma switch!` to switch every chat.");
            }
            Action::Usage(days) if !has_session => self.report_usage(*days),
            Action::Mcp(server) => self.report_mcp(server.as_deref()),
            Action::AcceptMcp(server) => self.accept_mcp(server.as_deref()),
            Action::RestartMcp(server) => self.restart_mcp(server.as_deref()),
            Action::TrustMcp => self.trust_mcp(),
            // These options apply to the whole editor, so they need no chat. `Toggle::Report`
            // does, because a frontmatter may set them for its chat.
            Action::Autopilot(toggle @ (Toggle::Enable | Toggle::Disable)) => {
                self.set_autopilot(*toggle == Toggle::Enable);
            }
            Action::Sandbox(toggle @ (Toggle::Enable | Toggle::Disable)) => {
                self.set_sandbox(*toggle == Toggle::Enable);
            }
            action if has_session => {
                // MCP servers start with the first command that may use their tools.
                if action.works() {
                    self.servers.needed();
                }
                self.pass(command.buffer, Input::Editor(EditorInput::Command(command)));
            }
            _ => {
                self.report_no_chat("Open a file whose name ends in .chat, or :set filetype=chat.")
            }
        }
    }

    fn report_no_chat(&self, fix: &'static str) {
        let problem = chat::Problem::new("This buffer is not a chat.", fix);
        self.editor.report_problem(&problem);
    }

    /// `:Flemma usage` outside a chat: the last days of all chats.
    fn report_usage(&self, days: Option<u32>) {
        let editor = self.editor.clone();
        // Reads up to 20 MB.
        tokio::task::spawn_blocking(move || editor.report("usage", usage_log::report(days)));
    }

    /// Lets the user pick a provider, model, or preset for one chat or for all.
    fn show_choices(&self, all: bool) {
        let choices = choices(&self.shared.settings, Some(all));
        self.editor.show(Display::Choices(choices));
    }

    /// `:Flemma switch!`: sets provider and model of every chat, including those with their
    /// own.
    fn switch_all(&mut self, arguments: &Value) {
        match switch::switch(&self.shared.settings, arguments) {
            Ok(settings) => {
                let text = switch::message(
                    &settings,
                    switch::SwitchScope::EveryChat,
                    &session::audit::today(),
                );
                self.sessions
                    // First, so that the new options are not overruled by an earlier switch in
                    // one chat.
                    .retain(|_, session| {
                        session
                            .send(Input::Editor(EditorInput::SwitchedBack))
                            .is_ok()
                    });
                self.share(settings);
                let level = chat::cycle::Level::Info;
                self.editor.notify(&chat::cycle::Notice { level, text });
            }
            Err(problem) => self.editor.report_problem(&problem),
        }
    }

    fn set_autopilot(&mut self, enabled: bool) {
        self.switch_option("tools.autopilot.enabled", Value::Bool(enabled));
        let state = if enabled { "on" } else { "off" };
        self.editor.notify(&chat::cycle::Notice {
            level: chat::cycle::Level::Info,
            text: format!("Autopilot is {state} in every chat of this Neovim."),
        });
    }

    /// `:Flemma run`: opens the chat of a command and presses Ctrl-] in it.
    fn run(&self, arguments: &Value) {
        match session::spec::run(arguments) {
            Ok((name, lines)) => self.editor.show(Display::Open(Open {
                name,
                lines,
                advance: true,
            })),
            Err(problem) => self.editor.report_problem(&chat::Problem::new(problem, "")),
        }
    }

    /// `:Flemma tutor`: opens a new chat with the tutor, in a folder with the file that it reads.
    fn open_tutor(&self) {
        match session::status::new_tutor_chat() {
            Ok(name) => self.editor.show(Display::Open(Open {
                name,
                lines: session::tutor::FIRST_CHAT.map(str::to_owned).to_vec(),
                advance: false,
            })),
            Err(error) => self.editor.report_problem(&chat::Problem::new(
                format!("The folder for the tutor's file cannot be written: {error}."),
                "",
            )),
        }
    }
}

/// Returns true if a command has no words.
fn is_empty(words: &Value) -> bool {
    words.as_object().is_none_or(|it| it.is_empty())
}
