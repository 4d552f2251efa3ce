--- What plugin and host tell each other about tools that are registered in Lua: the
--- part of |flemma.protocol| that stands in `protocol/lua_tools.rs` on the other side.
---@meta

-- Lua to host ----------------------------------------------------------------

---@class flemma.protocol.Tools What is registered in Lua; comes anew whenever that changes.
---@field items flemma.protocol.Tool[]
---@field loading boolean Whether more are being found, which are waited for.

---@class flemma.protocol.Tool
---@field name string
---@field description string
---@field input_schema table
---@field output_schema table?
---@field strict boolean
---@field enabled boolean Whether models are offered it by default.
---@field async boolean? Whether it calls back, if it says so.
---@field timeout number? Seconds.
---@field execute integer? Number of its function.
---@field preview integer?
---@field rejected integer?
---@field tail boolean Whether the end of a long output says more than its start.
---@field requires_approval boolean Whether its calls wait unless a rule approves it by name.

---@class flemma.protocol.ToolReturned What a call came to, or a piece of it.
---@field call integer
---@field ok boolean
---@field text string? At most 48 KB.
---@field value any An output that is no text.
---@field more boolean? Whether another piece follows.

---@class flemma.protocol.ToolCommand A command that a call wants to run.
---@field call integer
---@field command integer
---@field argv string[]

-- Host to Lua ----------------------------------------------------------------

---@class flemma.protocol.ToolCall
---@field buffer integer The chat's.
---@field call integer
---@field function integer
---@field async boolean?
---@field tool string
---@field input table
---@field cwd string
---@field path string The chat's file, or empty.
---@field timeout number Seconds that a call may take by default.
---@field sandbox flemma.protocol.Held? Absent when nothing is held.

---@class flemma.protocol.Held
---@field writable string[] Folders below which files may be written; links are followed.
---@field prefix string[] What stands before the words of a command.
---@field problem string? Why no command may run.

---@class flemma.protocol.CommandEnded How a command of a call ended.
---@field buffer integer
---@field call integer
---@field command integer
---@field code integer? Its exit code; nil when a signal ended it.
---@field stdout string[] Its lines.
---@field stderr string[]
---@field problem string? Why it could not run.

---@class flemma.protocol.ToolStop
---@field call integer
