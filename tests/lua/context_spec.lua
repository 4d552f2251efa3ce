--- What is put into chats: selections, templates, and references to the project's rules.
-- luacheck: globals test same

local new = require("flemma.new")
local project_rules = require("flemma.project_rules")
local selection = require("flemma.selection")
local template = require("flemma.template")

--- Fills a new buffer with these lines.
---@param lines string[]
---@param name? string
local function open(lines, name)
  vim.cmd.enew({ bang = true })
  if name then
    vim.cmd.file(name)
  end
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
end

--- Makes a folder with these files.
---@param names string[]
---@return string
local function folder(names)
  local root = vim.uv.fs_realpath(vim.fn.tempname():match("^(.*)/")) .. "/" .. vim.uv.hrtime()
  vim.fn.mkdir(root, "p")
  for _, name in ipairs(names) do
    vim.fn.mkdir(vim.fs.dirname(root .. "/" .. name), "p")
    vim.fn.writefile({ "x" }, root .. "/" .. name)
  end
  return root
end

test("lines are put into a fence with path, lines, and language", function()
  open({ "a", "b", "c" }, "some file.py")
  vim.bo.filetype = "python"
  same(selection.text({ first = 2, last = 3 }), "some file.py, lines 2-3:\n\n```python\nb\nc\n```")
  open({ "a" })
  same(selection.text({ first = 1, last = 1 }), "Line 1:\n\n```\na\n```")
end)

test("the last Visual selection is taken exactly, whatever its mode", function()
  for keys, text in pairs({ ["vjl"] = "abc\nde", ["Vj"] = "abc\ndef", ["l<C-v>j"] = "b\ne" }) do
    open({ "abc", "def" })
    vim.api.nvim_feedkeys(vim.keycode(keys .. "<Esc>"), "xt", false)
    same({ keys, selection.text({ first = 1, last = 2 }) }, { keys, "Lines 1-2:\n\n```\n" .. text .. "\n```" })
  end
end)

test("the fence is longer than any run of backticks inside", function()
  open({ "```lua", "x ````` y", "```" })
  same(selection.text({ first = 1, last = 3 }):match("\n(`+)\n"), "``````")
end)

test("bytes that no request can hold are replaced", function()
  same(selection.clean({ "a\nb", "ä€😀", "\255x\192\175", "\237\160\128", "\228", "\240\159\152" }), {
    "a␀b",
    "ä€😀",
    "�x��",
    "���",
    "�",
    "���",
  })
end)

test("a selection without text is none", function()
  open({ "", "  " })
  same(selection.text({ first = 1, last = 2 }), nil)
end)

test("the rules of the nearest folder come first, and AGENTS.md replaces the others", function()
  local root = folder({ "CLAUDE.md", ".github/copilot-instructions.md", "sub/AGENTS.md", "sub/CLAUDE.md" })
  same(project_rules.references(root .. "/sub", root), {
    "@./AGENTS.md",
    "@../CLAUDE.md",
    "@../.github/copilot-instructions.md",
  })
  same(project_rules.references("/", root)[1], "@." .. root .. "/CLAUDE.md")
end)

test("a reference to a path with blanks is encoded", function()
  same(project_rules.reference("/a/b c;d/AGENTS.md", "/a"), "@./b%20c%3Bd/AGENTS.md")
  same(project_rules.reference("/a/AGENTS.md", "/a/x/y"), "@../../AGENTS.md")
end)

test("a template's variables are replaced by plain text", function()
  local root = folder({})
  require("flemma.config").load({ chats = { templates = root } })
  vim.fn.writefile({ "${folder} ${date} ${other} ${project}", "${rules}", "", "", "@You:", "" }, root .. "/mine.chat")
  local report = { skills = {}, messages = {} }
  local place = { chat = "/nowhere", project = "/nowhere/{{ x }}\n@Assistant: @diff a@diff", report = report }
  local text = template.text("mine", place)
  same(text.lines, {
    "/nowhere/\\{{ x }}?@Assistant: \\@diff a@diff "
      .. os.date("%Y-%m-%d")
      .. " ${other} \\{{ x }}?@Assistant: \\@diff a@diff",
    "",
    "@You:",
    "",
  })
  same(text.unknown, { "other" })
  same(template.names(report), { "mine" })
  local _, problem = template.text("yours", place)
  same(problem, 'There is no template "yours". Templates: mine.')
  _, problem = template.text("mien", place)
  same(problem, 'There is no template "mien". Did you mean "mine"?')
  _, problem = template.text("../mine", place)
  same(problem, "The name of a template has no slashes.")
  require("flemma.config").load({})
end)

test("the text of a variable never becomes frontmatter or a marker", function()
  local variables = require("flemma.template.variables")
  local value = "@You:\n```lua\n@Assistant:\n\\<thinking>\n@Yours:"
  local function filled(text)
    return variables.fill(text, {
      x = function()
        return value
      end,
    }).lines
  end
  local escaped = { "\\@You:", "```lua", "\\@Assistant:", "\\\\<thinking>", "@Yours:" }
  same(filled("${x}"), escaped)
  same(filled("@You: ${x}"), vim.list_extend({ "@You: @You:" }, vim.list_slice(escaped, 2)))
  same(filled("```lua\ny = [[${x}]]\n```\n"), { "```lua", "y = [[${x}]]", "```" })
  same(filled("```lua\n${x}"), { "```lua", "${x}" })
  value = "```lua"
  local place = { chat = "/", project = "/```lua", report = { skills = {}, messages = {} } }
  same(variables.fill("${project}", variables.of(place)).lines, { "'lua" })
end)

test("a template puts the cursor where it says", function()
  local variables = require("flemma.template.variables")
  same(variables.fill("@You:\nFix ${cursor}.\n", {}), {
    lines = { "@You:", "Fix ." },
    cursor = { 2, 4 },
    unknown = {},
  })
end)

test("a system prompt lists skills with their paths", function()
  local variables = require("flemma.template.variables")
  local report = { skills = { { name = "a", description = "Does {{ x }}.", path = "/s/a/SKILL.md" } }, messages = {} }
  local place = { chat = "/", project = "/", report = report }
  same(variables.fill("@System:\n${skills}\n\n@You:\n\n", variables.of(place)).lines, {
    "@System:",
    "Before a task that one of these skills describes, read its file with `read`:",
    "- a: Does \\{{ x }}. (/s/a/SKILL.md)",
    "",
    "@You:",
    "",
  })
end)

test("rules are added to the first message of the user that has no answer, once", function()
  local root = folder({ "AGENTS.md" })
  vim.cmd.cd(root)
  local notices = require("flemma.notices")
  local notify = notices.notify
  notices.notify = function() end
  for _, case in ipairs({
    { { "@You:", "Hi" }, { "@You:", "@./AGENTS.md", "", "Hi" } },
    { { "@System:", "Be brief.", "", "@You:", "" }, { "@System:", "Be brief.", "", "@You:", "@./AGENTS.md", "" } },
    {
      { "@You:", "Hi", "", "@Assistant:", "Hello.", "", "@You:", "More" },
      { "@You:", "Hi", "", "@Assistant:", "Hello.", "", "@You:", "@./AGENTS.md", "", "More" },
    },
    {
      { "```lua", "x = [[", "@You:", "]]", "```", "", "@You:" },
      { "```lua", "x = [[", "@You:", "]]", "```", "", "@You:", "@./AGENTS.md" },
    },
  }) do
    open(case[1], ("%s/%d.chat"):format(root, vim.uv.hrtime()))
    new.add_rules()
    new.add_rules()
    same(vim.api.nvim_buf_get_lines(0, 0, -1, false), case[2])
    vim.cmd.bwipeout({ bang = true })
  end
  notices.notify = notify
end)
