# Runs before anything else in a script's interpreter: takes the wire away from standard
# input and starts what came over it. The folder that this runs in is no place for modules.
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json, os
wire = os.dup(0)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
reader = os.fdopen(wire, "rb")
start = json.loads(reader.readline())
exec(compile(start["program"], "<flemma>", "exec"), {"wire": wire, "reader": reader, "start": start})
