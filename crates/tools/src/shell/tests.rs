//! Commands as a table: what runs without anybody looking, and what does not.

use super::*;

fn lists(allow: &[&str], deny: &[&str]) -> ShellLists {
    let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect();
    ShellLists {
        allow: owned(allow),
        deny: owned(deny),
    }
}

/// Each line is a word for what becomes of a command, and the command. `\n` and `\t`
/// and `\u{…}` in it are those characters.
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
    let lines = TABLE
        .lines()
        .filter(|it| !it.is_empty() && !it.starts_with('#'));
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        let (word, command) = line.split_once(' ').expect("a word and a command");
        let said = review(&unescaped(command), None, &ShellLists::default());
        let became = if said.is_ok() { "runs" } else { "asks" };
        if became != word {
            wrong.push(format!("{line}: {said:?}"));
        }
        count += 1;
    }
    assert_eq!(wrong, [""; 0]);
    assert!(count > 200, "{count}");
}

fn said(command: &str) -> String {
    let said = review(command, None, &ShellLists::default());
    said.expect_err(command).to_string()
}

#[test]
fn a_refusal_names_the_command_and_why() {
    for program in ["rm", "rmdir", "chmod", "chown", "sudo", "su"] {
        let command = format!("ls && {program} x");
        assert_eq!(
            said(&command),
            format!("The command \"{program}\" is not allowed: it is not in the whitelist.")
        );
    }
    assert_eq!(
        said("find . -name x -delete"),
        "The command \"find\" is not allowed with \"-delete\": it could delete or write files."
    );
    assert_eq!(
        said("curl -X POST https://a.example/"),
        "The command \"curl\" is not allowed with \"-X POST\": it could do more than fetch a page."
    );
    assert!(said("make test").contains("tools.bash.allow"));
    assert!(said("ls $(rm x)").contains("it contains an expansion"));
    assert!(said("ls > x").contains("it contains a redirection into a file"));
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
    ] {
        assert_eq!(review(command, None, &allow), Ok(()), "{command}");
    }
    for command in [
        "go build",
        "tree $(x)",
        "tree > x",
        "./tree",
        "X=1 tree",
        "go 'tes'",
    ] {
        assert!(review(command, None, &allow).is_err(), "{command}");
    }
}

#[test]
fn what_the_user_forbids_is_seen_wherever_it_stands() {
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
        assert!(review(command, None, &deny).is_err(), "{command}");
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
        assert!(
            review(&command, None, &ShellLists::default()).is_err(),
            "{piece}"
        );
        drop(forbidden(&command, &["rm".to_owned()]));
    }
    let many = "true && ".repeat(1_000) + "ls";
    assert_eq!(review(&many, None, &ShellLists::default()), Ok(()));
    let long = "ls; ".repeat(10_000);
    assert!(review(&long, None, &ShellLists::default()).is_err());
}

proptest::proptest! {
    #[test]
    fn any_text_is_answered(text in "([a-z ;|&<>(){}$`\"'\\\\\n#=*]|ls|rm|--){0,40}") {
        drop(review(&text, None, &ShellLists::default()));
        drop(forbidden(&text, &["rm".to_owned()]));
    }

    /// Whatever is put behind a harmless command, `rm` never runs by the list.
    #[test]
    fn no_text_lets_another_program_through(
        before in "[a-z ;|&<>(){}$`\"'\\\\\n#]{0,12}", after in "[a-z ;|&\"'\\\\\n]{0,6}",
    ) {
        let text = format!("{before}\nrm {after}\n");
        if let Ok(()) = review(&text, None, &ShellLists::default()) {
            // Then it stands in quotes or in a comment, where it is an argument.
            let inside = before.contains(['"', '\'', '#', '\\']);
            proptest::prop_assert!(inside, "{text:?}");
        }
    }
}
