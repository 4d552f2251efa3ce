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
        moved: vec![
            ("/cfg".into(), ".config"),
            ("/keys/gpg".into(), ".gnupg"),
            ("/keys/aws.ini".into(), ".aws/credentials"),
        ],
        revealed: revealed.iter().map(PathBuf::from).collect(),
        inodes: Inodes::default(),
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
        "/cfg/gh/hosts.yml",
        "/keys/gpg/secring.gpg",
        "/keys/aws.ini",
        "/home/me/.local/state/nvim/undo/%home%me%.ssh%id_work",
        "/home/me/.local/state/test-nvim/undo/%home%me%.ssh%id_work",
        "/home/me/.vim/swap/%home%me%p%.env.swp",
        "/home/me/.vim/undo/%home%me%p%server.key",
        "/home/me/.vim/backup/%p%config%prod.env~",
        "/home/me/.config/my/shada/main.shada",
        "/p/.id_rsa.swp",
        "/p/.id_rsa.swo",
        "/p/.server.key.un~",
        "/p/.env.un~",
        "/p/..env.swn",
        "/p/server.key",
        "/p/key.pem",
        "/p/config/master.key",
        "/p/tls/server.pem.bak",
        "/p/.npmrc",
        "/p/packages/a/.npmrc",
        "/p/.envrc",
        "/p/.envrc.local",
        "/p/service-account.json",
        "/p/prod-service-account.json",
        "/p/serviceAccountKey.json",
        "/p/terraform.tfstate",
        "/p/infra/terraform.tfstate.backup",
        "/p/prod.tfstate",
        "/srv/www/.htpasswd",
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
        "/p/.envrc.example",
        "/p/env",
        "/p/npmrc",
        "/p/100%.txt",
        "/home/me/.vim/undo/%home%me%p%main.rs",
        "/p/.main.rs.swp",
        "/p/keys.rs",
        "/p/main.tf",
        "/p/account.json",
        "/p/a.svg",
        "/p/docs/ssh.md",
        "/p/aws/credentials.rs",
        "/p/.config/nvim/init.lua",
        "/p/Cargo.toml",
        "/proc/cpuinfo",
        "/proc/self/status",
        "/etc/passwd",
        "/etc/hosts",
        "/home/me/.gnupg/pubring.kbx",
        "/cfg/nvim/init.lua",
        "/keys/gpg/pubring.kbx",
        "/keys/readme.md",
        "/home/me/.local/state/nvim/log",
        "/p/vendor/library/mail/Message.php",
        "/p/library/Cookies/jar.rb",
        "/home/me/.config/flemma/tools/add/tool.toml",
        "/state/nvim/flemma/outputs/bash-1.txt",
        "/state/nvim/flemma/tutor/notes.txt",
    ] {
        assert_eq!(secrets(&[]).kind(Path::new(path)), None, "{path}");
    }
}

#[test]
fn a_private_key_is_secret_by_its_content_and_a_certificate_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let kind = |name: &str, text: &str| {
        fs::write(root.join(name), text).unwrap();
        Secrets::default().kind(&root.join(name))
    };
    let private = "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n";
    let public = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n";
    for name in ["deploy", "cert.pem", "server.key"] {
        assert_eq!(kind(name, private), Some(SecretKind::Key), "{name}");
        assert_eq!(kind(name, public), None, "{name}");
    }
    assert_eq!(kind("server.key", "0123"), Some(SecretKind::Key));
    assert_eq!(kind(".npmrc", public), Some(SecretKind::Credentials));
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
    let key = root.join(".ssh/key");
    for name in ["docs/key", "readme", "docs/../docs/./key"] {
        let found = Secrets::default().find(&root.join(name)).unwrap();
        assert_eq!((found.kind, &found.path), (SecretKind::Key, &key), "{name}");
    }
    // A link can be turned to another secret, so revealing it reveals nothing else.
    let revealed = Secrets {
        revealed: vec![root.join("docs"), root.join("readme")],
        ..Secrets::default()
    };
    assert_eq!(revealed.kind(&root.join("readme")), Some(SecretKind::Key));
    assert_eq!(revealed.kind(&root.join("docs/key")), Some(SecretKind::Key));
    let revealed = Secrets {
        revealed: vec![key],
        ..Secrets::default()
    };
    assert_eq!(revealed.kind(&root.join("readme")), None);
}

#[test]
fn a_secret_name_of_a_plain_file_is_revealed_by_that_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join(".ssh")).unwrap();
    fs::write(root.join("dotfile"), "Host x").unwrap();
    symlink("../dotfile", root.join(".ssh/config")).unwrap();
    let config = root.join(".ssh/config");
    let found = Secrets::default().find(&config).unwrap();
    assert_eq!(found.path, config);
    let revealed = Secrets {
        revealed: vec![config.clone()],
        ..Secrets::default()
    };
    assert_eq!(revealed.find(&config), None);
}

#[test]
fn another_name_of_a_key_in_the_home_folder_is_a_secret_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("me/.ssh")).unwrap();
    fs::create_dir(root.join("p")).unwrap();
    fs::write(root.join("me/.ssh/work"), "KEY").unwrap();
    fs::write(root.join("p/main.rs"), "").unwrap();
    fs::hard_link(root.join("me/.ssh/work"), root.join("p/notes")).unwrap();
    fs::hard_link(root.join("p/main.rs"), root.join("p/copy.rs")).unwrap();
    let secrets = Secrets::in_home(&root.join("me"));
    assert_eq!(secrets.kind(&root.join("p/notes")), Some(SecretKind::Key));
    assert_eq!(secrets.kind(&root.join("p/copy.rs")), None);
}

#[test]
fn a_folder_is_secret_when_all_that_is_below_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".aws")).unwrap();
    fs::create_dir_all(root.join("p/.env")).unwrap();
    let secrets = Secrets::in_home(&root);
    assert!(secrets.find(&root.join(".aws")).is_some());
    // Some call the folder of a Python environment so.
    assert_eq!(secrets.find(&root.join("p/.env")), None);
    assert_eq!(secrets.find(&root), None);
}

/// A home folder and a project with secrets of all sorts.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        for (file, text) in [
            ("me/.ssh/id_ed25519", "KEY"),
            ("me/.ssh/known_hosts", "host"),
            ("me/.aws/config", "x"),
            ("me/.aws/credentials", "x"),
            ("me/.netrc", "x"),
            ("me/.password-store/notes/a.chat", "x"),
            ("me/.password-store/mail.gpg", "x"),
            ("p/.env", "x"),
            ("p/main.rs", "x"),
            ("p/deep/down/.env.local", "x"),
        ] {
            let file = world.path(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// What is hidden, and what is seen of it, as paths of this world.
    fn concealed(&self, revealed: &[&str], work: &str, found: &[&str]) -> Vec<String> {
        let paths = |names: &[&str]| names.iter().map(|it| self.path(it)).collect();
        let secrets = Secrets {
            revealed: paths(revealed),
            ..Secrets::in_home(&self.path("me"))
        };
        let concealed = secrets.concealed(&[self.path(work)], paths(found));
        let inner = |path: &Path| {
            let inner = path.strip_prefix(self.path("")).ok()?;
            Some(inner.to_str().unwrap().to_owned())
        };
        let ours = concealed.iter().filter_map(|it| {
            let slash = if it.is_folder { "/" } else { "" };
            let seen = it.seen.iter().filter_map(|seen| inner(seen));
            let seen: String = seen.map(|seen| format!(" +{seen}")).collect();
            Some(format!("{}{slash}{seen}", inner(&it.path)?))
        });
        let mut ours: Vec<String> = ours.collect();
        ours.sort();
        ours
    }
}

#[test]
fn what_exists_of_a_home_and_a_project_is_hidden_but_for_what_was_revealed() {
    let world = World::new();
    assert_eq!(
        world.concealed(&["me/.aws/config"], "p", &["p/deep/down/.env.local"]),
        [
            "me/.aws/ +me/.aws/config",
            "me/.netrc",
            "me/.password-store/",
            "me/.ssh/ +me/.ssh/known_hosts",
            "p/.env",
            "p/deep/down/.env.local",
        ]
    );
    let revealed = ["me/.aws", "me/.ssh/id_ed25519", "p/.env"];
    assert_eq!(
        world.concealed(&revealed, "p", &[]),
        [
            "me/.netrc",
            "me/.password-store/",
            "me/.ssh/ +me/.ssh/id_ed25519 +me/.ssh/known_hosts",
        ]
    );
}

#[test]
fn what_a_variable_moved_elsewhere_is_hidden_there() {
    let world = World::new();
    fs::create_dir_all(world.path("cfg/gh")).unwrap();
    fs::write(world.path("cfg/gh/hosts.yml"), "x").unwrap();
    fs::create_dir_all(world.path("gpg/private-keys-v1.d")).unwrap();
    let secrets = Secrets {
        moved: vec![
            (world.path("cfg"), ".config"),
            (world.path("gpg"), ".gnupg"),
            (world.path("me/kube.yml"), ".kube/config"),
        ],
        ..Secrets::in_home(&world.path("me"))
    };
    fs::write(world.path("me/kube.yml"), "x").unwrap();
    let hidden = secrets.concealed(&[world.path("p")], Vec::new());
    let hides = |path: &str| hidden.iter().any(|it| it.path == world.path(path));
    assert!(hides("cfg/gh") && hides("gpg") && hides("me/kube.yml"));
    assert!(!hides("cfg") && !hides("p"));
    // A search finds them as well.
    let kind = |path: &str, is_folder| secrets.below(&world.path(path), is_folder);
    assert!(kind("cfg/gh", true).is_some() && kind("gpg", true).is_some());
    assert!(kind("me/kube.yml", false).is_some());
}

#[test]
fn a_file_is_not_hidden_while_git_holds_its_text() {
    let world = World::new();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.arg("-C").arg(world.path("p")).args(arguments);
        let ran = git.env("HOME", world.path("me")).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    let hides = |file: &str| {
        let found = ["p/deep/down/.env.local"];
        world.concealed(&[], "p", &found).contains(&file.to_owned())
    };
    let write = |file: &str, text: &str| fs::write(world.path(file), text).unwrap();
    write("p/.env", "TOKEN=1");
    write("p/deep/down/.env.local", "TOKEN=2");
    git(&["init", "-q"]);
    git(&["add", "deep/down/.env.local"]);
    assert!(hides("p/.env") && !hides("p/deep/down/.env.local"));
    write("p/deep/down/.env.local", "TOKEN=3");
    assert!(hides("p/deep/down/.env.local"));
    // Its name is no proof: a command can add that to the index without reading the file.
    let any = "0123456789012345678901234567890123456789";
    git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{any},.env"),
    ]);
    assert!(hides("p/.env"));
}

#[test]
fn of_a_secret_folder_in_which_the_user_works_the_files_beside_the_work_are_hidden() {
    let world = World::new();
    let hidden = world.concealed(&[], "me/.password-store/notes", &[]);
    assert!(hidden.contains(&"me/.password-store/mail.gpg".to_owned()));
    assert!(!hidden.contains(&"me/.password-store/".to_owned()));
    assert!(!hidden.contains(&"me/.password-store/notes/".to_owned()));
}

#[test]
fn the_names_that_a_search_meets_are_judged_as_whole_paths_are() {
    let world = World::new();
    let secrets = Secrets::in_home(&world.path("me"));
    for (path, is_folder) in [
        ("me/.ssh", true),
        ("me/.aws", true),
        ("me/.netrc", false),
        ("p/.env", false),
        ("p/deep/down/.env.local", false),
        ("p/main.rs", false),
        ("p/deep", true),
    ] {
        let path = world.path(path);
        let whole = secrets.find(&path).map(|it| it.kind);
        assert_eq!(secrets.below(&path, is_folder), whole, "{path:?}");
    }
}
