--- The release that this commit belongs to: its version, where its archives are, and their
--- SHA-256 digests by platform. A release sets them; other commits have no digests, so
--- |:Flemma-install| builds the host program there.
return {
  version = "0.1.0",
  ---@type string? URL of the folder with the archives.
  url = nil,
  ---@type table<string, string> Digest of an archive by the target triple of its platform.
  sha256 = {},
}
