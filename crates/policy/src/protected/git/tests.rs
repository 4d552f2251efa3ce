//! Repositories with a configuration of their own.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn what_the_configuration_names_is_found_also_through_includes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, tree) = (root.join("me"), root.join("me/p"));
    fs::create_dir_all(tree.join(".git")).unwrap();
    fs::create_dir_all(tree.join("sub/deep")).unwrap();
    let config = "[core]\n\tbare = false\n\thooksPath = \"tools/hooks\" ; mine\n[include]\n path = ../shared/config\n\
                  [includeIf \"gitdir:~/p/\"]\n\tpath = ~/work.inc\n[diff \"x\"] textconv = ./bin/x --y\n\
                  [alias]\n\tz = !sh scripts/z.sh\n[remote \"o\"]\n\turl = a/b\n[gpg]\n\tprogram = /usr/bin/gpg\n";
    fs::write(tree.join(".git/config"), config).unwrap();
    fs::create_dir_all(tree.join("shared")).unwrap();
    fs::write(
        tree.join("shared/config"),
        "[filter \"f\"]\nclean = filters/c\n",
    )
    .unwrap();
    fs::write(home.join(".gitconfig"), "[core]\n  fsmonitor = .watch/it\n").unwrap();
    let found = named(&tree.join("sub/deep"), Some(&home));
    let expected = [
        "me/p/.watch/it",
        "me/p/bin/x",
        "me/p/filters/c",
        "me/p/scripts/z.sh",
        "me/p/shared/config",
        "me/p/tools/hooks",
        "me/work.inc",
    ];
    let expected: BTreeSet<PathBuf> = expected.iter().map(|it| root.join(it)).collect();
    assert_eq!(found, expected);
    assert_eq!(named(&root, Some(&home)), BTreeSet::new());
}

#[test]
fn a_further_working_tree_goes_by_the_configuration_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = root.join("main/.git");
    fs::create_dir_all(git.join("worktrees/w")).unwrap();
    fs::create_dir_all(root.join("w")).unwrap();
    fs::write(git.join("config"), "[core]\nhooksPath=.husky\n").unwrap();
    fs::write(git.join("worktrees/w/commondir"), "../..\n").unwrap();
    let place = format!("gitdir: {}\n", git.join("worktrees/w").display());
    fs::write(root.join("w/.git"), place).unwrap();
    assert_eq!(named(&root.join("w"), None), [root.join("w/.husky")].into());
}

#[test]
fn files_that_include_one_another_end() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), "[include]\npath = config\n").unwrap();
    assert_eq!(named(&root, None), [root.join(".git/config")].into());
}

/// Returns the paths that a repository with this configuration names. Those in the
/// working tree start from there.
fn named_by(config: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), config).unwrap();
    let found = named(&root, Some(Path::new("/home/me")));
    let inner = found
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap_or(path));
    inner.map(|path| path.display().to_string()).collect()
}

#[test]
fn a_value_names_files_of_the_working_tree_and_folders_of_hooks_anywhere() {
    for (config, expected) in [
        ("[core]\nhooksPath = hooks", &["hooks"][..]),
        ("[core]\nhooksPath = ~/hooks", &["/home/me/hooks"]),
        (
            "[remote \"o\"]\nuploadpack = ./a\nreceivepack = ./b\nurl = ./c",
            &["a", "b"],
        ),
        ("[submodule \"s\"]\npath = x/y\nupdate = !bin/z", &["bin/z"]),
        ("[core]\neditor = a/\\\n  b/c", &["a", "b/c"]),
        ("[core]\neditor = a/\\\nb", &["a/b"]),
        ("[core]\r\neditor = a/\\\r\nb\r\n", &["a/b"]),
        ("[core]\n# comment \\\nhooksPath = hooks", &["hooks"]),
        ("[core]\nbare = no ; comment \\\nhooksPath = h", &["h"]),
        ("[core]\neditor = \"a#/\\\nb\"", &["a#/b"]),
        ("[core]\neditor = a/b\\", &["a/b"]),
        ("[init]\ntemplateDir = template", &["template"]),
        ("[x]\ntemplateDir = template", &["template"]),
        ("[core]\neditor = bin/edit", &["bin/edit"]),
        ("[core]\neditor = vim", &[]),
        ("[core]\neditor = /usr/bin/vim", &[]),
        ("[core]\neditor = ./", &[]),
        ("[merge \"x\"]\npath = /usr/bin/merge", &[]),
        ("[include]\nother = a/b", &["a/b"]),
        ("[remote.origin]\nurl = a/b", &[]),
        ("[branch]\nmerge = refs/heads/main", &[]),
        ("[alias]\nx = \"!sh bin/a#b\"", &["bin/a#b"]),
        ("[alias]\nx = !sh bin/a # bin/b", &["bin/a"]),
        ("[alias]\nx = !sh bin/a ; bin/b", &["bin/a"]),
        ("[alias]\nx = !sh \\\n bin/a", &["bin/a"]),
    ] {
        assert_eq!(named_by(config), expected, "{config}");
    }
}

#[test]
fn a_configuration_of_one_megabyte_is_read_and_a_larger_one_is_not() {
    let config = "[core]\nhooksPath = hooks\n";
    for (size, expected) in [(1_048_576, &["hooks"][..]), (1_048_577, &[])] {
        let comment = "#".repeat(size - config.len());
        assert_eq!(named_by(&format!("{config}{comment}")), expected, "{size}");
    }
}

#[test]
fn ten_files_may_include_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), "[include]\npath = ../1\n").unwrap();
    for at in 1..=11 {
        let text = format!("[include]\npath = {}\n[core]\nhooksPath = h{at}\n", at + 1);
        fs::write(root.join(at.to_string()), text).unwrap();
    }
    let found = named(&root, None);
    assert!(found.contains(&root.join("h10")));
    assert!(
        !found.contains(&root.join("h11")),
        "Git does not read it either"
    );
}
