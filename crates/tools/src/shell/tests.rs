//! Tests of shell commands, most of them from a table of commands that run or ask.

#![allow(clippy::unwrap_used)]

#[path = "tests/tracked.rs"]
mod tracked;
#[path = "tests/world.rs"]
mod world;

use self::world::World;
use super::path::Folders;
use super::*;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use crate::secrets::Secrets;

fn lists(allow: &[&str], deny: &[&str]) -> ShellLists {
    let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect();
    ShellLists {
        allow: owned(allow),
        deny: owned(deny),
    }
}

/// Each line is `runs` or `asks`, and a command. `⟨a⟩` in it is the character U+000A.
const TABLE: &str = include_str!("table.txt");

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
    let lines = TABLE
        .lines()
        .filter(|it| !it.is_empty() && !it.starts_with('#'));
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        let (word, command) = line.split_once(' ').expect("a word and a command");
        let found = world.inspect(&unescaped(command));
        let decision = if found.is_ok() { "runs" } else { "asks" };
        if decision != word {
            wrong.push(format!("{line}: {found:?}"));
        }
        count += 1;
    }
    assert_eq!(wrong, [""; 0]);
    assert!(count > 600, "{count}");
}

#[test]
fn the_text_alone_refuses_nothing_that_the_machine_does_not() {
    let world = World::new();
    for line in TABLE.lines().filter(|it| it.starts_with("runs ")) {
        let command = unescaped(&line[5..]);
        assert!(
            review(&command, &ShellLists::default()).is_ok(),
            "{command}"
        );
        assert!(world.inspect(&command).is_ok(), "{command}");
    }
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
    run("rg");
    run("ls");
    run("make");
    let with = |path: String| {
        let mut machine = world.machine();
        machine.variables.push(("PATH".into(), path.into()));
        machine
    };
    let first = with(format!("{}:/usr/bin:/bin", tools.display()));
    // An approved command gets a `PATH` in which system folders come first.
    assert!(inspect("ls", &ShellLists::default(), &first).is_ok());
    if !Path::new("/usr/bin/rg").exists() {
        world.refuses("rg x", &first, "not in a system folder");
    }
    world.refuses("make --version", &first, "not in a system folder");
    world.refuses("ls; which ls", &first, "not in a system folder");
    // By itself, `which` finds the program that the user would run.
    let which = inspect(
        "which ls && command -v make",
        &ShellLists::default(),
        &first,
    )
    .unwrap();
    let given = first.variables.clone().into_iter();
    let path = Folders::of(path_of(&environment(
        given,
        &[world.project()],
        which.order(),
    )));
    assert_eq!(path.find("ls"), Some(tools.join("ls")));
    let project = with(format!(".:{}:src:/usr/bin:/bin", world.project().display()));
    let given = project.variables.clone().into_iter();
    let environment = environment(given, &[world.project()], Order::SystemFirst);
    let path = path_of(&environment).unwrap().to_str().unwrap();
    assert!(
        path.split(':').all(|it| it.starts_with("/usr")
            || it.starts_with("/sbin")
            || it.starts_with("/bin")
            || it.starts_with("/opt")),
        "{path}"
    );
    let listed = lists(&["ls"], &[]);
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
    let environment = environment(given, &[], Order::SystemFirst);
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
    for folder in [
        world.home().join(".ssh"),
        "/proc/self".into(),
        world.project().join("into"),
    ] {
        let machine = Machine {
            cwd: folder,
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
        refusal("find . -name x -delete"),
        "The command \"find\" is not allowed with \"-delete\": it could delete or write files."
    );
    assert_eq!(
        refusal("curl -X POST https://a.example/"),
        "The command \"curl\" is not allowed with \"-X POST\": it could do more than fetch a page."
    );
    assert!(refusal("make test").contains("tools.bash.allow"));
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
        "go version",
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
