#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

fn secrets(revealed: &[&str]) -> Secrets {
    Secrets {
        home: Some("/home/me".into()),
        ours: vec![
            "/home/me/.config/flemma".into(),
            "/state/nvim/flemma".into(),
        ],
        revealed: revealed.iter().map(PathBuf::from).collect(),
    }
}

#[test]
fn keys_credentials_profiles_stores_and_env_files_are_secret() {
    for path in [
        "/home/me/.ssh/id_ed25519",
        "/home/me/.ssh/config",
        "/home/me/.SSH/id_rsa",
        "/home/me/.\u{ff53}sh/key",
        "/mnt/backup/you/.ssh/work",
        "/home/me/x/../.ssh/id_rsa",
        "/home/me/./.gnupg/secring.gpg",
        "/home/me/.aws/credentials",
        "/home/me/.config/gcloud/application_default_credentials.json",
        "/home/me/.config/gh/hosts.yml",
        "/home/me/.kube/config",
        "/home/me/.docker/config.json",
        "/home/me/.cargo/credentials.toml",
        "/home/me/.netrc",
        "/home/me/.npmrc",
        "/home/me/.pgpass",
        "/home/me/.mozilla/firefox/a.default/logins.json",
        "/home/me/.config/google-chrome/Default/Cookies",
        "/Users/me/Library/Application Support/Google/Chrome/Default/Login Data",
        "/Users/me/Library/Keychains/login.keychain-db",
        "/home/me/.local/share/keyrings/login.keyring",
        "/home/me/.password-store/mail.gpg",
        "/home/me/notes/all.kdbx",
        "/srv/tls/server.p12",
        "/srv/deploy/id_rsa",
        "/srv/deploy/id_rsa.bak",
        "/srv/deploy/deploy_ed25519",
        "/p/.env",
        "/p/.env.local",
        "/p/.env.production",
        "/p/config/prod.env",
        "/p/.ENV",
        "/p/.env ",
        "/p/.env.",
        "/home/me/.bash_history",
        "/etc/shadow",
        "/etc/ssh/ssh_host_ed25519_key",
        "/proc/self/environ",
        "/proc/1/mem",
        "/proc/self/task/1/environ",
        "/proc/thread-self/fd/3",
        "/home/me/.config/flemma/config.toml",
        "/home/me/.config/flemma/mcp.json",
        "/state/nvim/flemma/trust.json",
    ] {
        assert!(secrets(&[]).kind(Path::new(path)).is_some(), "{path}");
    }
}

#[test]
fn what_is_public_and_what_only_looks_alike_is_not() {
    for path in [
        "/home/me/.ssh/id_ed25519.pub",
        "/home/me/.ssh/known_hosts",
        "/p/src/main.rs",
        "/p/.env.example",
        "/p/.env.sample",
        "/p/.environment",
        "/p/env",
        "/p/.npmrc",
        "/p/docs/ssh.md",
        "/p/aws/credentials.rs",
        "/p/.config/nvim/init.lua",
        "/p/Cargo.toml",
        "/proc/cpuinfo",
        "/proc/self/status",
        "/etc/passwd",
        "/etc/hosts",
        "/home/me/.config/flemma/tools/add/tool.toml",
        "/state/nvim/flemma/outputs/bash-1.txt",
    ] {
        assert_eq!(secrets(&[]).kind(Path::new(path)), None, "{path}");
    }
}

#[test]
fn a_path_that_was_revealed_is_no_secret_and_its_neighbors_are() {
    let secrets = secrets(&["/home/me/.ssh/config", "/p/.env", "/home/me/.aws"]);
    for path in [
        "/home/me/.ssh/config",
        "/p/.env",
        "/home/me/.aws/credentials",
        "/p/x/../.env",
    ] {
        assert_eq!(secrets.kind(Path::new(path)), None, "{path}");
    }
    for path in ["/home/me/.ssh/config2", "/home/me/.ssh/id_rsa", "/q/.env"] {
        assert!(secrets.kind(Path::new(path)).is_some(), "{path}");
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join(".ssh")).unwrap();
    fs::write(root.join(".ssh/key"), "KEY").unwrap();
    symlink(root.join(".ssh"), root.join("docs")).unwrap();
    symlink("docs/key", root.join("readme")).unwrap();
    let secrets = Secrets::default();
    assert_eq!(secrets.kind(&root.join("docs/key")), Some(SecretKind::Key));
    assert_eq!(secrets.kind(&root.join("readme")), Some(SecretKind::Key));
    let revealed = Secrets {
        revealed: vec![root.join("docs")],
        ..Secrets::default()
    };
    assert_eq!(revealed.kind(&root.join(".ssh/key")), None);
}

#[test]
fn what_exists_of_a_home_and_a_project_is_listed_for_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, project) = (root.join("me"), root.join("p"));
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::create_dir_all(home.join(".aws")).unwrap();
    fs::create_dir_all(&project).unwrap();
    fs::write(home.join(".aws/config"), "").unwrap();
    for file in [
        home.join(".netrc"),
        project.join(".env"),
        project.join("main.rs"),
    ] {
        fs::write(file, "x").unwrap();
    }
    let secrets = Secrets {
        home: Some(home.clone()),
        ours: Vec::new(),
        revealed: vec![home.join(".aws/config")],
    };
    let mut found = secrets.existing(&[&project]);
    found.retain(|(path, _)| path.starts_with(&root));
    // `.aws` holds a file that was revealed, so it is not hidden as a whole.
    let expected = [
        (home.join(".netrc"), false),
        (home.join(".ssh"), true),
        (project.join(".env"), false),
    ];
    assert_eq!(found, expected);
}
