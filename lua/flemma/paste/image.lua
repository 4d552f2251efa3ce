--- Images: their types, and the programs that read them from the clipboard.
---@class flemma.paste.image
local M = {}

---@class flemma.paste.Program
---@field name string
---@field types string[]? The command that lists the types of the clipboard.
---@field read fun(kind: string): string[] The command that prints the image.
---@field decode? fun(output: string): string?

M.MISSING = "No program that reads images from the clipboard was found. Install wl-clipboard or xclip, on macOS "
  .. "pngpaste, or drop the image's file on the terminal."

--- Types that models take, the preferred one first.
local KINDS = { "image/png", "image/jpeg", "image/webp", "image/gif" }

--- The first bytes of each type.
local HEADS = {
  { "^\137PNG\r\n\26\n", "png" },
  { "^\255\216\255", "jpg" },
  { "^GIF8[79]a", "gif" },
  { "^RIFF....WEBP", "webp" },
}

--- Returns the extension that fits an image, by its first bytes.
---@param bytes string
---@return string?
function M.extension(bytes)
  for _, head in ipairs(HEADS) do
    if bytes:find(head[1]) then
      return head[2]
    end
  end
end

--- Returns the preferred type of those that a clipboard program lists.
---@param listed string
---@return string?
function M.kind(listed)
  local lines = vim.split(listed, "%s+", { trimempty = true })
  return vim.iter(KINDS):find(function(kind)
    return vim.list_contains(lines, kind)
  end)
end

--- PowerShell prints Base64, because its pipes are text.
local POWERSHELL = [[
Add-Type -AssemblyName System.Windows.Forms, System.Drawing
$image = [Windows.Forms.Clipboard]::GetImage()
if ($image) {
  $memory = New-Object IO.MemoryStream
  $image.Save($memory, [Drawing.Imaging.ImageFormat]::Png)
  [Convert]::ToBase64String($memory.ToArray())
}]]

local function from_base64(output)
  local ok, bytes = pcall(vim.base64.decode, (output:gsub("%s", "")))
  return ok and bytes or nil
end

---@type { needs: string, program: flemma.paste.Program }[]
local PROGRAMS = {
  {
    needs = "WAYLAND_DISPLAY",
    program = {
      name = "wl-paste",
      types = { "wl-paste", "--list-types" },
      read = function(kind)
        return { "wl-paste", "--no-newline", "--type", kind }
      end,
    },
  },
  {
    needs = "DISPLAY",
    program = {
      name = "xclip",
      types = { "xclip", "-selection", "clipboard", "-target", "TARGETS", "-out" },
      read = function(kind)
        return { "xclip", "-selection", "clipboard", "-target", kind, "-out" }
      end,
    },
  },
  {
    needs = "",
    program = {
      name = "pngpaste",
      read = function()
        return { "pngpaste", "-" }
      end,
    },
  },
  {
    needs = "",
    program = {
      name = "powershell.exe",
      read = function()
        return { "powershell.exe", "-NoProfile", "-STA", "-Command", POWERSHELL }
      end,
      decode = from_base64,
    },
  },
}

--- Returns the program that reads this machine's clipboard.
---@return flemma.paste.Program?
function M.program()
  local found = vim.iter(PROGRAMS):find(function(it)
    local has_display = it.needs == "" or (vim.env[it.needs] or "") ~= ""
    return has_display and vim.fn.executable(it.program.name) == 1
  end)
  return found and found.program
end

return M
