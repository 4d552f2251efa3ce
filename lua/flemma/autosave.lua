--- Saves chats after each answer and each result, which cost money and time. Other programs' changes
--- are never overwritten, and the user's autocommands for writing do not run.
---@class flemma.autosave
local M = {}

local api = vim.api
local disk = require("flemma.files.disk")
local notices = require("flemma.notices")
local queue = require("flemma.queue")
local state = require("flemma.state")

---@type table<integer, boolean> Chats that `:Flemma new` and `:Flemma ask` made, wherever they are.
local made = state.by_buffer()
---@type table<integer, string> The last message about each chat.
local said = state.by_buffer()

--- Notes that a chat is new, so that its file is ours to write.
---@param buffer integer
function M.note(buffer)
  made[buffer] = true
end

--- Returns true if a chat is in the state folder, where only `:Flemma new` and `:Flemma tutor` make
--- them.
local function is_ours(path)
  local root = vim.fs.normalize(vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "flemma"))
  local folder = vim.fs.dirname(vim.fs.normalize(path))
  return folder == root .. "/tutor" or vim.fs.dirname(folder) == root .. "/by-project"
end

local function refuse(buffer, why)
  if said[buffer] ~= why then
    said[buffer] = why
    local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buffer), ":~:.")
    notices.notify({ buffer = buffer, level = "warn", message = ("%s was not saved: %s"):format(name, why) })
  end
end

local function write(buffer)
  if not disk.is_as_known(buffer) then
    return refuse(buffer, "its file changed on disk. :e! loads it, :w! keeps this text.")
  end
  require("flemma.buffer.encoding").set(buffer)
  -- Waiting for the disk would hold up keys. The swap file has the text too.
  local fsync = vim.go.fsync
  vim.go.fsync = false
  local ok, why = pcall(api.nvim_buf_call, buffer, function()
    vim.cmd("silent noautocmd keepalt write")
  end)
  vim.go.fsync = fsync
  if not ok then
    -- Without the position in Neovim's own Lua.
    return refuse(buffer, tostring(why):match("E%d+: .*") or tostring(why))
  end
  said[buffer] = nil
  disk.agree(buffer)
  require("flemma.buffer").saved(buffer)
end

--- Saves a chat for the host, if the user wants that.
---@param message flemma.protocol.Save
function M.save(message)
  local buffer, wanted = message.buffer, require("flemma.config").get().chats.autosave
  if not wanted or wanted == "new" and not made[buffer] and not is_ours(api.nvim_buf_get_name(buffer)) then
    return
  end
  queue.push(buffer, function()
    local options = api.nvim_buf_is_loaded(buffer) and vim.bo[buffer]
    if options and options.modified and options.buftype == "" and not options.readonly then
      local ok, why = pcall(write, buffer)
      if not ok and tostring(why):find("E565", 1, true) then
        return queue.HOLD
      end
    end
  end)
end

return M
