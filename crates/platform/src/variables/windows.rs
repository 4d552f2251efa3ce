#[cfg(test)]
pub(super) const HAS_CASE: bool = false;

/// Folders and properties of the system, without which many programs don't start.
pub const NEEDED: [&str; 23] = [
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMPUTERNAME",
    "COMSPEC",
    "CommonProgram*",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "MSYSTEM",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_*",
    "PSModulePath",
    "PUBLIC",
    "ProgramData",
    "ProgramFiles*",
    "ProgramW6432",
    "SystemDrive",
    "SystemRoot",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}
