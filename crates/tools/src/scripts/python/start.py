# Runs one script as a tool. The wire to the host is a socket that nothing else has: what
# the script prints, and what it starts, cannot be taken for a message.
import importlib.machinery as machinery
import _thread
import os
import sys
import types

lock = _thread.allocate_lock()
escapes = {code: "\\u%04x" % code for code in (*range(32), 34, 92)}


def say(message):
    rest = (message + "\n").encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(wire, rest):]


def json():
    """Python's own module. It is not loaded before it is needed: that would take longer
    than everything else here."""
    import json as module

    return module


def load_what_is_hidden():
    """Loads at once what is else loaded when it is needed, where a file of the tool's has
    the name of a module of Python's own and would be taken for it."""
    names = getattr(sys, "stdlib_module_names", ())
    try:
        folders = [os.listdir(folder) for folder in start["path"] if os.path.isdir(folder)]
        theirs = {file.partition(".")[0] for files in folders for file in files}
        is_plain = names and theirs.isdisjoint(names)
    except OSError:
        is_plain = False
    if not is_plain:
        import json, traceback


def end(word, text):
    """The last message. Most scripts say nothing else, and need no module for it."""
    quoted = "null" if text is None else '"' + text.translate(escapes) + '"'
    say('{"%s": %s}' % (word, quoted))


def ask(question):
    """Asks the host and waits for its answer; returns text, or raises what went wrong."""
    with lock:
        say(json().dumps({"ask": question}, ensure_ascii=False))
        line = reader.readline()
    if not line:
        raise RuntimeError("the tool was stopped")
    answer = json().loads(line)
    return answer.get("ok"), answer.get("error")


class Fresh(machinery.SourceFileLoader):
    """Reads a module's text each time: an edit counts at once, and no file is left behind."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def find_fresh(folder):
    inside = os.path.realpath(folder)
    for own in start["path"]:
        own = os.path.realpath(own)
        if inside == own or inside.startswith(own + os.sep):
            return finder(folder)
    raise ImportError(folder)


finder = machinery.FileFinder.path_hook(
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (Fresh, machinery.SOURCE_SUFFIXES),
)


def module(name, **given):
    made = types.ModuleType(name)
    made.__dict__.update(given)
    sys.modules[name] = made
    return made


def modules():
    result = []
    package = module("llmr", __path__=[])
    for name in ("mcp", "ai"):
        made = module("llmr." + name, _ask=ask, _json=json, _arguments=start["arguments"], _result=result)
        exec(compile(start[name], "<llmr." + name + ">", "exec"), made.__dict__)
        setattr(package, name, made)
    return result


def told(error):
    import traceback

    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename == "<flemma>":
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def wait_for_threads():
    """What a thread returns counts as well; Python itself waits for them only later."""
    threading = sys.modules.get("threading")
    for thread in threading.enumerate() if threading else ():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()


def run(script):
    main = module("__main__", __file__=script, __builtins__=__builtins__)
    sys.argv = [script]
    sys.path_hooks.insert(0, find_fresh)
    load_what_is_hidden()
    sys.path[0:0] = start["path"]
    with open(script, "rb") as file:
        text = file.read()
    exec(compile(text, script, "exec", dont_inherit=True), main.__dict__)


def serve():
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)
    result = modules()
    try:
        run(start["script"])
        problem = None
    except SystemExit as exit:
        problem = None if exit.code in (None, 0) else "The script ended itself: %s" % (exit.code,)
    except BaseException as error:
        problem = told(error)
    wait_for_threads()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        # Closed, or whatever the script put into its place.
        except Exception:
            pass
    if problem:
        end("failed", problem)
    else:
        end("done", result[-1] if result else None)


serve()
