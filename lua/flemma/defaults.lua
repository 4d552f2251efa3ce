--- The defaults of the options that Lua itself reads. Written by the tests of the
--- host from its definitions; see CONTRIBUTING.md.

-- The defaults:
return {
  ui = {
    usage = 8,
    bell = false,
  },
  keymaps = {
    enabled = true,
    normal = {
      send = "<C-]>",
      tool_execute = "<M-CR>",
      approve_all = "<M-a>",
      reject = "<M-r>",
      cancel = "<C-c>",
    },
    insert = {
      send = "<C-]>",
    },
  },
  highlights = {},
  host = {},
  tools = {
    default_timeout = 30,
  },
}
-- End.
