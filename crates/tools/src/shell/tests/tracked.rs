//! Git commands in a repository that tracks a secret, and what they show of it.

use std::process::Command;

use super::world::World;
use crate::shell::Unsafe;
use crate::shell::git::SHOWS;
use crate::shell::options::{Operands, Options, Value};
use crate::shell::rule::Rule;
use crate::shell::table::PROGRAMS;

/// Options of each repository, independent of the machine's configuration.
const OPTIONS: [&str; 4] = ["-c", "user.name=a", "-c", "user.email=a@b"];

/// Runs Git in the project and returns its output.
fn git(world: &World, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(OPTIONS)
        .args(arguments)
        .current_dir(world.project());
    git.env("HOME", world.home())
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = git.output().unwrap();
    assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A project whose repository tracks `conf/.env` and `src/main.rs`. Both have changed since.
fn repository() -> World {
    let world = World::new();
    git(&world, &["init", "-q"]);
    git(&world, &["add", "src", "conf"]);
    git(&world, &["commit", "-qm", "x"]);
    world.write("project/conf/.env", "KEY=changed\n");
    world.write("project/src/main.rs", "KEY\n");
    world
}

#[track_caller]
fn asks(world: &World, command: &str) {
    let found = world.inspect(command);
    let refused = matches!(&found, Err(Unsafe::Secret { .. }));
    assert!(refused, "{command}: {found:?}");
}

#[track_caller]
fn runs(world: &World, command: &str) {
    let found = world.inspect(command);
    assert!(found.is_ok(), "{command}: {found:?}");
}

#[test]
fn the_regex_of_an_option_does_not_hide_the_path_behind_it() {
    let world = World::new();
    for command in [
        "git grep -e KEY conf/.env",
        "git grep -eKEY conf/.env",
        "git grep -e KEY -- conf/.env",
        "git grep -e KEY HEAD -- conf/.env",
        "git grep KEY conf/.env",
        "grep -e KEY conf/.env",
        "grep --regexp=KEY conf/.env",
        "grep --regexp KEY conf/.env",
        "rg -e KEY conf/.env",
        "rg --files conf/.env",
        "sed -e 1d conf/.env",
        "sed --expression=1d conf/.env",
        "awk -v a=b 1 conf/.env",
    ] {
        asks(&world, command);
    }
}

/// All ways to write an option with the value 1.
fn spellings(name: &str, value: Value) -> Vec<String> {
    let joined = match name.starts_with("--") {
        true => format!("{name}=1"),
        false => format!("{name}1"),
    };
    match value {
        Value::No => vec![name.to_owned()],
        Value::Maybe => vec![name.to_owned(), joined],
        Value::Yes => vec![format!("{name} 1"), joined],
    }
}

/// Beginnings of command lines: each program that reads files, with each option.
fn beginnings() -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |program: &str, options: Options, behind: &str| {
        let spelled = options.all().into_iter();
        let spelled = spelled.flat_map(|(name, value)| spellings(&name, value));
        found.extend(spelled.map(|it| format!("{program} {it}{behind}")));
        found.push(format!("{program}{behind}"));
    };
    for (program, rule) in PROGRAMS {
        match rule {
            Rule::Plain(options, Operands::Paths(_)) | Rule::First(options, _) => {
                add(program, *options, "")
            }
            // The first operand is a regular expression if no option gives one.
            Rule::Search(options, _) => add(program, *options, " x"),
            Rule::Plain(..) | Rule::Version(_) | Rule::By(_) => {}
        }
    }
    for (command, options) in SHOWS {
        let behind = if *command == "grep" { " x" } else { "" };
        add(&format!("git {command}"), Options::of(options), behind);
    }
    found
}

#[test]
fn no_option_keeps_the_path_behind_it_from_being_checked() {
    let world = World::new();
    let (mut run, mut all) = (0, 0);
    for beginning in beginnings() {
        for path in ["conf/.env", "-- conf/.env"] {
            let command = format!("{beginning} {path}");
            assert!(world.inspect(&command).is_err(), "{command}");
        }
        run += usize::from(world.inspect(&format!("{beginning} README.md")).is_ok());
        all += 1;
    }
    // Most of them show other files.
    assert!(all > 1500 && run > all * 9 / 10, "{run} of {all}");
}

#[test]
fn a_tracked_secret_is_not_shown_by_a_command_that_does_not_name_it() {
    let world = repository();
    let object = git(&world, &["rev-parse", "HEAD:conf/.env"]);
    let object = object.trim();
    for command in [
        "git diff",
        "git diff HEAD",
        "git diff --cached",
        "git diff --stat -p",
        "git diff conf",
        "git diff -- conf",
        "git diff -- ':(glob)**/*'",
        "git diff -- '*.rs' ':!src'",
        "git diff HEAD~1 -- .",
        "git diff HEAD~1:conf HEAD:conf",
        "git diff HEAD~1:conf HEAD:conf -- .",
        "git diff-index -p HEAD",
        "git grep KEY",
        "git grep -e KEY",
        "git grep -e KEY conf",
        "git grep -e KEY HEAD",
        "git grep -- KEY HEAD",
        "git grep -c KEY HEAD:conf",
        "cd conf && git grep KEY",
        // The `cd` may fail, and the command would run in the project then.
        "cd src; git grep KEY",
        "cd src && git grep KEY ..",
        "git show",
        "git show HEAD",
        "git show :/x",
        "git show HEAD:src/main.rs HEAD",
        "git log -p",
        "git log -c -3",
        "git log -S KEY",
        "git log -L1,2:conf/.env",
        "git log -L 1,2:conf/.env --stat",
        "git reflog -p",
        "git stash list -p",
        "git stash show",
        "git status -v",
        "git show :0:conf/.env",
        "git cat-file -p HEAD:conf/.env",
        &format!("git cat-file -p {object}"),
        &format!("git cat-file blob {object}"),
        &format!("git show -s {}", &object[..7]),
        &format!("git diff {object}..{object}"),
        &format!("git show '{object}^{{blob}}' -- src"),
    ] {
        asks(&world, command);
    }
}

#[test]
fn beside_a_tracked_secret_other_files_and_lists_are_shown() {
    let world = repository();
    for command in [
        "git status -sb",
        "git diff --stat",
        "git diff --name-only HEAD",
        "git diff src",
        "git diff -- src/main.rs",
        "git diff HEAD~1 -- src",
        "git diff HEAD:src/main.rs src/main.rs",
        "git log -3 --oneline",
        "git log -p -- src",
        "git log -p HEAD -- src",
        "git log -L1,2:src/main.rs",
        "git show --stat HEAD",
        "git show -s",
        "git show HEAD -- src",
        "git show HEAD:src/main.rs",
        "git grep KEY src",
        "git grep -e KEY HEAD -- src",
        "git blame src/main.rs",
        "git cat-file -p HEAD",
        "git ls-files -s",
    ] {
        runs(&world, command);
    }
}

#[test]
fn the_working_tree_may_be_compared_while_its_secret_is_as_in_the_index() {
    let world = repository();
    git(&world, &["add", "conf"]);
    runs(&world, "git diff");
    runs(&world, "git diff -- conf");
    // The index differs from the last commit.
    asks(&world, "git diff --cached");
    asks(&world, "git diff HEAD");
    std::fs::remove_file(world.project().join("conf/.env")).unwrap();
    // The lines that were removed would be shown.
    asks(&world, "git diff");
}

#[test]
fn the_secrets_of_a_submodule_count_too() {
    let world = World::new();
    git(&world, &["init", "-q"]);
    git(&world, &["-C", "conf", "init", "-q"]);
    git(&world, &["-C", "conf", "add", "."]);
    git(&world, &["-C", "conf", "commit", "-qm", "x"]);
    git(&world, &["add", "conf", "src"]);
    asks(&world, "git grep KEY");
    runs(&world, "git grep KEY src");
}

#[test]
fn folders_outside_of_the_repository_are_searched_as_for_diff() {
    let world = World::new();
    asks(&world, "git diff conf src");
    git(&world, &["init", "-q"]);
    git(&world, &["add", "src"]);
    asks(&world, "git diff src ..");
    runs(&world, "git diff src conf");
}
