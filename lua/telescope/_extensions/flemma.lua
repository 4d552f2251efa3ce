--- `:Telescope flemma`: picks a chat of this project; `:Telescope flemma all=true`, of all.
local function chats(options)
  require("flemma.pickers").telescope(options)
end

return require("telescope").register_extension({ exports = { flemma = chats, chats = chats } })
