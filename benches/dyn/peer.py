# The call of `cargo bench -p opentool-dyn`, in Python with ctypes: the nanoseconds of its best round, and of its median one.
import ctypes
import json
import sys
import time

add = ctypes.CDLL(sys.argv[1]).add
add.argtypes = [ctypes.c_int, ctypes.c_int]
add.restype = ctypes.c_int


def call(text):
    arguments = json.loads(text)
    return json.dumps({"sum": add(arguments["a"], arguments["b"])}, separators=(",", ":"))


TEXT = '{"a":20,"b":22}'
assert call(TEXT) == '{"sum":42}'
CALLS = 1000
rounds = []
for _ in range(100):
    start = time.perf_counter_ns()
    for _ in range(CALLS):
        call(TEXT)
    rounds.append((time.perf_counter_ns() - start) / CALLS)
rounds.sort()
print(f"{rounds[0]:.1f} {rounds[len(rounds) // 2]:.1f}")
