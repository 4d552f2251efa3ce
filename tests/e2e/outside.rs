//! Independent servers on the loopback: npm `@copilotkit/aimock`, and llama.cpp with a
//! small model. `make test-peers`, which is part of `make test`, and `make test-model`
//! download them into `.tools/` and run these tests, which are marked as ignored.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::shell::{Ran, Shell, wait};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A server that runs until the test ends.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts it with `arguments` and a free port, and waits until it listens.
    #[track_caller]
    fn start(program: &Path, arguments: &[&str], log: &Path) -> Self {
        assert!(
            program.exists(),
            "{} is missing: see CONTRIBUTING.md",
            program.display()
        );
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let log = File::create(log).unwrap();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--port", &port.to_string()])
            .stdin(Stdio::null());
        let child = command
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, port };
        wait("the server", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        server
    }

    /// The environment variables that direct each provider with one of its protocols to it.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let origin = format!("http://127.0.0.1:{}", self.port);
        let at = |name, path: &str| (name, format!("{origin}{path}"));
        let key = |name| (name, "not-a-key".to_owned());
        vec![
            at("ANTHROPIC_BASE_URL", ""),
            at("GEMINI_BASE_URL", ""),
            at("OPENAI_BASE_URL", "/v1"),
            at("OPENAI_COMPATIBLE_BASE_URL", "/v1"),
            at("LLAMACPP_BASE_URL", "/v1"),
            at("OPENROUTER_BASE_URL", "/api/v1"),
            key("ANTHROPIC_API_KEY"),
            key("GEMINI_API_KEY"),
            key("OPENAI_API_KEY"),
            key("OPENROUTER_API_KEY"),
        ]
    }

    /// Sends a question to one of them with `flemma send`.
    #[track_caller]
    fn ask(&self, shell: &Shell, provider: &str, question: &str) -> Ran {
        let name = format!("{provider}.chat");
        shell.write(&name, &format!("@You:\n{question}\n"));
        let mut command = shell.command(&["send", "--provider", provider, "--model", "m", &name]);
        command.envs(self.environment());
        crate::shell::end(command.spawn().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

mod peers {
    use super::*;

    const PROVIDERS: [&str; 5] = [
        "anthropic",
        "openai",
        "gemini",
        "openai_compatible",
        "openrouter",
    ];

    fn peer(shell: &Shell) -> Server {
        let program = root().join(".tools/npm-peers/node_modules/.bin/llmock");
        let fixtures = root().join("tests/peers/fixtures.json");
        let fixtures = ["--fixtures", fixtures.to_str().unwrap()];
        let arguments = [&fixtures[..], &["--strict", "--validate-on-load"]].concat();
        Server::start(&program, &arguments, &shell.path("peer.log"))
    }

    fn shell() -> Shell {
        let shell = Shell::offline();
        shell.configure("[parameters]\nthinking = \"low\"\nmax_retries = 0\n");
        shell.write("one.txt", "the first");
        shell
    }

    /// Two parallel calls, one of which fails. The peer refuses a turn that does not start with the
    /// thinking that it signed.
    #[test]
    #[ignore = "make test-peers"]
    fn calls_results_and_thinking_round_trip() {
        let shell = shell();
        let peer = peer(&shell);
        for provider in PROVIDERS {
            let ran = peer.ask(&shell, provider, "Look at both.");
            assert_eq!(ran.code, Some(0), "{provider}: {ran:?}");
            assert_eq!(
                ran.out, "I look.\nOne has *one*, the other is missing.\n",
                "{provider}"
            );
            let chat = shell.read(&format!("{provider}.chat"));
            for part in [
                "Two files, so two calls.",
                "```\nthe first\n```",
                "two.txt does not exist.",
            ] {
                assert!(chat.contains(part), "{part} in {provider}:\n{chat}");
            }
            assert_eq!(chat.matches("(error)").count(), 1, "{chat}");
        }
    }

    #[test]
    #[ignore = "make test-peers"]
    fn a_marker_in_the_text_stays_text() {
        let shell = shell();
        let peer = peer(&shell);
        for provider in PROVIDERS {
            let ran = peer.ask(&shell, provider, "Hello.");
            assert_eq!(
                ran.out, "Grüße & 🎉\n\n@You: not a marker\n",
                "{provider}: {ran:?}"
            );
            let chat = shell.read(&format!("{provider}.chat"));
            assert!(chat.contains("\n\\@You: not a marker\n\n@You:\n"), "{chat}");
        }
    }

    #[test]
    #[ignore = "make test-peers"]
    fn a_refusal_is_reported_and_a_broken_connection_keeps_the_text() {
        let shell = shell();
        let peer = peer(&shell);
        for provider in PROVIDERS {
            let ran = peer.ask(&shell, provider, "Refuse.");
            assert_eq!(ran.code, Some(1), "{provider}: {ran:?}");
            assert!(
                ran.err.contains("(400, no such model here)"),
                "{provider}: {ran:?}"
            );
            assert_eq!(shell.read(&format!("{provider}.chat")), "@You:\nRefuse.\n");

            let ran = peer.ask(&shell, provider, "Be cut.");
            assert_eq!(ran.code, Some(1), "{provider}: {ran:?}");
            let chat = shell.read(&format!("{provider}.chat"));
            assert!(chat.contains("\nThis is "), "{provider}:\n{chat}");
            assert!(chat.contains("<!-- flemma:aborted:"), "{provider}:\n{chat}");
        }
    }
}

mod model {
    use super::*;

    fn server() -> PathBuf {
        root().join(".tools/model/bin/llama-server")
    }

    fn weights() -> PathBuf {
        root().join(".tools/model/SmolLM2-135M-Instruct.Q4_1.gguf")
    }

    /// The answer of the model in the chat after `ran`. A model of this size may not find an end before
    /// its token limit.
    #[track_caller]
    fn said(shell: &Shell, provider: &str, ran: &Ran) -> String {
        assert!(matches!(ran.code, Some(0 | 3)), "{provider}: {ran:?}");
        let chat = shell.read(&format!("{provider}.chat"));
        let answer = chat.split_once("@Assistant:\n").unwrap().1.to_owned();
        let (answer, rest) = answer.rsplit_once("\n\n@You:\n").unwrap();
        assert_eq!(rest.trim(), "", "{chat}");
        let answer = answer.split("\n\n<!-- flemma:aborted").next().unwrap();
        assert!(answer.chars().any(char::is_alphabetic), "{chat}");
        answer.to_owned()
    }

    #[test]
    #[ignore = "make test-model"]
    fn llama_cpp_streams_on_chat_completions_messages_and_responses() {
        let shell = Shell::offline();
        shell.configure("[parameters]\nmax_tokens = 24\n");
        let weights = weights();
        let arguments = [
            "--model",
            weights.to_str().unwrap(),
            "--jinja",
            "--threads",
            "1",
        ];
        let server = Server::start(&server(), &arguments, &shell.path("server.log"));
        for provider in ["llamacpp", "anthropic", "openai"] {
            let ran = server.ask(&shell, provider, "Say hello.");
            let answer = said(&shell, provider, &ran);
            assert_eq!(ran.out.trim_end(), answer, "{provider}");
            // The next request contains the answer.
            let name = format!("{provider}.chat");
            let again = shell.read(&name).trim_end().to_owned() + "\nSay it again.\n";
            shell.write(&name, &again);
            let mut command =
                shell.command(&["send", "--provider", provider, "--events", "jsonl", &name]);
            let ran = crate::shell::end(command.envs(server.environment()).spawn().unwrap());
            said(&shell, provider, &ran);
            let deltas = ran.out.matches("\"event\":\"text\"").count();
            assert!(deltas > 1, "{provider}: {ran:?}");
        }
    }

    /// Parts of the manual, about as long as a fifth of a window of 8k.
    fn parts() -> Vec<String> {
        let manual = fs::read_to_string(root().join("doc/flemma.txt")).unwrap();
        let mut parts = vec![String::new()];
        for paragraph in manual.split("\n\n").filter(|it| it.len() > 200) {
            if parts.last().is_some_and(|it| it.len() > 5000) {
                parts.push(String::new());
            }
            // Nothing in it is a marker, a reference, or an expression.
            let plain = paragraph.replace('@', "at ").replace("{{", "((");
            let part = parts.last_mut().unwrap();
            part.push_str(&plain);
            part.push_str("\n\n");
        }
        parts
    }

    /// The model writes the summaries, too, and knows an answer after the last of them.
    #[test]
    #[ignore = "make test-model"]
    fn a_chat_fills_a_window_of_8k_again_and_again() {
        const WINDOW: &str = "8192";
        let shell = Shell::offline();
        shell.configure(&format!(
            "[tools]\noffer = []\n[parameters]\nmax_tokens = 400\ntemperature = 0\n[models.m]\ncontext = {WINDOW}\n"
        ));
        let weights = weights();
        let arguments = [
            "--model",
            weights.to_str().unwrap(),
            "--jinja",
            "--ctx-size",
            WINDOW,
        ];
        let server = Server::start(&server(), &arguments, &shell.path("server.log"));
        let summaries = || {
            let chat = fs::read_to_string(shell.path("long.chat")).unwrap_or_default();
            chat.matches("<!-- flemma:summary").count()
        };
        let ask = |question: &str| {
            let sent = ["send", "--provider", "llamacpp", "--model", "m"];
            let more = ["--compact-at", "60%", "-m", question, "long.chat"];
            let mut command = shell.command(&[&sent[..], &more].concat());
            let ran = crate::shell::end(command.envs(server.environment()).spawn().unwrap());
            assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
            ran.out
        };
        for part in parts().iter().take(20) {
            ask(&format!(
                "{part}Say in one short sentence what this is about."
            ));
            if summaries() == 4 {
                let answer = ask("What is the capital of France? Answer with its name only.");
                assert!(answer.contains("Paris"), "{answer}");
                return;
            }
        }
        panic!("{} summaries:\n{}", summaries(), shell.read("long.chat"));
    }

    #[test]
    #[ignore = "make test-model"]
    fn the_provider_local_starts_it_and_ends_it() {
        let shell = Shell::offline();
        fs::write(shell.path("local.chat"), "@You:\nSay hello.\n").unwrap();
        shell.configure(&format!(
            "provider = \"local\"\n[parameters]\nmax_tokens = 24\n[parameters.local]\n\
             server = \"{}\"\nmodel_path = \"{}\"\nextra_args = [\"--threads\", \"1\"]\n",
            server().display(),
            weights().display(),
        ));
        let ran = shell.run(&["send", "local.chat"]);
        said(&shell, "local", &ran);
        wait("the end of the server", || {
            let own = shell.dir();
            let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
            let mut folders =
                entries.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
            !folders.any(|folder| folder == own)
        });
    }
}
