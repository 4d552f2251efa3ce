//! What agents run in a session, in a small Rust project: how many of these commands ask, and what a
//! build costs in a trial.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::{bare, press, rest, since, start, with_plugin};
use crate::table::{Budget, Row, Samples, Table};

const CHAT: &str = "@You:\nGo.\n";
/// Files of the project besides those that the commands name.
const FILES: usize = 260;
const BUILDS: usize = 8;
/// Functions of the program that is built.
const FUNCTIONS: usize = 3_000;

/// Commands of coding agents: status, search, builds, scripts, changes, Git, and the network.
const COMMANDS: [&str; 41] = [
    "git status",
    "git diff HEAD --stat",
    "git log --oneline -10",
    "ls -la",
    "cat Cargo.toml",
    "rg -n 'fn main' --type rust",
    "grep -rn 'TODO' crates --include=*.rs | head -20",
    "find . -name '*.rs' -not -path './target/*' | wc -l",
    "sed -n '1,80p' crates/core/main.rs",
    "cargo check 2>&1 | tail -20",
    "cargo test --lib 2>&1 | tail -40",
    "cargo test -p printer color -- --nocapture 2>&1 | head -60",
    "cargo clippy --all-targets -- -D warnings 2>&1 | grep -E '^(warning|error)' | sort | uniq -c",
    "cargo fmt --check",
    "cd crates/core && cargo build 2>&1 | tail -5",
    "RUST_BACKTRACE=1 cargo test messages 2>&1 | tail -30",
    "cargo --version && rustc --version",
    "wc -l $(git ls-files '*.rs') | tail -1",
    "for f in crates/*/Cargo.toml; do echo \"== $f\"; grep '^version' $f; done",
    "python3 -c \"import json; print(json.load(open('package.json'))['scripts'])\"",
    "python3 -m pytest tests/ -x -q 2>&1 | tail -15",
    "npm test",
    "npm run build 2>&1 | tail -20",
    "npx tsc --noEmit",
    "node -e 'console.log(process.version)'",
    "cat <<'EOF' > /tmp/repro.py\nprint('reproduced')\nEOF",
    "python3 /tmp/repro.py",
    "mkdir -p docs/notes && touch docs/notes/a.md",
    "echo done >> CHANGELOG.md",
    "sed -i 's/foo/bar/' docs/notes/a.md",
    "rm -f docs/notes/a.md",
    "git add -A && git commit -m 'Count suppressed messages'",
    "git checkout -b suppressed",
    "git stash && cargo test 2>&1 | tail -5; git stash pop",
    "git show HEAD:crates/core/main.rs | head -50",
    "git blame -L 1,3 crates/core/main.rs",
    "test -f Makefile && echo yes || echo no",
    "which cargo node python3",
    "ps aux | grep cargo",
    "curl -s https://example.org/api/v1/crates/grep | head -c 300",
    "timeout 60 cargo run -- --no-messages foo /nonexistent 2>&1 | head",
];

pub fn run(table: &mut Table) -> io::Result<()> {
    for (names, limit) in [(&["$default"][..], 41.0), (&["$default", "$trial"], 6.0)] {
        table.add(Row {
            what: format!("questions in 41 commands with {} (count)", names.join(", ")),
            hand: None,
            ours: [questions(names)?].into_iter().collect(),
            budget: Budget::median(limit),
            lines: None,
        })?;
    }
    table.add(Row {
        what: "cargo build of a changed line in a trial (times outside)".to_owned(),
        hand: None,
        ours: builds()?,
        budget: Budget::median(1.1),
        lines: None,
    })
}

/// Fills a folder with a Rust project in a Git repository, without dependencies.
fn project(root: &Path) -> io::Result<()> {
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)
    };
    let member = |name: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n"
        )
    };
    write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n",
    )?;
    write("README.md", "A project.\n")?;
    write("CHANGELOG.md", "# Changes\n")?;
    write(".gitignore", "/target\n")?;
    // Without network, npm would wait for half a minute before its last try.
    write(".npmrc", "fetch-retries=0\n")?;
    write(
        "crates/core/Cargo.toml",
        &(member("core-program")
            + "printer = { path = \"../printer\" }\n\n[[bin]]\nname = \"core-program\"\npath = \"main.rs\"\n"),
    )?;
    write(
        "crates/core/main.rs",
        "//! The program.\n\nfn main() {\n    println!(\"{}\", printer::all());\n}\n",
    )?;
    write("crates/printer/Cargo.toml", &member("printer"))?;
    let mut modules = String::from("//! Prints.\n\n");
    for number in 0..FILES {
        modules.push_str(&format!("mod m{number};\n"));
        let text = format!("pub(crate) fn value() -> usize {{\n    {number}\n}}\n");
        write(&format!("crates/printer/src/m{number}.rs"), &text)?;
    }
    let sum: Vec<String> = (0..FILES).map(|it| format!("m{it}::value()")).collect();
    modules.push_str(&format!(
        "\n#[rustfmt::skip]\npub fn all() -> usize {{\n    {}\n}}\n\n#[test]\nfn color_and_messages() {{\n    assert!(all() > 0);\n}}\n",
        sum.join(" + ")
    ));
    write("crates/printer/src/lib.rs", &modules)?;
    for words in [
        &["init", "-q"][..],
        &["config", "user.name", "Flemma"],
        &["config", "user.email", "flemma@example.org"],
        &["add", "-A"],
        &["commit", "-q", "-m", "Begin"],
        &["commit", "-q", "--allow-empty", "-m", "Go on"],
    ] {
        tool("git", words, root)?;
    }
    Ok(())
}

/// Runs a program in a folder, without output.
fn tool(name: &str, words: &[&str], folder: &Path) -> io::Result<()> {
    let ran = Command::new(name)
        .args(words)
        .current_dir(folder)
        .output()?;
    if ran.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&ran.stderr)))
    }
}

/// An editor in the project, with the toolchain of this machine.
fn editor(provider: &Provider, approve: &[&str]) -> io::Result<Editor> {
    let options = json!({"tools": {"auto_approve": approve, "review_delay": 0}, "sandbox": {}});
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/root"));
    let place = |name: &str, folder: &str| {
        std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from)
    };
    let setup = with_plugin(provider, options)
        .env("CARGO_HOME", place("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", place("RUSTUP_HOME", ".rustup"));
    let editor = start(setup, CHAT);
    project(&editor.dir())?;
    Ok(editor)
}

/// What became of a call: a result (`false`), a question (`true`), or nothing yet.
fn asks(editor: &Editor, id: &str, is_tried: bool) -> Option<bool> {
    let text = editor.text();
    let block = text.split_once(&format!("**Tool Result:** `{id}`"))?.1;
    let block = block.split("**Tool ").next().unwrap_or(block);
    if !block.contains("status=") {
        return Some(false);
    }
    let has_outcome = || {
        editor
            .virtual_lines()
            .iter()
            .any(|it| it.text.starts_with("tried: "))
    };
    (block.contains("status=pending") && (!is_tried || has_outcome())).then_some(true)
}

/// The number of commands that ask. Each of them is approved then, so that later ones find its effects.
fn questions(approve: &[&str]) -> io::Result<f64> {
    let is_tried = approve.contains(&"$trial");
    let calls = COMMANDS.iter().enumerate().map(|(number, command)| {
        let input = json!({"label": "", "command": command, "timeout": null});
        Answer::new().tool_use(&format!("toolu_{number}"), "bash", &input)
    });
    let provider = Provider::anthropic(calls.chain([Answer::says("Well.")]));
    let editor = editor(&provider, approve)?;
    press(&editor, "<C-]>");
    let mut count = 0.0;
    for (number, command) in COMMANDS.iter().enumerate() {
        let id = format!("toolu_{number}");
        let settled = |editor: &Editor| asks(editor, &id, is_tried).is_some();
        editor.wait_for(command, settled);
        // A trial that the rule takes is shown for a moment.
        rest(&editor);
        if asks(&editor, &id, is_tried) == Some(true) {
            count += 1.0;
            if is_tried {
                writeln!(io::stderr(), "asks: {command}")?;
            }
            press(&editor, "<M-CR>");
            editor.wait_for(command, |editor| asks(editor, &id, is_tried) == Some(false));
        }
    }
    Ok(count)
}

/// How much longer builds take in trials than outside of them.
fn builds() -> io::Result<Samples> {
    let provider = Provider::anthropic([""; 0]);
    let editor = editor(&provider, &["$default", "$trial"])?;
    let other = bare("");
    let outside = other.dir();
    project(&outside)?;
    // Enough that the compiler takes about a second.
    let functions: String = (0..FUNCTIONS)
        .map(|it| format!("fn f{it}(n: usize) -> String {{\n    format!(\"{{n}} {it}\")\n}}\n"))
        .collect();
    let calls: String = (0..FUNCTIONS)
        .map(|it| format!("    n += f{it}(n).len();\n"))
        .collect();
    let functions = format!("{functions}fn all(mut n: usize) -> usize {{\n{calls}    n\n}}\n");
    let mut ratios = Samples::default();
    for run in 0..=BUILDS {
        for root in [&outside, &editor.dir()] {
            let text = format!(
                "{functions}fn main() {{\n    println!(\"{{}} {run}\", all(printer::all()));\n}}\n"
            );
            fs::write(root.join("crates/core/main.rs"), text)?;
        }
        let start = Instant::now();
        tool("cargo", &["build"], &outside)?;
        let by_hand = since(start);
        let input = json!({"label": "", "command": "cargo build", "timeout": null});
        provider.then(Answer::new().tool_use(&format!("toolu_{run}"), "bash", &input));
        provider.then(Answer::says("Built."));
        let start = Instant::now();
        press(&editor, "<C-]>");
        let id = format!("toolu_{run}");
        editor.wait_for("the build", |editor| asks(editor, &id, true) == Some(false));
        // The first one builds everything.
        if run > 0 {
            ratios.add(since(start) / by_hand);
        }
        rest(&editor);
        press(&editor, "GoMore.<Esc>");
        rest(&editor);
    }
    Ok(ratios)
}
