pub(super) const CONFIG: &str = r"AppData\Local";
pub(super) const DATA: &str = r"AppData\Local";
pub(super) const STATE: &str = r"AppData\Local";
pub(super) const START_FOLDERS: &[(&str, &str)] = &[
    ("documents", "powershell"),
    ("documents", "windowspowershell"),
    ("programs", "startup"),
];
pub(super) const ON_DRIVE: &[&str] = &[
    "program files",
    "program files (x86)",
    "programdata",
    "windows",
];

pub(super) fn neovim_state(app: &str) -> String {
    format!("{app}-data")
}
