--- Makes web pages of the help files, with the pictures of `scripts/screenshot.py`.
--- Run as `nvim -l scripts/web-help.lua DOC_FOLDER TARGET_FOLDER`. Fails if a picture or the tag of
--- one is missing.

local doc, target = _G.arg[1], _G.arg[2]

--- The pictures, by the tag of the section that they illustrate.
local PICTURES = {
  ["flemma-approval"] = { "screenshot", "A pending shell command, with its preview and its keys" },
  ["flemma-diff"] = { "diff", "A pending edit, with its diff and its keys" },
  ["flemma-review"] = { "review", "The review of an edit: its diff as a buffer" },
  ["flemma-folds"] = { "run", "A finished agent run: each call is one line" },
  ["flemma-looks"] = { "answer", "An answer with Markdown and code in their colors" },
}

local STYLE = [[
body { max-width: 84ch; margin: 2em auto; padding: 0 1em; font-size: 15px; }
:root { color-scheme: light dark; }
pre { font-family: ui-monospace, monospace; line-height: 1.35; white-space: pre-wrap; }
img { max-width: 100%; }
.tag { color: #888; text-decoration: none; }
.code { color: #47a; }
@media (prefers-color-scheme: dark) { .code { color: #9bd; } }
]]

local problems = {} ---@type string[]

---@param text string
---@return string
local function escape(text)
  return (text:gsub('[&<>"]', { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

--- Returns the page of a help file.
---@param path string
---@return string
local function page_of(path)
  return vim.fs.basename(path):gsub("%.txt$", ".html")
end

local files = vim.fn.glob(doc .. "/*.txt", true, true)
local pages = {} ---@type table<string, string> The page of each tag.
for _, path in ipairs(files) do
  for _, line in ipairs(vim.fn.readfile(path)) do
    for tag in line:gmatch("%*([^%s*|]+)%*") do
      pages[tag] = page_of(path)
    end
  end
end

--- Returns the address of a tag. Those of Neovim are in its manual.
---@param tag string
---@return string
local function address(tag)
  local encoded = vim.uri_encode(tag)
  return pages[tag] and ("%s#%s"):format(pages[tag], encoded)
    or ("https://neovim.io/doc/user/helptag.html?tag=%s"):format(encoded)
end

--- Returns a line of text, with its tags, links, and code.
---@param line string
---@return string
local function prose(line)
  local heading = line:match("^(.*) ~$")
  local text = escape(heading or line)
  text = text:gsub("%*([^%s*|]+)%*", '<a class="tag" id="%1" href="#%1">%1</a>')
  text = text:gsub("|([^%s*|]+)|", function(tag)
    local plain = tag:gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&quot;", '"'):gsub("&amp;", "&")
    return ('<a href="%s">%s</a>'):format(escape(address(plain)), tag)
  end)
  text = text:gsub("`([^`]+)`", "<code>%1</code>")
  return heading and ("<b>%s</b>"):format(text) or text
end

--- Returns the picture that belongs to the tags of a line, outside the text around it.
---@param line string
---@return string?
local function picture(line)
  for tag in line:gmatch("%*([^%s*|]+)%*") do
    local found = PICTURES[tag]
    if found then
      PICTURES[tag] = nil
      local name = found[1] .. ".svg"
      if not vim.uv.fs_copyfile(vim.fs.joinpath(doc, name), vim.fs.joinpath(target, name)) then
        problems[#problems + 1] = ("There is no picture %s/%s. Run scripts/screenshot.py."):format(doc, name)
      end
      return ('</pre>\n<p><img src="%s" alt="%s"></p>\n<pre>'):format(name, escape(found[2]))
    end
  end
end

--- Returns the lines of a page's text.
---@param lines string[]
---@return string[]
local function body(lines)
  local made, is_code = {}, false
  for at, line in ipairs(lines) do
    -- Code ends with a `<`, or with the first line that is not indented.
    if is_code and line:find("^%S") then
      is_code = false
      line = line:gsub("^<", "")
    end
    if is_code then
      made[#made + 1] = ('<span class="code">%s</span>'):format(escape(line))
    elseif line:find("^===") then
      made[#made + 1] = "</pre>\n<hr>\n<pre>"
    elseif not (at == #lines and line:find("^%s*vim:")) then
      local text = line:match("^(.*)%s>%l*$") or line:match("^()>%l*$") and ""
      is_code = text ~= nil
      made[#made + 1] = prose(text or line)
    end
    made[#made + 1] = not is_code and picture(line) or nil
  end
  return made
end

vim.fn.mkdir(target, "p")
for _, path in ipairs(files) do
  local lines = vim.fn.readfile(path)
  local title = lines[1]:match("%*(%S+)%*")
  local head = ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>%s</title>\n'):format(title)
  local text = ("%s<style>\n%s</style>\n</head>\n<body>\n<pre>\n"):format(head, STYLE)
  local file = assert(io.open(vim.fs.joinpath(target, (page_of(path))), "w"))
  file:write(text, table.concat(body(lines), "\n"), "\n</pre>\n</body>\n</html>\n")
  file:close()
end

for tag in pairs(PICTURES) do
  problems[#problems + 1] = ("There is no tag *%s* for a picture."):format(tag)
end
for _, problem in ipairs(problems) do
  io.stderr:write(problem .. "\n")
end
os.exit(#problems == 0 and 0 or 1)
