--- Keeps chats UTF-8, whatever 'fileencodings', 'fileencoding', and EditorConfig say: other encodings
--- lack characters of an answer, and Neovim would replace those by a question mark.
---@class flemma.buffer.encoding
local M = {}

local api = vim.api

--- How a chat is read: the last one takes what is not UTF-8 byte by byte.
local READ = "ucs-bom,utf-8,latin1"

--- Prepares a chat that Neovim is about to read or has made.
---@param event vim.api.keyset.create_autocmd.callback_args
function M.begin(event)
  -- EditorConfig would also remove blanks at the ends of an answer's lines, which were sent.
  if vim.b[event.buf].editorconfig == nil then
    vim.b[event.buf].editorconfig = false
  end
  if event.event ~= "BufReadPre" then
    return
  end
  local before, done = vim.o.fileencodings, false
  vim.o.fileencodings = READ
  local function finish()
    if not done and vim.o.fileencodings == READ then
      vim.o.fileencodings = before
    end
    done = true
  end
  api.nvim_create_autocmd("BufReadPost", {
    pattern = ("<buffer=%d>"):format(event.buf),
    once = true,
    callback = function()
      finish()
      M.note(event.buf)
    end,
  })
  -- A file that cannot be read has no such event.
  vim.schedule(finish)
end

--- Encodings of chats whose files are not UTF-8, by buffer.
---@type table<integer, string>
local kept = require("flemma.state").by_buffer()

local function text(buffer)
  return table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

--- Returns whether the file of a buffer was read in another encoding, and not only set to one later.
local function is_other(buffer)
  local file = io.open(api.nvim_buf_get_name(buffer), "rb")
  local bytes = file and file:read("*a") or ""
  if file then
    file:close()
  end
  return bytes ~= "" and bytes:gsub("\r?\n", "\n"):gsub("\n$", "") ~= text(buffer)
end

--- Returns whether the text of a buffer has only characters of an encoding.
local function fits(buffer, encoding)
  local all = text(buffer)
  local encoded = vim.iconv(all, "utf-8", encoding)
  return encoded ~= nil and vim.iconv(encoded, encoding, "utf-8") == all
end

--- Notes the encoding of a chat that was read.
---@param buffer integer
function M.note(buffer)
  local encoding = vim.bo[buffer].fileencoding
  kept[buffer] = encoding ~= "utf-8" and encoding ~= "" and is_other(buffer) and encoding or nil
  M.set(buffer)
end

--- Sets the encoding in which a chat is written: UTF-8, or that of its file as long as the file keeps
--- every byte in it.
---@param buffer integer
function M.set(buffer)
  local wanted = kept[buffer] and fits(buffer, kept[buffer]) and kept[buffer] or "utf-8"
  if vim.bo[buffer].fileencoding ~= wanted and vim.bo[buffer].modifiable then
    local modified = vim.bo[buffer].modified
    vim.bo[buffer].fileencoding = wanted
    -- Setting the option counts as a change; that nothing else changed is known.
    vim.bo[buffer].modified = modified
  end
end

return M
