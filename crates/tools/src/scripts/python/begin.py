# Runs before anything else in a script's interpreter: takes the wire away from standard
# input and starts what came over it. The folder that this runs in is no place for modules.
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import marshal, os
wire = os.dup(0)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
reader = os.fdopen(wire, "rb")
# Not JSON, whose module takes longer to load than all of this.
start = marshal.loads(reader.read(int(reader.readline())))
exec(compile(start["program"], "<flemma>", "exec"), {"wire": wire, "reader": reader, "start": start})
