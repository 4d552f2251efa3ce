//! Calls that look like allowed ones and are not, and generated commands, which a real shell
//! must find to be what the rule says.
//!
//! Also the file with the rules: what is written, what is read, and what a malformed one does.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::remembered::Remembered;

/// Variants of `cargo test`, which is allowed with any arguments.
const HOSTILE: &[&str] = &[
    "cargo test; rm -rf x",
    "cargo test && rm -rf x",
    "cargo test || rm -rf x",
    "cargo test | sh",
    "cargo test & rm -rf x",
    "cargo test\nreboot",
    "cargo test\r\nreboot",
    "cargo test $(reboot)",
    "cargo test \"$(reboot)\"",
    "cargo test `reboot`",
    "cargo test <(reboot)",
    "cargo test ${X:-$(reboot)}",
    "cargo test > f",
    "cargo test 2> f",
    "cargo test &> f",
    "cargo test >> f",
    "cargo test >| f",
    "cargo test < f",
    "cargo test <<< x",
    "cargo test *",
    "cargo test ~root",
    "CARGO_X=1 cargo test",
    "PATH=. cargo test",
    "./cargo test",
    "/tmp/cargo test",
    "../bin/cargo test",
    "~/cargo test",
    "env cargo test",
    "command cargo test",
    "exec cargo test",
    "eval cargo test",
    "time cargo test",
    "! cargo test",
    "cargo testx",
    "cargo 'test x'",
    "cargo \"\" test",
    "cargo +nightly test",
    "cargo -Zx test",
    "Cargo test",
    "cargo Test",
    "cаrgo test",
    "cargo\u{a0}test",
    "cargo\u{200b} test",
    "cargo test \u{202e}",
    "cargo() { reboot; }; cargo test",
    "alias cargo=reboot; cargo test",
    "cd /tmp && cargo test",
    "(cargo test)",
    "{ cargo test; }",
    "if cargo test; then reboot; fi",
    "cargo test # x\nreboot",
    "cargo test 'a\n' ; reboot",
    "cargo test \\; reboot; reboot",
];

#[test]
fn no_hostile_variant_of_an_allowed_command_is_approved() {
    let rules = [command("cargo test", true)];
    assert!(is_approved(&rules, &bash("cargo  test  -q 'a;b'")));
    for line in HOSTILE {
        assert_eq!(approving(&rules, &bash(line)), None, "{line:?}");
    }
    let elsewhere = json!({"command": "cargo test", "working_dir": "evil"});
    assert!(!is_approved(&rules, &call("shell", elsewhere)));
    let outer = json!({"name": "bash", "arguments": {"command": "cargo test"}});
    assert!(!is_approved(&rules, &call("execute_tool", outer)));
    assert!(!is_approved(
        &rules,
        &call("bash", json!({"command": ["cargo", "test"]}))
    ));
    assert!(!is_approved(&rules, &call("bash", json!("cargo test"))));
}

#[test]
fn any_arguments_of_a_program_that_runs_others_are_never_approved() {
    for program in [
        "env",
        "bash",
        "sudo",
        "xargs",
        "/bin/sh",
        "git",
        "git fetch",
        "git rebase",
        "git grep",
        "git bisect",
        "git submodule",
        "go test",
        "find",
        "tar",
        "rsync",
    ] {
        let rules = [command(program, true)];
        assert!(
            !is_approved(&rules, &bash(&format!("{program} rm -rf x"))),
            "{program}"
        );
    }
}

#[test]
fn no_path_leads_out_of_an_allowed_folder() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for name in ["src", "outside"] {
        std::fs::create_dir(top.join(name)).unwrap();
    }
    symlink(top.join("outside"), top.join("src/link")).unwrap();
    symlink(top.join("outside/file"), top.join("src/file")).unwrap();
    symlink(top.join("outside/none"), top.join("src/dangling")).unwrap();
    let rules = [always(AllowedCalls::Below(top.join("src")))];
    let edit = |path: &str| CallFacts {
        files: vec![real(&top, path)],
        ..call("edit", json!({"path": path}))
    };
    assert!(is_approved(&rules, &edit("src/new")));
    assert!(is_approved(&rules, &edit("src/../src/./deep//new")));
    for path in [
        "src/../x",
        "src/link/x",
        "src/link/../src/x/../../x",
        "src/file",
        "src/dangling",
        "src/..",
        "src/.",
        "src",
        "SRC/x",
        "src /x",
        "ſrc/x",
        "/etc/passwd",
        "outside/../outside/x",
    ] {
        assert!(!is_approved(&rules, &edit(path)), "{path}");
    }
    // A folder that becomes a link later is another folder.
    std::fs::rename(top.join("src"), top.join("old")).unwrap();
    symlink(top.join("outside"), top.join("src")).unwrap();
    assert!(!is_approved(&rules, &edit("src/new")));
}

/// What the generated lines consist of.
const PIECES: &[&str] = &[
    "cargo",
    "test",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "$(id)",
    "`id`",
    "$X",
    ">f",
    "<f",
    "2>&1",
    ">/dev/null",
    "'",
    "\"",
    "\\",
    "A=1",
    "x",
    "-q",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~",
    "(",
    ")",
    "#",
    "!",
    "\r",
    "\u{a0}",
    "é",
    "./",
    "id",
    "cargo test",
    " cargo test ",
    "=",
    "cd /",
    "true",
    "{",
    "}",
    "if",
    "do",
    "\u{7f}",
    "\\\n",
];

/// The commands that bash runs for a line, as it reports them. It finds no program, so only its
/// own commands and redirections have an effect.
fn traced(line: &str, folder: &Path) -> Vec<String> {
    let run = Command::new("/bin/bash")
        .args(["-c", "PS4=@@; set -x; eval \"$1\"", "bash", line])
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stderr).into_owned();
    let lines = output.lines().filter_map(|it| it.strip_prefix("@@"));
    let commands = lines.map(|it| it.trim_start_matches('@').to_owned());
    // The first one is our own `eval`.
    commands.skip(1).collect()
}

/// A traced command in which `'x'` replaces each word with unusual characters. Bash shows them as
/// `$'\303\251'`, a form that no rule accepts in a line.
fn without_unusual(command: &str) -> String {
    let (mut plain, mut rest) = (String::new(), command);
    while let Some(at) = rest.find('\'') {
        let is_unusual = rest[..at].ends_with('$');
        let mut is_escaped = false;
        let end = rest[at + 1..].find(|it| {
            let ends = it == '\'' && !is_escaped;
            is_escaped = is_unusual && it == '\\' && !is_escaped;
            ends
        });
        // A word with a line end is traced in several lines.
        let Some(end) = end.map(|end| at + 2 + end) else {
            break;
        };
        if is_unusual {
            plain.push_str(&rest[..at - 1]);
            plain.push_str("'x'");
        } else {
            plain.push_str(&rest[..end]);
        }
        // An escaped quote between two quoted parts is not the start of one.
        let escaped = rest[end..].strip_prefix("\\'").map_or(0, |_| 2);
        plain.push_str(&rest[end..end + escaped]);
        rest = &rest[end + escaped..];
    }
    plain + rest
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_bash_runs_for_an_approved_line_is_what_the_rule_allows(
        pieces in vec(select(PIECES), 0..7),
    ) {
        let line = format!("cargo test{}", pieces.concat());
        if is_approved(&[command("cargo test", true)], &bash(&line)) {
            let folder = tempfile::tempdir().unwrap();
            for command in traced(&line, folder.path()) {
                let reads =
                    tools::review(&without_unusual(&command), &ShellLists::default()).is_ok();
                let is_allowed = command == "cargo test" || command.starts_with("cargo test ") || reads;
                prop_assert!(is_allowed, "{line:?} runs {command:?}");
            }
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            prop_assert_eq!(left, 0, "{:?} writes a file", line);
        }
    }

    #[test]
    fn a_line_is_approved_only_if_each_of_its_parts_is(
        parts in vec(select(&["cargo test", "cargo test -q", "cargo fmt", "reboot", "rm x"]), 1..5),
        joint in select(&[";", " && ", " || ", " | ", "\n"]),
    ) {
        let line = parts.join(joint);
        let allowed = parts.iter().all(|it| it.starts_with("cargo test"));
        let rules = [command("cargo test", true)];
        prop_assert_eq!(is_approved(&rules, &bash(&line)), allowed, "{:?}", line);
    }
}

#[test]
fn the_trace_of_a_shell_shows_what_else_runs() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        traced("cargo test -q; id", folder.path()),
        ["cargo test -q", "id"]
    );
    let unusual = traced("test é 'a b' x\\'y", folder.path());
    assert_eq!(without_unusual(&unusual[0]), "test 'x' 'a b' 'x'\\''y'");
}

/// A store in a folder of its own, with this text.
fn store(text: &str) -> (tempfile::TempDir, Remembered) {
    let folder = tempfile::tempdir().unwrap();
    let store = Remembered::open(&folder.path().join("config"));
    if !text.is_empty() {
        fs::create_dir(folder.path().join("config")).unwrap();
        fs::write(store.path(), text).unwrap();
        // Whatever the mask of this process.
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(store.path(), mode).unwrap();
    }
    (folder, store)
}

fn all_kinds() -> Vec<AllowRule> {
    let scoped = |calls, scope| AllowRule { calls, scope };
    let words = vec!["say".to_owned(), "a \"b\"\n\\ é\u{7f}".to_owned()];
    vec![
        command("cargo test", true),
        scoped(
            AllowedCalls::Command {
                words,
                with_any: false,
                folder: Some("/p x/docs".into()),
            },
            AllowScope::Project("/p x".into()),
        ),
        scoped(
            AllowedCalls::Below("/p/src".into()),
            AllowScope::Chat("/p/a.chat".into()),
        ),
        always(AllowedCalls::File("/p/README".into())),
        always(AllowedCalls::Tool {
            name: "fetch".to_owned(),
            input: None,
        }),
        always(AllowedCalls::Tool {
            name: "fetch".to_owned(),
            input: Some("{\"a\":1}".to_owned()),
        }),
    ]
}

#[test]
fn rules_are_read_back_as_they_were_added() {
    let (_folder, store) = store("");
    assert_eq!(store.rules(), Ok(Vec::new()));
    for rule in all_kinds() {
        store.add(&[rule]).unwrap();
    }
    // The same rules again change nothing.
    let text = fs::read_to_string(store.path()).unwrap();
    store.add(&all_kinds()).unwrap();
    assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
    assert_eq!(store.rules(), Ok(all_kinds()));
    assert!(text.contains("\n[[allow]]\ncommand = [\"cargo\", \"test\"]\narguments = \"any\"\n"));
}

#[test]
fn what_the_user_wrote_stays_when_a_rule_is_added() {
    let mine = "# mine\n[[allow]] # and this\nedit = '/p/docs/'";
    let (_folder, store) = store(mine);
    store.add(&[command("make", false)]).unwrap();
    let text = fs::read_to_string(store.path()).unwrap();
    assert_eq!(text, format!("{mine}\n\n[[allow]]\ncommand = [\"make\"]\n"));
    assert_eq!(
        store.rules().unwrap(),
        [
            always(AllowedCalls::Below("/p/docs".into())),
            command("make", false)
        ]
    );
}

#[test]
fn a_malformed_file_says_where_and_none_of_its_rules_applies() {
    for (text, why) in [
        ("[[allow]]\ncommand = [\"a\"", "line 2: "),
        ("\n\nallow = 3", "line 3: "),
        ("[[allow]]\ncomand = []", "line 2: unknown field `comand`"),
        ("[[allow]]\ncommand = \"ls\"", "line 2: "),
        ("[other]", "line 1: unknown field `other`"),
        ("[[allow]]", "rule 1 needs one of command, edit, and tool"),
        ("[[allow]]\ncommand = []", "rule 1 has an empty command"),
        (
            "[[allow]]\ncommand = ['a']\narguments = 'all'",
            "rule 1 has arguments other than",
        ),
        (
            "[[allow]]\ncommand = ['env']\narguments = 'any'",
            "rule 1 allows any arguments for",
        ),
        (
            "[[allow]]\ncommand = ['a']\nedit = '/a'",
            "rule 1 needs one of",
        ),
        (
            "[[allow]]\ntool = 'a'\narguments = 'any'",
            "rule 1 needs one of",
        ),
        (
            "[[allow]]\ncommand = ['a']\ninput = '{}'",
            "rule 1 needs one of",
        ),
        (
            "[[allow]]\nedit = '/a'\narguments = 'any'",
            "rule 1 needs one of",
        ),
        (
            "[[allow]]\nedit = '/a'\ninput = '{}'",
            "rule 1 needs one of",
        ),
        ("[[allow]]\ntool = 'bash'", "rule 1 allows all of \"bash\""),
        (
            "[[allow]]\ntool = 'write'",
            "rule 1 allows all of \"write\"",
        ),
        (
            "[[allow]]\nedit = 'src/'",
            "rule 1 has the path \"src\", which is not absolute",
        ),
        ("[[allow]]\nedit = '/p/../etc/'", "rule 1 has the path"),
        ("[[allow]]\nedit = '/'", "rule 1 has the path"),
        (
            "[[allow]]\ntool = 'a'\nproject = '.'",
            "rule 1 has the path",
        ),
        (
            "[[allow]]\ntool = 'a'\nproject = '/a'\nchat = '/b'",
            "rule 1 names both",
        ),
        (
            "[[allow]]\ntool = 'a'\n[[allow]]\ntool = 'bash'",
            "rule 2 allows all",
        ),
    ] {
        let (_folder, store) = store(text);
        let message = store.rules().unwrap_err();
        let expected = format!("allow.toml do not apply: {why}");
        assert!(message.contains(&expected), "{text:?}: {message}");
        assert!(
            message.ends_with("Correct the file; until then you are asked."),
            "{message}"
        );
        // Nothing is added to a file that the user has to correct first.
        assert_eq!(store.add(&[command("make", false)]), Err(message));
        assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
    }
}

#[test]
fn a_file_that_others_may_have_written_does_not_apply() {
    let rule = "[[allow]]\ntool = 'a'\n";
    let (_folder, shared) = store(rule);
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(
        shared
            .rules()
            .unwrap_err()
            .contains("others than you may have written it")
    );
    let (folder, linked) = store(rule);
    let target = folder.path().join("elsewhere.toml");
    fs::rename(linked.path(), &target).unwrap();
    symlink(&target, linked.path()).unwrap();
    assert!(
        linked
            .rules()
            .unwrap_err()
            .contains("it is a link, or not a file")
    );
    let (_folder, large) = store(&"#".repeat(300 * 1024));
    assert!(
        large
            .rules()
            .unwrap_err()
            .contains("it is larger than 256 KB")
    );
}
