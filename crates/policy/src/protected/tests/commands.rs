//! What commands cannot write, and the places of this process.

use super::*;

#[test]
fn what_commands_cannot_write_and_cannot_make() {
    let world = World::new();
    let (home, tree) = (world.home(), world.home().join("p"));
    fs::create_dir_all(tree.join(".git")).unwrap();
    fs::write(tree.join(".git/config"), "[core]\nhooksPath = ci\n").unwrap();
    let made = world.places.never_made();
    let written = world.places.never_written(&[&tree]);
    for name in [
        ".bashrc",
        ".ssh",
        ".gnupg",
        ".vim",
        ".config/fish",
        ".config/git",
    ] {
        let path = home.join(name);
        assert!(made.contains(&path) && written.contains(&path), "{name}");
    }
    for name in [
        ".local/state/nvim/flemma",
        ".local/share/nvim",
        "bin/flemma-leash",
        "p/.git/hooks",
        "p/.git/config",
        "p/.envrc",
        "p/.vscode",
        "p/.cargo/config.toml",
        "p/ci",
    ] {
        let path = home.join(name);
        assert!(written.contains(&path) && !made.contains(&path), "{name}");
    }
    assert!(!written.contains(&tree.join(".git")), "Git works there");
    assert_eq!(world.places.named_by_git(&[&tree]), [tree.join("ci")]);
}

#[test]
fn the_scripts_of_tools_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().canonicalize().unwrap();
    let script = tools.join("weather/run.sh");
    let files = [(script.clone(), script)];
    let review = |folders| needs_review(&files, folders);
    let reason = review(vec![tools.clone()]).unwrap().to_string();
    let what = "in a folder whose scripts run as tools";
    assert!(reason.contains(what), "{reason}");
    assert_eq!(review(Vec::new()), None);
}

#[test]
fn the_programs_of_this_process_are_protected() {
    let own = std::env::current_exe().unwrap();
    let leash = tools::leash_beside(&own);
    let host: Vec<PathBuf> = Places::of_this_user()
        .host
        .into_iter()
        .map(|it| it.path)
        .collect();
    assert_eq!(host, [own, leash]);
}

#[test]
fn the_names_that_are_protected_everywhere_leave_out_gits_own_folder() {
    let names: Vec<&str> = everywhere().collect();
    assert!(names.contains(&".envrc") && names.contains(&".vscode"));
    assert!(!names.contains(&".git"));
}

#[test]
fn the_places_of_this_process_are_known() {
    let own_state = tools::state_dir::path().join("trust.json");
    assert!(is_protected(&own_state, Path::new("/")));
    let named = |path: PathBuf| (path.clone(), path);
    let other = named(PathBuf::from("/p/src/main.rs"));
    let policy = named(own_state.with_file_name("policy.lua"));
    assert!(needs_review(&[other.clone(), policy], Vec::new()).is_some());
    assert_eq!(needs_review(&[other], Vec::new()), None);
    assert_eq!(needs_review(&[], Vec::new()), None);
    assert!(!is_protected(Path::new("src/main.rs"), Path::new("/p")));
}
