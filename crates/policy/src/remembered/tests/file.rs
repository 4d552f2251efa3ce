//! The file with the rules: what is written, what is read, and what a malformed one does.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::remembered::Remembered;

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
