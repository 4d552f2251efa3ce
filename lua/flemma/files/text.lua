--- Converts between the text of a file and a buffer's lines and options.
---@class flemma.files.text
local M = {}

local api = vim.api

local BOM = "\239\187\191"
local NEWLINES = { unix = "\n", dos = "\r\n", mac = "\r" }

---@class flemma.files.Form How lines are stored in a file.
---@field format "unix"|"dos"|"mac" As 'fileformat'.
---@field endofline boolean Whether the last line ends in a line end.
---@field bomb boolean Whether the file starts with a byte order mark.
---@field encoding string As 'fileencoding', never empty.

--- Returns the form of a buffer.
---@param buffer integer
---@return flemma.files.Form
function M.form_of(buffer)
  local options = vim.bo[buffer]
  local encoding = options.fileencoding
  return {
    format = options.binary and "unix" or options.fileformat --[[@as "unix"|"dos"|"mac"]],
    endofline = options.endofline,
    bomb = options.bomb and not options.binary and (encoding == "" or encoding:find("^u") ~= nil),
    encoding = encoding == "" and "utf-8" or encoding,
  }
end

--- Sets the form of a buffer.
---@param buffer integer
---@param form flemma.files.Form
function M.set_form(buffer, form)
  local options = vim.bo[buffer]
  for option, value in pairs({
    fileformat = not options.binary and form.format or nil,
    endofline = form.endofline,
    bomb = form.bomb,
    fileencoding = form.encoding,
  }) do
    if options[option] ~= value and not (option == "fileencoding" and options[option] == "" and value == "utf-8") then
      options[option] = value
    end
  end
end

--- Returns the text that `:write` would store, in UTF-8 and with a byte order mark.
---@param buffer integer
---@return string
function M.of(buffer)
  local form = M.form_of(buffer)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, false)
  local mark = form.bomb and BOM or ""
  -- A buffer without text and one with an empty line have the same lines.
  if #lines == 1 and lines[1] == "" and M.is_empty(buffer) then
    return mark
  end
  if form.format == "mac" then
    -- Neovim holds the line feeds of such a file as carriage returns.
    for index, line in ipairs(lines) do
      lines[index] = line:gsub("\r", "\n")
    end
  end
  local newline = NEWLINES[form.format]
  return mark .. table.concat(lines, newline) .. (form.endofline and newline or "")
end

--- Returns true for a buffer that holds nothing, not even an empty line.
---@param buffer integer
---@return boolean
function M.is_empty(buffer)
  return api.nvim_buf_call(buffer, vim.fn.wordcount).bytes == 0
end

--- Returns the format that keeps every line end of a text, if possible the buffer's own.
local function format_of(text, format)
  local _, feeds = text:gsub("\n", "")
  if feeds == 0 then
    return format
  end
  local _, pairs_ = text:gsub("\r\n", "")
  return pairs_ == feeds and "dos" or "unix"
end

--- Splits a text into the lines of a buffer.
---@param text string In UTF-8.
---@param form flemma.files.Form The current form of the buffer.
---@return string[] lines None if there is no text.
---@return flemma.files.Form form The form in which the lines are that text.
function M.parse(text, form)
  local bomb = text:sub(1, 3) == BOM
  if bomb then
    text = text:sub(4)
  end
  local format = format_of(text, form.format)
  local parsed = { format = format, endofline = true, bomb = bomb, encoding = form.encoding }
  if text == "" then
    return {}, parsed
  end
  local lines = vim.split(text, NEWLINES[format], { plain = true })
  parsed.endofline = lines[#lines] == ""
  if parsed.endofline then
    lines[#lines] = nil
  end
  return lines, parsed
end

--- Encodes a text.
---@param text string In UTF-8.
---@param encoding string As 'fileencoding'.
---@return string? bytes Nil if the encoding lacks a character.
function M.encode(text, encoding)
  if encoding == "utf-8" or not text:find("[\128-\255]") and encoding:find("^[li]") then
    return text
  end
  -- In these, Neovim writes the high byte first, and iconv() may not.
  local swapped = encoding == "utf-16" or encoding == "ucs-2"
  local name = swapped and "utf-16le" or encoding
  local bytes = vim.iconv(text, "utf-8", name)
  -- A missing character becomes another one, without an error.
  if bytes and vim.iconv(bytes, name, "utf-8") == text then
    return swapped and bytes:gsub("(.)(.)", "%2%1") or bytes
  end
end

--- Returns the first character that an encoding lacks.
---@param text string In UTF-8.
---@param encoding string
---@return string? character
function M.foreign(text, encoding)
  for character in text:gmatch("[\194-\244][\128-\191]+") do
    if not M.encode(character, encoding) then
      return character
    end
  end
end

return M
