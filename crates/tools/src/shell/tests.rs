//! Tests of shell commands, most of them from a table of commands that run or ask.

#![allow(clippy::unwrap_used)]

mod world;

use self::world::World;
use super::view;
use super::*;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use crate::secrets::Secrets;

fn lists(allow: &[&str], deny: &[&str]) -> ShellLists {
    let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect();
    ShellLists {
        allow: owned(allow),
        deny: owned(deny),
    }
}

/// Each line is a word and a command: `runs` if it is approved, `held` if it is approved only where the
/// read-only view holds it, and `asks` if it is not approved. `⟨a⟩` in it is the character U+000A.
const TABLE: &str = include_str!("table.txt");

/// A secret of another project that no list of places knows.
const ELSEWHERE: &str = "other/deep/.env";

/// The words and commands of the table.
fn table() -> Vec<(&'static str, String)> {
    let lines = TABLE
        .lines()
        .filter(|it| !it.is_empty() && !it.starts_with('#'));
    let split = lines.map(|it| it.split_once(' ').expect("a word and a command"));
    split.map(|(word, it)| (word, unescaped(it))).collect()
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('⟨') {
        let end = at + rest[at..].find('⟩').expect("a closing bracket");
        let number = u32::from_str_radix(&rest[at + '⟨'.len_utf8()..end], 16).expect("a number");
        out.push_str(&rest[..at]);
        out.push(char::from_u32(number).expect("a character"));
        rest = &rest[end + '⟩'.len_utf8()..];
    }
    out + rest
}

#[test]
fn the_table_holds() {
    let world = World::new();
    let lists = ShellLists::default();
    let free = Machine {
        sandbox: false,
        ..world.machine()
    };
    let mut wrong = Vec::new();
    for (word, command) in table() {
        let viewed = world.inspect(&command);
        let found = match (&viewed, inspect(&command, &lists, &free)) {
            (Ok(_), Ok(_)) => "runs",
            (Ok(_), Err(_)) => "held",
            (Err(_), _) => "asks",
        };
        if found != word {
            wrong.push(format!("{found} {command}: {viewed:?}"));
        }
        // The text alone refuses nothing that the machine does not.
        assert!(
            viewed.is_err() || review(&command, &lists).is_ok(),
            "{command}"
        );
        // Beside a command that a rule allows, no view holds the others.
        let reading = reading_parts(&command, &lists, Some(&free));
        let all_read = !reading.is_empty() && reading.iter().all(|it| *it);
        assert_eq!(all_read, found == "runs", "{command}");
    }
    assert_eq!(wrong, [""; 0]);
    assert!(table().len() > 800);
}

#[test]
fn without_a_view_plain_reading_is_approved() {
    let world = World::new();
    let lists = ShellLists::default();
    let machine = Machine {
        sandbox: false,
        ..world.machine()
    };
    for command in [
        "ls -la | head -3",
        "cat README.md && tail -n +2 a",
        "grep -n 'fn main' src/main.rs | sort -rn | uniq -c | wc -l",
        "[ -f README.md ] || echo no; pwd",
        "cd src && cat main.rs",
        "cut -d: -f1 a | tr a-z A-Z | jq .",
    ] {
        let found = inspect(command, &lists, &machine);
        assert!(found.is_ok(), "{command}: {found:?}");
        assert!(reading_parts(command, &lists, None).iter().all(|it| *it));
    }
}

#[test]
fn in_the_view_no_approved_line_changes_anything_or_shows_a_secret() {
    let world = World::new();
    let lines = table().into_iter().filter(|(word, _)| *word != "asks");
    let lines: Vec<String> = lines.map(|it| it.1).collect();
    let Some(prefix) = view::prefix(&world.home(), &world.project(), Some(&[])) else {
        return;
    };
    let before = view::files(&world.home());
    let script: String = lines
        .iter()
        .map(|it| view::guarded(it, &world.project()))
        .collect();
    let output = view::run(&prefix, &script, &world.machine());
    assert!(output.contains("fn main"), "they run: {output}");
    assert!(!output.contains(world::SECRET), "{output}");
    assert_eq!(view::files(&world.home()), before);
}

#[test]
fn the_view_shows_what_is_named_and_no_secret_of_other_projects() {
    let world = World::new();
    world.write(ELSEWHERE, world::SECRET);
    world.write("other/notes", "plain notes\n");
    let shown = |command: &str| {
        let needs = world.inspect(command).expect(command);
        let prefix = view::prefix(&world.home(), &world.project(), needs.named.as_deref())?;
        Some(view::run(
            &prefix,
            &view::guarded(command, &world.project()),
            &world.machine(),
        ))
    };
    let other = world.home().join("other");
    let words = other.display();
    for (command, expected) in [
        ("cat ../other/notes".to_owned(), "plain notes"),
        ("grep -rh '' ../other".to_owned(), "plain notes"),
        ("grep -rh '' conf".to_owned(), "denied"),
        (
            "cd ../other && ls deep && cat notes".to_owned(),
            "plain notes",
        ),
        (
            format!(
                "awk 'BEGIN {{ while ((getline l < (\"{words}\" \"/deep/.env\")) > 0) print l; print 7 }}'"
            ),
            "7",
        ),
        (
            format!("find . -maxdepth 0 -exec sh -c 'cat {words}/*/.e*; ls {words}' \\;"),
            "No such file",
        ),
        (
            "env sh -c 'ls ..; cat ../*/*/.env ../.s*/*'".to_owned(),
            "Permission denied",
        ),
    ] {
        let Some(output) = shown(&command) else {
            return;
        };
        assert!(
            output.contains(expected) || expected == "denied",
            "{command}: {output}"
        );
        assert!(
            !output.contains(world::SECRET.trim_end()),
            "{command}: {output}"
        );
    }
    for command in [
        "find ~",
        "ls ~ | awk 1",
        "grep -r KEY ..",
        "cat ../other/deep/.env",
        "ls > ../x",
    ] {
        assert!(world.inspect(command).is_err(), "{command}");
    }
    assert!(world.inspect("find / && echo ~").is_ok());
}

#[test]
fn what_a_repository_tracks_shows_no_secret() {
    let world = World::new();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words);
        git.current_dir(world.project()).env("HOME", "/nowhere");
        assert!(git.output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "src"]);
    git(&["commit", "-qm", "x"]);
    for command in ["git status -s", "git log -p | head", "git diff src"] {
        assert!(world.inspect(command).is_ok(), "{command}");
    }
    git(&["add", "conf"]);
    git(&["commit", "-qm", "y"]);
    world.refuses("ls && git log -p", &world.machine(), "conf/.env");
    world.refuses("git status", &world.machine(), "sandbox.reveal");
    let Some(prefix) = view::prefix(&world.home(), &world.project(), Some(&[])) else {
        return;
    };
    let script =
        "cat conf/.env; grep -r KEY .; git show HEAD:conf/.env; git log -p; env git diff HEAD~1";
    let output = view::run(
        &prefix,
        &view::guarded(script, &world.project()),
        &world.machine(),
    );
    assert!(!output.contains(world::SECRET.trim_end()), "{output}");
    let machine = Machine {
        secrets: Arc::new(
            Secrets::clone(&world.machine().secrets)
                .revealing(&[&world.project().join("conf/.env")]),
        ),
        ..world.machine()
    };
    assert!(inspect("git log -p", &ShellLists::default(), &machine).is_ok());
}

#[test]
fn a_program_outside_the_systems_folders_is_asked_about() {
    let world = World::new();
    let tools = world.home().join("tools");
    let run = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        let file = tools.join(name);
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    run("ls");
    let with = |path: String| {
        let mut machine = world.machine();
        machine.variables.push(("PATH".into(), path.into()));
        machine
    };
    let first = with(format!("{}:/usr/bin:/bin", tools.display()));
    // The view holds any program. Without one, system folders come first in `PATH`.
    let lists = ShellLists::default();
    let free = |machine: &Machine| Machine {
        sandbox: false,
        ..machine.clone()
    };
    for machine in [&first, &free(&first)] {
        assert!(inspect("ls", &lists, machine).is_ok());
    }
    let only = with(tools.display().to_string());
    assert!(inspect("ls", &lists, &only).is_ok());
    run("jq");
    if !std::path::Path::new("/usr/bin/jq").exists() {
        world.refuses("jq .", &free(&first), "not in a system folder");
    }
    // Beside a command that runs as a rule allows, the user's own `PATH` counts.
    assert_eq!(reading_parts("make | ls", &lists, Some(&first)), [false; 2]);
    let project = with(format!(".:{}:src:/usr/bin:/bin", world.project().display()));
    let given = project.variables.clone().into_iter();
    let environment = environment(given, &[world.project()], true);
    let path = path_of(&environment).unwrap().to_str().unwrap();
    assert!(
        path.split(':').all(|it| it.starts_with("/usr")
            || it.starts_with("/sbin")
            || it.starts_with("/bin")
            || it.starts_with("/opt")),
        "{path}"
    );
    let listed = self::lists(&["ls"], &[]);
    assert!(inspect("ls", &listed, &project).is_ok_and(|it| it.more));
}

fn path_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.map(|(_, value)| value.as_os_str())
}

#[test]
fn the_environment_names_no_program_and_no_options() {
    let given = [
        "BASH_ENV",
        "ENV",
        "BASH_FUNC_ls%%",
        "LD_PRELOAD",
        "GIT_EXTERNAL_DIFF",
        "GIT_CONFIG_GLOBAL",
        "GIT_DIR",
        "LESSOPEN",
        "RIPGREP_CONFIG_PATH",
        "GREP_OPTIONS",
        "SHELLOPTS",
        "CDPATH",
        "IFS",
        "PS4",
        "MAKEFLAGS",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PERL5OPT",
        "RUBYOPT",
        "GOFLAGS",
        "CURL_HOME",
        "WGETRC",
        "TAR_OPTIONS",
        "AWKPATH",
        "POSIXLY_CORRECT",
        "GLOBIGNORE",
        "GITHUB_TOKEN",
        "PROMPT_COMMAND",
        "KUBECONFIG",
        "DOCKER_HOST",
        "npm_config_x",
    ];
    let given = given
        .into_iter()
        .chain(["HOME", "LANG"])
        .map(|it| (it.into(), "./evil".into()))
        .chain([
            ("LC_ALL".into(), "ja_JP.SJIS".into()),
            ("LC_CTYPE".into(), "C.UTF-8".into()),
        ]);
    let environment = environment(given, &[], true);
    let evil: Vec<_> = environment
        .iter()
        .filter(|it| it.1 == "./evil")
        .map(|it| it.0.to_str().unwrap())
        .collect();
    assert_eq!(evil, ["HOME"]);
    let locales = environment
        .iter()
        .filter(|it| it.0.to_str().unwrap().starts_with("LC_"));
    assert_eq!(locales.count(), 1);
}

#[test]
fn the_network_needs_a_sandbox_and_no_configuration() {
    let world = World::new();
    let free = Machine {
        sandbox: false,
        ..world.machine()
    };
    let curl = "curl https://example.com/";
    assert!(world.inspect(curl).is_ok_and(|it| it.network));
    assert!(world.inspect("ls").is_ok_and(|it| !it.network));
    world.refuses(curl, &free, "there is no sandbox");
    world.refuses("ls | head; dig example.com", &free, "there is no sandbox");
    world.write(".curlrc", "output = x\n");
    world.refuses(curl, &world.machine(), ".curlrc");
}

#[test]
fn a_folder_that_the_call_names_is_where_paths_start() {
    let world = World::new();
    for (folder, sandbox) in [
        (world.home().join(".ssh"), true),
        ("/proc/self".into(), false),
        (world.project().join("into"), true),
    ] {
        let machine = Machine {
            cwd: folder,
            sandbox,
            ..world.machine()
        };
        world.refuses("cat id_ed25519", &machine, "secrets");
        world.refuses("ls", &machine, "secrets");
    }
}

#[test]
fn a_secret_that_was_revealed_may_be_read_and_the_refusal_of_another_names_the_grant() {
    let world = World::new();
    world.write("project/.env", "KEY");
    let env = world.project().join(".env");
    let refusal = world.inspect("cat .env").expect_err("a secret").to_string();
    let grant = format!("sandbox.reveal = {{ \"{}\" }}", env.display());
    assert!(refusal.contains(&grant), "{refusal}");
    let machine = Machine {
        secrets: Arc::new(Secrets::clone(&world.machine().secrets).revealing(&[&env])),
        ..world.machine()
    };
    let inspect = |command: &str| inspect(command, &ShellLists::default(), &machine);
    for command in ["cat .env", "head -1 ./.env"] {
        assert!(inspect(command).is_ok(), "{command}");
    }
    world.refuses("cat ~/.ssh/id_ed25519", &machine, "secrets");
    // No option reveals a process's private files.
    let refusal = inspect("cat /proc/1/environ").expect_err("a process");
    assert!(!refusal.to_string().contains("sandbox.reveal"), "{refusal}");
}

fn refusal(command: &str) -> String {
    let refused = review(command, &ShellLists::default());
    refused.expect_err(command).to_string()
}

#[test]
fn a_refusal_names_the_command_and_why() {
    for program in ["rm", "rmdir", "chmod", "chown", "sudo", "su"] {
        let command = format!("ls && {program} x");
        assert_eq!(
            refusal(&command),
            format!("The command \"{program}\" is not allowed: it is not in the whitelist.")
        );
    }
    assert_eq!(
        refusal("curl -X POST https://a.example/"),
        "The command \"curl\" is not allowed with \"-X POST\": it could do more than fetch a page."
    );
    let allow = lists(&["tree"], &[]);
    assert_eq!(
        review("tree | sed 1d", &allow).unwrap_err().to_string(),
        "The command \"sed\" is not allowed: it could do more than read outside of the read-only view, \
         and another command of the line runs without it (tools.bash.allow)."
    );
    assert!(refusal("curl https://a.example/ | awk 1").contains("uses the network"));
    assert!(refusal("curl https://a.example/ | grep -r x").contains("contain secrets"));
    assert!(refusal("ls $(rm x)").contains("it contains an expansion"));
    assert!(refusal("ls > x").contains("it contains a redirection into a file"));
}

#[test]
fn the_user_adds_programs_and_forms_of_them() {
    let allow = lists(&["tree", "go test"], &[]);
    for command in [
        "tree",
        "tree -L 2 src",
        "go test ./...",
        "ls | tree",
        "tree *",
    ] {
        assert_eq!(review(command, &allow).map(drop), Ok(()), "{command}");
    }
    for command in [
        "go build",
        "tree $(x)",
        "tree > x",
        "./tree",
        "X=1 tree",
        "go 'tes'",
    ] {
        assert!(review(command, &allow).is_err(), "{command}");
    }
}

#[test]
fn a_forbidden_command_is_found_anywhere_in_the_text() {
    let deny = lists(&["curl"], &["curl", "rm", "git push"]);
    for command in [
        "curl https://a.example/",
        "/usr/bin/curl x",
        "\\curl x",
        "'cu'rl x",
        "ls; rm x",
        "ls $(rm x)",
        "busybox rm x",
        "env -i A=b rm x",
        "sudo -u me /bin/rm x",
        "find . -exec rm {} +",
        "xargs rm < x",
        "if true; then rm x; fi",
        "f() { rm x; }",
        "git push origin",
        "X=1 rm x",
        "cat <(curl x)",
        "timeout 5 nice rm x",
    ] {
        let denied = forbidden(command, &deny.deny);
        assert!(
            matches!(denied, Some(Unsafe::Denied(_))),
            "{command}: {denied:?}"
        );
        assert!(review(command, &deny).is_err(), "{command}");
    }
    for command in ["ls rm", "echo curl", "git status", "grep -r rm src"] {
        assert_eq!(forbidden(command, &deny.deny), None, "{command}");
    }
    let long = format!("{}rm x", "true; ".repeat(50_000));
    assert!(forbidden(&long, &deny.deny).is_some());
}

#[test]
fn hostile_lengths_and_depths_end_soon_and_never_run() {
    for piece in [
        "(", "$(", "{ ", "`", "\"$(", "<(", "((", "[[ ", "${a:-", "!", "if ", "<<a\n",
    ] {
        let command = piece.repeat(5_000);
        assert!(review(&command, &ShellLists::default()).is_err(), "{piece}");
        drop(forbidden(&command, &["rm".to_owned()]));
    }
    let many = "true && ".repeat(1_000) + "ls";
    assert_eq!(review(&many, &ShellLists::default()).map(drop), Ok(()));
    let long = "ls; ".repeat(10_000);
    assert!(review(&long, &ShellLists::default()).is_err());
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "([a-z ;|&<>(){}$`\"'\\\\\n#=*]|ls|rm|--){0,40}") {
        drop(review(&text, &ShellLists::default()));
        drop(forbidden(&text, &["rm".to_owned()]));
    }

    /// No text around `rm` makes it an approved command.
    #[test]
    fn no_text_lets_another_program_through(
        before in "[a-z ;|&<>(){}$`\"'\\\\\n#]{0,12}", after in "[a-z ;|&\"'\\\\\n]{0,6}",
    ) {
        let text = format!("{before}\nrm {after}\n");
        if review(&text, &ShellLists::default()).is_ok() {
            // It is in quotes or in a comment, so it is an argument.
            let inside = before.contains(['"', '\'', '#', '\\']);
            proptest::prop_assert!(inside, "{text:?}");
        }
    }
}
