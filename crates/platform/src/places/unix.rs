pub(super) const CONFIG: &str = ".config";
pub(super) const DATA: &str = ".local/share";
pub(super) const STATE: &str = ".local/state";
pub(super) const START_FOLDERS: &[(&str, &str)] = &[];
pub(super) const ON_DRIVE: &[&str] = &[];

pub(super) fn neovim_state(app: &str) -> String {
    app.to_owned()
}
