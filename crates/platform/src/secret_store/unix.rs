use super::SecretStore;

pub(super) const HERE: Option<SecretStore> = Some(SecretStore::SecretService);
