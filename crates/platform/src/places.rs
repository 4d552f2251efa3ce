//! Where programs keep configuration, state, and keys.

/// The folder of programs' configuration, in the home folder.
pub const CONFIG: &str = of_system(".config", r"AppData\Local");
/// The folder of programs' data, in the home folder.
pub const DATA: &str = of_system(".local/share", r"AppData\Local");
/// The folder of programs' state, in the home folder.
pub const STATE: &str = of_system(".local/state", r"AppData\Local");

/// The name of Neovim's folder in that of the state, from the value of `$NVIM_APPNAME` or `nvim`.
pub fn neovim_state(app: &str) -> String {
    app.to_owned() + of_system("", "-data")
}

/// Folders whose files run or are read when a session or a shell starts: the names of the folder
/// and of the one above it, in lower case. Empty where other lists have all of them.
pub const START_FOLDERS: &[(&str, &str)] = if cfg!(windows) {
    &[
        ("documents", "powershell"),
        ("documents", "windowspowershell"),
        ("programs", "startup"),
    ]
} else {
    &[]
};

/// Folders of the system below a drive, in lower case. Empty on systems without drives.
pub const ON_DRIVE: &[&str] = if cfg!(windows) {
    &[
        "program files",
        "program files (x86)",
        "programdata",
        "windows",
    ]
} else {
    &[]
};

/// The system's store of keys and passwords, from which a program prints keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretStore {
    /// The Secret Service of a Linux desktop, by `secret-tool`.
    SecretService,
    /// The keychain of macOS, by `security`.
    Keychain,
}

impl SecretStore {
    /// The store of this system. None on Windows, where no program prints what its store holds.
    pub const HERE: Option<Self> = if cfg!(target_os = "macos") {
        Some(Self::Keychain)
    } else if cfg!(unix) {
        Some(Self::SecretService)
    } else {
        None
    };
}

const fn of_system(unix: &'static str, windows: &'static str) -> &'static str {
    if cfg!(windows) { windows } else { unix }
}
