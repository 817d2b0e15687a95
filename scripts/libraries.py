"""Describes C libraries of Debian, checks the documents and calls functions as described: `scripts/libraries` runs it.

Every answer is compared with one that was computed another way: by Python's own modules, by a command, by the library through
ctypes with a prototype written by hand, or with a published test vector.
"""

import base64
import bz2
import collections
import ctypes
import functools
import hashlib
import hmac
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile
import traceback
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib

TEXT = b"Whan that Aprille with his shoures soote, the droghte of March hath perced to the roote. " * 4
LIBRARIES = []


def b64(data):
    return base64.b64encode(data).decode()


def unb64(text):
    return base64.b64decode(text)


class Wrong(Exception):
    pass


class Library:
    """A library, the headers that describe it, and a function that calls it."""

    def __init__(self, name, package, library, headers, flags, is_random, allow, run):
        self.name, self.package, self.library, self.headers = name, package, library, headers
        self.flags, self.is_random, self.allow, self.run = flags, is_random, allow, run
        self.right, self.faults = set(), []

    def call(self, function, /, **arguments):
        """Calls a function; an error of the call is raised."""
        message = {"jsonrpc": "2.0", "id": "1", "method": function, "params": arguments}
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/opentool/call", json.dumps(message).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            body = json.loads(error.read() or b"{}")
            body.setdefault("error", {"message": str(error)})
        if body.get("error"):
            raise Wrong(f"{function}({arguments}): {body['error'].get('message', '')[:400]}")
        return body["result"]

    def same(self, function, got, expected):
        """Notes whether a function has given the right answer."""
        if got == expected:
            self.right.add(function)
        else:
            self.faults.append(f"{function}: got {str(got)[:200]}, expected {str(expected)[:200]}")

    def answers(self, function, expected, part="result", /, **arguments):
        """Calls a function and compares one of its results."""
        try:
            got = self.call(function, **arguments)
        except Wrong as wrong:
            self.faults.append(str(wrong))
            return None
        self.same(function, got.get(part), expected)
        return got

    def fails(self, function, /, **arguments):
        """A call that must be an error."""
        try:
            got = self.call(function, **arguments)
        except Wrong:
            self.right.add(function)
            return
        self.faults.append(f"{function}({arguments}) answered {got}, which should be an error")

    @functools.cached_property
    def native(self):
        return ctypes.CDLL(self.library)


def library(name, package, file, headers, flags=(), is_random=False, allow=()):
    def add(run):
        LIBRARIES.append(Library(name, package, file, headers, list(flags), is_random, list(allow), run))
        return run

    return add


@library("zlib", "zlib1g-dev", "libz.so.1", ["zlib.h"])
def _(it):
    packed = it.call("compress", source=b64(TEXT), destLen=1000)
    it.same("compress", zlib.decompress(unb64(packed["dest"])), TEXT)
    it.answers("uncompress", b64(TEXT), "dest", source=b64(zlib.compress(TEXT)), destLen=len(TEXT))
    it.answers("crc32", zlib.crc32(TEXT), crc=0, buf=b64(TEXT))
    it.answers("adler32", zlib.adler32(TEXT), adler=1, buf=b64(TEXT))
    it.answers("zlibVersion", zlib.ZLIB_RUNTIME_VERSION)
    # The streaming API, in two pieces.
    version = zlib.ZLIB_RUNTIME_VERSION
    stream = it.call("deflateInit_", level=9, version=version, stream_size=112)["strm"]
    first = it.call("deflate", strm=stream, flush=2, next_in=b64(TEXT[:100]))
    rest = it.call("deflate", strm=stream, flush=4, next_in=b64(TEXT[100:]))
    it.same("deflate", zlib.decompress(unb64(first["next_out"]) + unb64(rest["next_out"])), TEXT)
    it.same("deflateInit_", rest["result"], 1)
    it.same("deflateEnd", it.call("deflateEnd", strm=stream)["result"], 0)
    it.fails("deflate", strm=stream, flush=4)
    stream = it.call("inflateInit_", version=version, stream_size=112)["strm"]
    out = it.call("inflate", strm=stream, flush=0, next_in=b64(zlib.compress(TEXT)))
    it.same("inflate", (out["result"], unb64(out["next_out"]), out["avail_in"]), (1, TEXT, 0))


@library("bzip2", "libbz2-dev", "libbz2.so.1.0", ["bzlib.h"])
def _(it):
    packed = it.call("BZ2_bzBuffToBuffCompress", source=b64(TEXT), destLen=4096, blockSize100k=9, verbosity=0, workFactor=0)
    it.same("BZ2_bzBuffToBuffCompress", (packed["result"], bz2.decompress(unb64(packed["dest"]))), (0, TEXT))
    arguments = dict(source=b64(bz2.compress(TEXT)), destLen=4096, small=0, verbosity=0)
    it.answers("BZ2_bzBuffToBuffDecompress", b64(TEXT), "dest", **arguments)
    it.answers("BZ2_bzlibVersion", it.native_text("BZ2_bzlibVersion"))
    stream = it.call("BZ2_bzCompressInit", blockSize100k=9, verbosity=0, workFactor=0)["strm"]
    out = it.call("BZ2_bzCompress", strm=stream, action=2, next_in=b64(TEXT))
    it.same("BZ2_bzCompress", (out["result"], bz2.decompress(unb64(out["next_out"]))), (4, TEXT))
    it.same("BZ2_bzCompressInit", out["avail_in"], 0)
    it.answers("BZ2_bzCompressEnd", 0, strm=stream)
    stream = it.call("BZ2_bzDecompressInit", verbosity=0, small=0)["strm"]
    out = it.call("BZ2_bzDecompress", strm=stream, next_in=b64(bz2.compress(TEXT)))
    it.same("BZ2_bzDecompress", (out["result"], unb64(out["next_out"])), (4, TEXT))


def lz4_block(data):
    """A decoder of LZ4 blocks, from the description of the format."""
    out, at = bytearray(), 0
    while at < len(data):
        token = data[at]
        at += 1
        length = token >> 4
        if length == 15:
            while True:
                length += data[at]
                at += 1
                if data[at - 1] != 255:
                    break
        out += data[at : at + length]
        at += length
        if at >= len(data):
            break
        offset = data[at] | data[at + 1] << 8
        at += 2
        length = (token & 15) + 4
        if length == 19:
            while True:
                length += data[at]
                at += 1
                if data[at - 1] != 255:
                    break
        for _ in range(length):
            out.append(out[-offset])
    return bytes(out)


@library("lz4", "liblz4-dev", "liblz4.so.1", ["lz4.h", "lz4hc.h"])
def _(it):
    packed = it.call("LZ4_compress_default", src=b64(TEXT), dstCapacity=1000)
    it.same("LZ4_compress_default", lz4_block(unb64(packed["dst"])), TEXT)
    it.answers("LZ4_decompress_safe", b64(TEXT), "dst", src=packed["dst"], dstCapacity=1000)
    it.answers("LZ4_compressBound", 1000 + 1000 // 255 + 16, inputSize=1000)
    fast = it.call("LZ4_compress_fast", src=b64(TEXT), dstCapacity=1000, acceleration=5)
    it.same("LZ4_compress_fast", lz4_block(unb64(fast["dst"])), TEXT)
    slow = it.call("LZ4_compress_HC", src=b64(TEXT), dstCapacity=1000, compressionLevel=9)
    it.same("LZ4_compress_HC", lz4_block(unb64(slow["dst"])), TEXT)
    it.answers("LZ4_versionNumber", it.native.LZ4_versionNumber())
    it.fails("LZ4_decompress_safe", src=b64(b"\xff" * 9), dstCapacity=1000)
    short = it.call("LZ4_decompress_safe_partial", src=packed["dst"], targetOutputSize=50, dstCapacity=1000)
    it.same("LZ4_decompress_safe_partial", unb64(short["dst"])[:50], TEXT[:50])


@library("pcre2", "libpcre2-dev", "libpcre2-8.so.0", ["pcre2.h"], ["-D", "PCRE2_CODE_UNIT_WIDTH=8"])
def _(it):
    pattern, subject = r"(\w+)@(\w+)\.org", "write to bugs@debian.org now"
    expected = re.search(pattern, subject)
    code = it.call("pcre2_compile_8", arg1=b64(pattern.encode()), arg3=0)["result"]
    data = it.call("pcre2_match_data_create_from_pattern_8", pcre2_code_8=code)["result"]
    matched = it.call("pcre2_match_8", pcre2_code_8=code, arg2=b64(subject.encode()), arg4=0, arg5=0, pcre2_match_data_8=data)
    it.same("pcre2_match_8", matched["result"], 3)
    it.answers("pcre2_get_ovector_count_8", 3, pcre2_match_data_8=data)
    it.answers("pcre2_get_startchar_8", expected.start(), pcre2_match_data_8=data)
    for group in range(3):
        got = it.call("pcre2_substring_length_bynumber_8", pcre2_match_data_8=data, arg2=group)
        it.same("pcre2_substring_length_bynumber_8", got["arg3"], len(expected.group(group)))
        got = it.call("pcre2_substring_copy_bynumber_8", pcre2_match_data_8=data, arg2=group, arg4=100)
        it.same("pcre2_substring_copy_bynumber_8", unb64(got["arg3"]).decode(), expected.group(group))
    wrong = it.call("pcre2_compile_8", arg1=b64(b"(unclosed"), arg3=0)
    it.same("pcre2_compile_8", (wrong["result"], wrong["arg5"]), (None, 9))
    it.answers("pcre2_code_free_8", None, pcre2_code_8=code)
    it.fails("pcre2_match_8", pcre2_code_8=code, arg2=b64(b"x"), arg4=0, arg5=0, pcre2_match_data_8=data)


@library("gmp", "libgmp-dev", "libgmp.so.10", ["gmp.h"])
def _(it):
    a, b = 3**200 + 17, 7**90

    def number(value=None):
        if value is None:
            return it.call("mpz_init")["mpz"]
        return it.call("mpz_init_set_str", arg2=str(value), arg3=10)["mpz"]

    def value(token):
        return int(it.call("mpz_get_str", arg2=10, mpz=token)["result"])

    x, y, z = number(a), number(b), number()
    it.same("mpz_init_set_str", value(x), a)
    for name, expected in [("mpz_add", a + b), ("mpz_mul", a * b), ("mpz_sub", a - b), ("mpz_gcd", math.gcd(a, b)), ("mpz_fdiv_q", a // b), ("mpz_mod", a % b)]:
        it.call(name, mpz=z, mpz2=x, mpz3=y)
        it.same(name, value(z), expected)
    it.call("mpz_fac_ui", mpz=z, arg2=50)
    it.same("mpz_fac_ui", value(z), math.factorial(50))
    it.same("mpz_get_str", value(z), math.factorial(50))
    it.same("mpz_cmp", it.call("mpz_cmp", mpz=x, mpz2=y)["result"] > 0, a > b)
    it.answers("mpz_sizeinbase", a.bit_length(), mpz=x, arg2=2)
    it.call("mpz_clear", mpz=z)
    it.fails("mpz_clear", mpz=z)


@library("libyaml", "libyaml-dev", "libyaml-0.so.2", ["yaml.h"])
def _(it):
    version = subprocess.run(["pkg-config", "--modversion", "yaml-0.1"], capture_output=True, text=True).stdout.strip()
    it.answers("yaml_get_version_string", version)
    parts = it.call("yaml_get_version")
    it.same("yaml_get_version", ".".join(str(parts[part]) for part in ("major", "minor", "patch")), version)
    parser = it.call("yaml_parser_initialize")["parser"]
    it.same("yaml_parser_initialize", parser.split(":")[0], "yaml_parser_t")
    it.answers("yaml_parser_set_input_string", None, parser=parser, input=b64(b"a: [1, 2, three]\n"))
    # The document has a mapping of two scalars and a sequence of three: seven nodes in all, and the root is the first.
    document = it.call("yaml_document_initialize", start_implicit=1, end_implicit=1)["document"]
    it.answers("yaml_document_add_scalar", 1, document=document, tag="tag:yaml.org,2002:str", value=b64(b"one"), style=0)
    it.answers("yaml_document_add_sequence", 2, document=document, tag="tag:yaml.org,2002:seq", style=0)
    it.answers("yaml_document_append_sequence_item", 1, document=document, sequence=2, item=1)
    it.answers("yaml_document_append_sequence_item", 1, document=document, sequence=2, item=1)
    loaded = it.call("yaml_parser_load", parser=parser, document=document)
    it.same("yaml_parser_load", loaded["result"], 1)
    it.answers("yaml_document_add_scalar", 7, document=document, tag="tag:yaml.org,2002:str", value=b64(b"more"), style=0)
    it.answers("yaml_parser_delete", None, parser=parser)
    it.fails("yaml_parser_delete", parser=parser)


@library("expat", "libexpat1-dev", "libexpat.so.1", ["expat.h"])
def _(it):
    from xml.parsers import expat

    it.answers("XML_ExpatVersion", expat.EXPAT_VERSION)
    it.answers("XML_ErrorString", expat.ErrorString(4), code=4)
    parser = it.call("XML_ParserCreate", encoding=None)["result"]
    it.call("XML_SetCharacterDataHandler", parser=parser)
    it.call("XML_SetElementHandler", parser=parser)
    text = "<a>one<b x='1' y='2'>two</b></a>"
    got = it.call("XML_Parse", parser=parser, s=text, isFinal=1)
    words = [event["s"] for event in got.get("events", []) if "s" in event]
    it.same("XML_SetCharacterDataHandler", "".join(words), "onetwo")
    started = [(event["name"], event.get("atts")) for event in got.get("events", []) if event["callback"] == "start"]
    it.same("XML_SetElementHandler", started, [("a", []), ("b", ["x", "1", "y", "2"])])
    it.same("XML_Parse", got["result"], 1)
    it.answers("XML_GetCurrentByteIndex", len(text), parser=parser)
    broken = it.call("XML_ParserCreate")["result"]
    it.same("XML_ParserCreate", it.call("XML_Parse", parser=broken, s="<a>\n</b>", isFinal=1)["result"], 0)
    it.answers("XML_GetErrorCode", expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH], parser=broken)
    it.answers("XML_GetCurrentLineNumber", 2, parser=broken)
    it.answers("XML_ParserFree", None, parser=broken)
    it.fails("XML_GetErrorCode", parser=broken)


@library("libuuid", "uuid-dev", "libuuid.so.1", ["uuid/uuid.h"])
def _(it):
    one = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    other = uuid.uuid4()
    it.answers("uuid_parse", b64(one.bytes), "uu", **{"in": str(one)})
    it.answers("uuid_unparse", str(one), "out", uu=b64(one.bytes))
    it.answers("uuid_unparse_upper", str(one).upper(), "out", uu=b64(one.bytes))
    it.same("uuid_compare", it.call("uuid_compare", uu1=b64(one.bytes), uu2=b64(other.bytes))["result"] > 0, one > other)
    it.answers("uuid_is_null", 1, uu=b64(bytes(16)))
    it.answers("uuid_type", one.version, uu=b64(one.bytes))
    it.answers("uuid_generate_sha1", b64(uuid.uuid5(one, "debian").bytes), "out", ns=b64(one.bytes), name="debian")
    it.answers("uuid_generate_md5", b64(uuid.uuid3(one, "debian").bytes), "out", ns=b64(one.bytes), name="debian")
    it.answers("uuid_copy", b64(one.bytes), "dst", src=b64(one.bytes))
    made = it.call("uuid_generate_random")["out"]
    it.same("uuid_generate_random", uuid.UUID(bytes=unb64(made)).version, 4)


@library("openssl", "libssl-dev", "libcrypto.so.3", ["openssl/sha.h", "openssl/evp.h", "openssl/crypto.h"])
def _(it):
    for name, algorithm in [("SHA1", "sha1"), ("SHA256", "sha256"), ("SHA512", "sha512")]:
        it.answers(name, b64(hashlib.new(algorithm, TEXT).digest()), "md", d=b64(TEXT))
    algorithm = it.call("EVP_get_digestbyname", name="SHA3-256")["result"]
    it.answers("EVP_MD_get_size", 32, md=algorithm)
    context = it.call("EVP_MD_CTX_new")["result"]
    it.answers("EVP_DigestInit_ex", 1, ctx=context, type=algorithm)
    it.answers("EVP_DigestUpdate", 1, ctx=context, d=b64(TEXT[:50]))
    it.answers("EVP_DigestUpdate", 1, ctx=context, d=b64(TEXT[50:]))
    it.answers("EVP_DigestFinal_ex", b64(hashlib.sha3_256(TEXT).digest()), "md", ctx=context)
    it.answers("EVP_MD_CTX_free", None, ctx=context)
    it.fails("EVP_DigestUpdate", ctx=context, d=b64(TEXT))
    it.same("OpenSSL_version_num", it.call("OpenSSL_version_num")["result"], __import__("ssl").OPENSSL_VERSION_NUMBER)


@library("libsodium", "libsodium-dev", "libsodium.so.23", ["sodium.h"])
def _(it):
    key = bytes(range(32))
    it.answers("crypto_hash_sha256", b64(hashlib.sha256(TEXT).digest()), "out", **{"in": b64(TEXT)})
    it.answers("crypto_hash_sha512", b64(hashlib.sha512(TEXT).digest()), "out", **{"in": b64(TEXT)})
    it.answers("crypto_auth_hmacsha256", b64(hmac.digest(key, TEXT, "sha256")), "out", k=b64(key), **{"in": b64(TEXT)})
    it.answers("crypto_generichash", b64(hashlib.blake2b(TEXT, digest_size=32, key=key).digest()), "out", key=b64(key), outlen=32, **{"in": b64(TEXT)})
    it.answers("sodium_bin2hex", TEXT.hex(), "hex", bin=b64(TEXT), hex_maxlen=2 * len(TEXT) + 1)
    it.answers("crypto_hash_sha256_bytes", 32)
    it.answers("crypto_auth_hmacsha256_keybytes", 32)


@library("xz", "liblzma-dev", "liblzma.so.5", ["lzma.h"])
def _(it):
    it.answers("lzma_crc32", zlib.crc32(TEXT), crc=0, buf=b64(TEXT))
    it.native.lzma_crc64.restype = ctypes.c_uint64
    it.native.lzma_crc64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    it.answers("lzma_crc64", it.native.lzma_crc64(TEXT, len(TEXT), 0), crc=0, buf=b64(TEXT))
    it.answers("lzma_version_string", subprocess.run(["pkg-config", "--modversion", "liblzma"], capture_output=True, text=True).stdout.strip())
    it.answers("lzma_check_size", 32, check="LZMA_CHECK_SHA256")
    it.answers("lzma_check_is_supported", 1, check=4)
    it.native.lzma_stream_buffer_bound.restype = ctypes.c_size_t
    it.answers("lzma_stream_buffer_bound", it.native.lzma_stream_buffer_bound(1000), uncompressed_size=1000)
    it.native.lzma_vli_size.argtypes = [ctypes.c_uint64]
    it.answers("lzma_vli_size", it.native.lzma_vli_size(10**9), vli=10**9)
    # The streaming API: a stream is a struct of zeros before.
    stream = it.call("lzma_easy_encoder", preset=6, check="LZMA_CHECK_CRC64")["strm"]
    first = it.call("lzma_code", strm=stream, action="LZMA_SYNC_FLUSH", next_in=b64(TEXT[:100]))
    rest = it.call("lzma_code", strm=stream, action="LZMA_FINISH", next_in=b64(TEXT[100:]))
    it.same("lzma_easy_encoder", lzma.decompress(unb64(first["next_out"]) + unb64(rest["next_out"])), TEXT)
    it.same("lzma_code", (rest["result"], rest["avail_in"]), (1, 0))
    it.answers("lzma_end", None, strm=stream)
    it.fails("lzma_code", strm=stream, action="LZMA_FINISH")
    stream = it.call("lzma_stream_decoder", memlimit=2**40, flags=0)["strm"]
    out = it.call("lzma_code", strm=stream, action="LZMA_RUN", next_in=b64(lzma.compress(TEXT)))
    it.same("lzma_stream_decoder", (out["result"], unb64(out["next_out"])), (1, TEXT))


@library("zstd", "libzstd-dev", "libzstd.so.1", ["zstd.h"])
def _(it):
    packed = it.call("ZSTD_compress", src=b64(TEXT), dstCapacity=1000, compressionLevel=3)
    plain = ctypes.create_string_buffer(2000)
    data = unb64(packed["dst"])
    it.native.ZSTD_decompress.restype = ctypes.c_size_t
    size = it.native.ZSTD_decompress(plain, ctypes.c_size_t(2000), data, ctypes.c_size_t(len(data)))
    it.same("ZSTD_compress", plain.raw[:size], TEXT)
    it.answers("ZSTD_decompress", b64(TEXT), "dst", src=packed["dst"], dstCapacity=1000)
    it.answers("ZSTD_getFrameContentSize", len(TEXT), src=packed["dst"])
    it.answers("ZSTD_versionNumber", it.native.ZSTD_versionNumber())
    it.answers("ZSTD_maxCLevel", 22)
    context = it.call("ZSTD_createCCtx")["result"]
    packed = it.call("ZSTD_compressCCtx", cctx=context, src=b64(TEXT), dstCapacity=1000, compressionLevel=19)
    it.answers("ZSTD_decompress", b64(TEXT), "dst", src=packed["dst"], dstCapacity=1000)
    it.right.add("ZSTD_compressCCtx")
    it.call("ZSTD_freeCCtx", cctx=context)
    it.fails("ZSTD_compressCCtx", cctx=context, src=b64(TEXT), dstCapacity=1000, compressionLevel=1)
    it.fails("ZSTD_decompress", src=b64(b"no frame of zstd"), dstCapacity=1000)


@library("xxhash", "libxxhash-dev", "libxxhash.so.0", ["xxhash.h"])
def _(it):
    # The empty text with the seed 0, as the specification has it.
    it.answers("XXH32", 0x02CC5D05, input="", seed=0)
    it.answers("XXH64", 0xEF46DB3751D8E999, input="", seed=0)
    native = it.native
    native.XXH64.restype = native.XXH3_64bits.restype = ctypes.c_uint64
    native.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    native.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    it.answers("XXH64", native.XXH64(TEXT, len(TEXT), 7), input=b64(TEXT), seed=7)
    it.answers("XXH3_64bits", native.XXH3_64bits(TEXT, len(TEXT)), **{"data": b64(TEXT)} if "data" in it.parameters("XXH3_64bits") else {"input": b64(TEXT)})
    it.answers("XXH_versionNumber", native.XXH_versionNumber())
    state = it.call("XXH64_createState")["result"]
    it.call("XXH64_reset", statePtr=state, seed=7)
    it.call("XXH64_update", statePtr=state, input=b64(TEXT[:11]))
    it.call("XXH64_update", statePtr=state, input=b64(TEXT[11:]))
    it.answers("XXH64_digest", native.XXH64(TEXT, len(TEXT), 7), statePtr=state)
    it.answers("XXH64_freeState", 0, statePtr=state)


@library("cjson", "libcjson-dev", "libcjson.so.1", ["cjson/cJSON.h"])
def _(it):
    value = {"name": "Debian", "releases": [10, 11, 12], "free": True}
    tree = it.call("cJSON_Parse", value=json.dumps(value))["result"]
    it.answers("cJSON_PrintUnformatted", json.dumps(value, separators=(",", ":")), item=tree)
    item = it.call("cJSON_GetObjectItem", object=tree, string="name")["result"]
    it.answers("cJSON_GetStringValue", "Debian", item=item)
    array = it.call("cJSON_GetObjectItemCaseSensitive", object=tree, string="releases")["result"]
    it.answers("cJSON_GetArraySize", 3, array=array)
    item = it.call("cJSON_GetArrayItem", array=array, index=1)["result"]
    it.answers("cJSON_GetNumberValue", 11, item=item)
    it.answers("cJSON_IsArray", 1, item=array)
    it.call("cJSON_Delete", item=tree)
    it.fails("cJSON_GetArraySize", array=array)


@library("argon2", "libargon2-dev", "libargon2.so.1", ["argon2.h"])
def _(it):
    password, salt = b"password", b"somesalt"
    raw = ctypes.create_string_buffer(32)
    it.native.argon2id_hash_raw(2, 1024, 1, password, ctypes.c_size_t(8), salt, ctypes.c_size_t(8), raw, ctypes.c_size_t(32))
    common = dict(t_cost=2, m_cost=1024, parallelism=1, pwd=b64(password), salt=b64(salt))
    it.answers("argon2id_hash_raw", b64(raw.raw), "hash", hashlen=32, **common)
    got = it.call("argon2id_hash_encoded", hashlen=32, encodedlen=200, **common)
    expected = "$argon2id$v=19$m=1024,t=2,p=1$" + b64(salt).rstrip("=") + "$" + b64(raw.raw).rstrip("=")
    it.same("argon2id_hash_encoded", got["encoded"], expected)
    it.answers("argon2id_verify", 0, encoded=expected, pwd=b64(password))
    it.answers("argon2_encodedlen", len(expected) + 1, t_cost=2, m_cost=1024, parallelism=1, saltlen=8, hashlen=32, type="Argon2_id")
    it.answers("argon2_type2string", "Argon2i", type=1, uppercase=1)
    it.answers("argon2_error_message", "OK", error_code=0)


@library("mpfr", "libmpfr-dev", "libmpfr.so.6", ["mpfr.h"])
def _(it):
    it.answers("mpfr_get_version", subprocess.run(["pkg-config", "--modversion", "mpfr"], capture_output=True, text=True).stdout.strip() or it.native_text("mpfr_get_version"))
    names = it.parameters("mpfr_set_d")
    number = lambda: list(it.call("mpfr_init2", **{it.parameters("mpfr_init2")[1]: 53}).values())[-1]
    x, y = number(), number()
    it.call("mpfr_set_d", **dict(zip(names, [x, 2.0, 0])))
    get = lambda token: it.call("mpfr_get_d", **dict(zip(it.parameters("mpfr_get_d"), [token, 0])))["result"]
    it.same("mpfr_set_d", get(x), 2.0)
    for name, expected in [("mpfr_sqrt", math.sqrt(2)), ("mpfr_exp", math.exp(2)), ("mpfr_log", math.log(2)), ("mpfr_sin", math.sin(2))]:
        it.call(name, **dict(zip(it.parameters(name), [y, x, 0])))
        it.same(name, get(y), expected)
    it.same("mpfr_get_d", get(x), 2.0)


@library("jansson", "libjansson-dev", "libjansson.so.4", ["jansson.h"])
def _(it):
    value = {"a": [1, 2.5, "three"], "b": None}
    root = it.call("json_loads", input=json.dumps(value), flags=0)["result"]
    it.same("json_loads", root.split(":")[0], "json_t")
    it.same("json_dumps", json.loads(it.call("json_dumps", json=root, flags=0)["result"]), value)
    array = it.call("json_object_get", object=root, key="a")["result"]
    it.answers("json_array_size", 3, array=array)
    item = it.call("json_array_get", array=array, index=2)["result"]
    it.answers("json_string_value", "three", string=item)
    it.answers("json_object_size", 2, object=root)
    got = it.call("json_dump_callback", json=root, flags=0)
    pieces = got.get("callback", [])
    it.same("json_dump_callback", json.loads("".join(piece["buffer"] for piece in pieces)), value)
    number = it.call("json_integer", value=42)["result"]
    it.answers("json_integer_value", 42, integer=number)


@library("libevent", "libevent-dev", "libevent-2.1.so.7", ["event2/event.h", "event2/buffer.h"])
def _(it):
    it.answers("event_get_version", subprocess.run(["pkg-config", "--modversion", "libevent"], capture_output=True, text=True).stdout.strip())
    buffer = it.call("evbuffer_new")["result"]
    it.answers("evbuffer_add", 0, buf=buffer, data=b64(TEXT))
    it.answers("evbuffer_get_length", len(TEXT), buf=buffer)
    it.answers("evbuffer_drain", 0, buf=buffer, len=10)
    it.answers("evbuffer_get_length", len(TEXT) - 10, buf=buffer)
    got = it.call("evbuffer_remove", buf=buffer, datlen=20)
    it.same("evbuffer_remove", (got["result"], unb64(got["data"])[:20]), (20, TEXT[10:30]))
    it.answers("evbuffer_free", None, buf=buffer)
    it.fails("evbuffer_get_length", buf=buffer)


@library("cmark", "libcmark-dev", "libcmark.so.0.30.2", ["cmark.h"])
def _(it):
    source = "# Title\n\nSome *text*.\n"
    html = "<h1>Title</h1>\n<p>Some <em>text</em>.</p>\n"
    it.answers("cmark_markdown_to_html", html, text=source, options=0)
    it.answers("cmark_version_string", "0.30.2")
    document = it.call("cmark_parse_document", buffer=source, options=0)["result"]
    it.answers("cmark_render_html", html, root=document, options=0)
    it.answers("cmark_node_get_type_string", "document", node=document)
    heading = it.call("cmark_node_first_child", node=document)["result"]
    it.answers("cmark_node_get_heading_level", 1, node=heading)
    it.answers("cmark_node_get_start_line", 1, node=heading)
    paragraph = it.call("cmark_node_next", node=heading)["result"]
    it.answers("cmark_node_get_start_line", 3, node=paragraph)
    it.call("cmark_node_free", node=document)
    it.fails("cmark_node_get_type_string", node=heading)


@library("libb2", "libb2-dev", "libb2.so.1", ["blake2.h"])
def _(it):
    key = bytes(range(16))
    for name, function, size in [("blake2b", hashlib.blake2b, 64), ("blake2s", hashlib.blake2s, 32)]:
        expected = function(TEXT, digest_size=size, key=key).digest()
        it.answers(name, b64(expected), "out", outlen=size, key=b64(key), **{"in": b64(TEXT)})
    for name, function in [("blake2b", hashlib.blake2b), ("blake2s", hashlib.blake2s)]:
        state = it.call(f"{name}_init", outlen=20)["S"]
        it.call(f"{name}_update", S=state, **{"in": b64(TEXT)})
        it.answers(f"{name}_final", b64(function(TEXT, digest_size=20).digest()), "out", S=state, outlen=20)
        it.right.add(f"{name}_init")
        it.right.add(f"{name}_update")


@library("libdeflate", "libdeflate-dev", "libdeflate.so.0", ["libdeflate.h"])
def _(it):
    it.answers("libdeflate_crc32", zlib.crc32(TEXT), crc=0, buffer=b64(TEXT))
    it.answers("libdeflate_adler32", zlib.adler32(TEXT), adler=1, buffer=b64(TEXT))
    compressor = it.call("libdeflate_alloc_compressor", compression_level=6)["result"]
    common = {"compressor": compressor, "in": b64(TEXT), "out_nbytes_avail": 1000}
    it.same("libdeflate_zlib_compress", zlib.decompress(unb64(it.call("libdeflate_zlib_compress", **common)["out"])), TEXT)
    it.same("libdeflate_gzip_compress", zlib.decompress(unb64(it.call("libdeflate_gzip_compress", **common)["out"]), 31), TEXT)
    it.same("libdeflate_deflate_compress", zlib.decompress(unb64(it.call("libdeflate_deflate_compress", **common)["out"]), -15), TEXT)
    decompressor = it.call("libdeflate_alloc_decompressor")["result"]
    got = it.call("libdeflate_zlib_decompress", decompressor=decompressor, out_nbytes_avail=1000, **{"in": b64(zlib.compress(TEXT))})
    it.same("libdeflate_zlib_decompress", (got["result"], unb64(got["out"])), (0, TEXT))
    it.call("libdeflate_free_compressor", compressor=compressor)
    it.fails("libdeflate_zlib_compress", **common)


@library("gsl", "libgsl-dev", "libgsl.so.27", ["gsl/gsl_sf.h"])
def _(it):
    near = lambda got, expected: expected if abs(got - expected) < 1e-12 * max(1, abs(expected)) else got
    for name, arguments, expected in [
        ("gsl_sf_gamma", {"x": 4.5}, math.gamma(4.5)),
        ("gsl_sf_erf", {"x": 0.3}, math.erf(0.3)),
        ("gsl_sf_lngamma", {"x": 20.5}, math.lgamma(20.5)),
        ("gsl_sf_exp", {"x": 1.5}, math.exp(1.5)),
        ("gsl_sf_hypot", {"x": 3, "y": 4}, 5.0),
        ("gsl_sf_fact", {"n": 20}, float(math.factorial(20))),
    ]:
        it.same(name, near(it.call(name, **arguments)["result"], expected), expected)
    got = it.call("gsl_sf_gamma_e", x=4.5)
    it.same("gsl_sf_gamma_e", near(got["result"]["val"] if isinstance(got["result"], dict) else got["the_result"], math.gamma(4.5)), math.gamma(4.5))


@library("libmd", "libmd-dev", "libmd.so.0", ["md5.h", "sha2.h", "sha.h"])
def _(it):
    for name, algorithm in [("MD5", "md5"), ("SHA256", "sha256"), ("SHA512", "sha512")]:
        context = it.call(f"{name}Init")
        token = [value for value in context.values() if isinstance(value, str)][0]
        holder = it.parameters(f"{name}Update")
        it.call(f"{name}Update", **{holder[0]: token, holder[1]: b64(TEXT)})
        final = it.parameters(f"{name}Final")
        got = it.call(f"{name}Final", **{final[1]: token})
        it.same(f"{name}Final", unb64(got[final[0]]), hashlib.new(algorithm, TEXT).digest())
        it.right.add(f"{name}Init")
        it.right.add(f"{name}Update")


@library("fribidi", "libfribidi-dev", "libfribidi.so.0", ["fribidi.h"], ["-I", "/usr/include/fribidi"])
def _(it):
    for name, function in [("fribidi_get_mirror_char", None)]:
        got = it.call(name, ch=ord("("))
        it.same(name, got.get("mirrored_ch"), ord(")"))
    for char in ["a", "\u05d0", "5", "\u0627"]:
        kind = it.call("fribidi_get_bidi_type", ch=ord(char))["result"]
        names = {"L": "LTR", "R": "RTL", "EN": "EN", "AL": "AL"}
        it.answers("fribidi_get_bidi_type_name", names[unicodedata.bidirectional(char)], t=kind)
        it.right.add("fribidi_get_bidi_type")
    it.answers("fribidi_parse_charset", 1, s="UTF-8")
    it.answers("fribidi_char_set_name", "UTF-8", char_set=1)
    it.answers("fribidi_unicode_to_charset", "a\u05d0", "s", char_set=1, ss=[97, 0x5D0], us=[97, 0x5D0])


@library("libidn2", "libidn2-dev", "libidn2.so.0", ["idn2.h"])
def _(it):
    name = "b\u00fccher.example"
    it.answers("idn2_to_ascii_8z", name.encode("idna").decode(), "output", input=name, flags=0)
    it.answers("idn2_to_unicode_8z8z", name, "output", input=name.encode("idna").decode(), flags=0)
    it.answers("idn2_strerror_name", "IDN2_OK", rc=0)
    it.answers("idn2_check_version", it.native_text("idn2_check_version"), req_version="2.0.0")
    it.answers("idn2_check_version", None, req_version="99.0.0")
    it.same("idn2_strerror", it.call("idn2_strerror", rc=0)["result"], "success")


@library("brotli", "libbrotli-dev", "libbrotlienc.so.1", ["brotli/encode.h"])
def _(it):
    decoder = ctypes.CDLL("libbrotlidec.so.1")

    def plain(data):
        out, size = ctypes.create_string_buffer(2000), ctypes.c_size_t(2000)
        decoder.BrotliDecoderDecompress(ctypes.c_size_t(len(data)), data, ctypes.byref(size), out)
        return out.raw[: size.value]

    packed = it.call("BrotliEncoderCompress", quality=5, lgwin=22, mode=0, input_buffer=b64(TEXT), encoded_size=1000)
    it.same("BrotliEncoderCompress", (packed["result"], plain(unb64(packed["encoded_buffer"]))), (1, TEXT))
    text = it.call("BrotliEncoderCompress", quality=9, lgwin=18, mode="BROTLI_MODE_TEXT", input_buffer=b64(TEXT), encoded_size=1000)
    it.same("BrotliEncoderCompress", plain(unb64(text["encoded_buffer"])), TEXT)
    it.native.BrotliEncoderMaxCompressedSize.restype = ctypes.c_size_t
    it.answers("BrotliEncoderMaxCompressedSize", it.native.BrotliEncoderMaxCompressedSize(1000), input_size=1000)
    it.answers("BrotliEncoderVersion", it.native.BrotliEncoderVersion())
    state = it.call("BrotliEncoderCreateInstance")["result"]
    it.answers("BrotliEncoderSetParameter", 1, state=state, param="BROTLI_PARAM_QUALITY", value=4)
    it.answers("BrotliEncoderIsFinished", 0, state=state)
    it.answers("BrotliEncoderDestroyInstance", None, state=state)
    it.fails("BrotliEncoderIsFinished", state=state)


@library("nettle", "nettle-dev", "libnettle.so.8", ["nettle/sha2.h", "nettle/md5.h"])
def _(it):
    for name, algorithm, size in [("sha256", "sha256", 32), ("sha512", "sha512", 64), ("md5", "md5", 16)]:
        token = it.call(f"nettle_{name}_init")["ctx"]
        it.call(f"nettle_{name}_update", ctx=token, data=b64(TEXT))
        it.answers(f"nettle_{name}_digest", b64(hashlib.new(algorithm, TEXT).digest()), "digest", ctx=token, length=size)
        it.right.add(f"nettle_{name}_init")
        it.right.add(f"nettle_{name}_update")


@library("sqlite", "libsqlite3-dev", "libsqlite3.so.0", ["sqlite3.h"])
def _(it):
    import sqlite3

    it.answers("sqlite3_libversion", it.native_text("sqlite3_libversion"))
    db = it.call("sqlite3_open", filename=":memory:")["ppDb"]
    sql = "SELECT 6 * 7, 'text', 2.5, x'00ff'"
    expected = sqlite3.connect(":memory:").execute(sql).fetchone()
    statement = it.call("sqlite3_prepare_v2", db=db, zSql=sql)["ppStmt"]
    it.answers("sqlite3_step", 100, sqlite3_stmt=statement)
    it.answers("sqlite3_column_int", expected[0], sqlite3_stmt=statement, iCol=0)
    it.answers("sqlite3_column_text", expected[1], sqlite3_stmt=statement, iCol=1)
    it.answers("sqlite3_column_double", expected[2], sqlite3_stmt=statement, iCol=2)
    it.answers("sqlite3_column_bytes", 2, sqlite3_stmt=statement, iCol=3)
    rows = it.call("sqlite3_exec", sqlite3=db, sql="CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, NULL); SELECT * FROM t ORDER BY a")
    callback = [value for value in rows.values() if isinstance(value, list)]
    texts = [[text for text in list(row.values()) if isinstance(text, list)][0] for row in callback[0]] if callback else None
    it.same("sqlite3_exec", texts, [["1", "x"], ["2", None]])
    it.answers("sqlite3_finalize", 0, pStmt=statement)
    it.fails("sqlite3_step", sqlite3_stmt=statement)
    it.answers("sqlite3_close", 0, sqlite3=db)


@library("unistring", "libunistring-dev", "libunistring.so.2", ["unistr.h", "unictype.h", "uniname.h"])
def _(it):
    it.answers("uc_is_upper", True, uc=ord("A")) if it.has("uc_is_upper") else None
    for char in ["A", "7", "\u0416", "!"]:
        it.answers("uc_combining_class", unicodedata.combining(char), uc=ord(char))
        it.answers("uc_decimal_value", unicodedata.decimal(char, -1), uc=ord(char))
        it.answers("uc_is_alpha", char.isalpha(), uc=ord(char))
    it.answers("uc_mirror_char", ord(")"), "puc", uc=ord("("))
    it.answers("unicode_character_name", unicodedata.name("\u0416"), "buf", uc=ord("\u0416"))
    it.answers("unicode_name_character", ord("\u0416"), name="CYRILLIC CAPITAL LETTER ZHE")


@library("curl", "libcurl4-openssl-dev", "libcurl.so.4", ["curl/curl.h"], allow=["--allow", "net"])
def _(it):
    it.answers("curl_version", it.native_text("curl_version"))
    handle = it.call("curl_easy_init")["result"]
    text = "a b&c=\u00fc/100%"
    it.answers("curl_easy_escape", urllib.parse.quote(text, safe=""), handle=handle, string=text)
    it.answers("curl_easy_unescape", text, handle=handle, string=urllib.parse.quote(text, safe=""))
    it.answers("curl_getdate", 784111777, p="Sun, 06 Nov 1994 08:49:37 GMT", unused=None)
    it.answers("curl_easy_cleanup", None, curl=handle)
    it.fails("curl_easy_escape", handle=handle, string="x")
    url = it.call("curl_url")["result"]
    it.answers("curl_url_set", 0, handle=url, what="CURLUPART_URL", part="https://example.org:8443/path?q=1#top", flags=0)
    for part, expected in [("CURLUPART_HOST", "example.org"), ("CURLUPART_PORT", "8443"), ("CURLUPART_QUERY", "q=1")]:
        it.answers("curl_url_get", expected, "part", handle=url, what=part, flags=0)
    it.answers("curl_url_cleanup", None, handle=url)
    # A list begins with NULL, and goes into the headers of a part.
    names = it.call("curl_slist_append", data="A: 1")["result"]
    it.same("curl_slist_append", it.call("curl_slist_append", list=names, data="B: 2")["result"], names)
    it.answers("curl_slist_free_all", None, list=names)
    it.fails("curl_slist_append", list=names, data="C: 3")


@library("ncurses", "libncurses-dev", "libncurses.so.6", ["ncurses.h"])
def _(it):
    # What needs no terminal.
    it.answers("COLOR_PAIR", 3 << 8, **{it.parameters("COLOR_PAIR")[0]: 3})
    it.answers("PAIR_NUMBER", 5, **{it.parameters("PAIR_NUMBER")[0]: 5 << 8})
    it.answers("get_escdelay", 1000)
    it.answers("set_escdelay", 0, **{it.parameters("set_escdelay")[0]: 250})
    it.answers("get_escdelay", 250)
    it.answers("isendwin", False)
    it.answers("start_color", -1)


@library("riemann", "libriemann-client-dev", "libriemann-client.so.0", ["riemann/riemann-client.h"], is_random=True)
def _(it):
    it.answers("riemann_client_version_string", it.native_text("riemann_client_version_string"))
    query = it.call("riemann_query_new", string="service = 1")["result"]
    message = it.call("riemann_message_create_with_query", query=query)["result"]
    # A protocol buffer: the query is field 5, and its text field 1, each with a tag and a length.
    it.answers("riemann_message_get_packed_size", 2 + 2 + len("service = 1"), message=message)
    it.right |= {"riemann_query_new", "riemann_message_create_with_query"}
    other = it.call("riemann_message_clone", message=message)["result"]
    it.answers("riemann_message_get_packed_size", 2 + 2 + len("service = 1"), message=other)
    it.right.add("riemann_message_clone")
    it.answers("riemann_message_free", None, message=other)
    it.fails("riemann_message_get_packed_size", message=other)
    attribute = it.call("riemann_attribute_create", key="k", value="v")["result"]
    it.answers("riemann_attribute_free", None, attrib=attribute)
    it.fails("riemann_attribute_free", attrib=attribute)


@library("path_utils", "libpath-utils-dev", "libpath_utils.so.1", ["path_utils.h"], is_random=True)
def _(it):
    path = "/usr/share/doc/bash.txt"
    it.answers("get_basename", os.path.basename(path), "base_name", base_name_size=100, path=path)
    it.answers("get_dirname", os.path.dirname(path), "dir_path", dir_path_size=100, path=path)
    it.answers("normalize_path", os.path.normpath("/usr//share/../bin/./ls"), "normalized_path", normalized_path_size=100, path="/usr//share/../bin/./ls")
    it.answers("path_concat", os.path.join("/usr", "bin"), "path", path_size=100, head="/usr", tail="bin")
    it.answers("is_absolute_path", True, path=path)
    it.answers("is_ancestor_path", True, ancestor="/usr/share", path=path)


@library("mbedtls", "libmbedtls-dev", "libmbedcrypto.so.7", ["mbedtls/sha256.h", "mbedtls/md5.h", "mbedtls/base64.h", "mbedtls/version.h"], is_random=True)
def _(it):
    it.answers("mbedtls_sha256_ret", b64(hashlib.sha256(TEXT).digest()), "output", input=b64(TEXT), is224=0)
    it.answers("mbedtls_md5_ret", b64(hashlib.md5(TEXT).digest()), "output", input=b64(TEXT))
    got = it.call("mbedtls_base64_encode", src=b64(TEXT), dlen=1000)
    it.same("mbedtls_base64_encode", unb64(got["dst"]), base64.b64encode(TEXT))
    got = it.call("mbedtls_base64_decode", src=b64(base64.b64encode(TEXT)), dlen=1000)
    it.same("mbedtls_base64_decode", unb64(got["dst"]), TEXT)
    context = it.call("mbedtls_sha256_init")["ctx"]
    it.answers("mbedtls_sha256_starts_ret", 0, ctx=context, is224=0)
    it.answers("mbedtls_sha256_update_ret", 0, ctx=context, input=b64(TEXT))
    it.answers("mbedtls_sha256_finish_ret", b64(hashlib.sha256(TEXT).digest()), "output", ctx=context)
    it.answers("mbedtls_sha256_free", None, ctx=context)
    it.fails("mbedtls_sha256_starts_ret", ctx=context, is224=0)
    it.answers("mbedtls_version_get_number", it.native.mbedtls_version_get_number())


@library("libbasicobjects", "libbasicobjects-dev", "libbasicobjects.so.0", ["simplebuffer.h"], is_random=True)
def _(it):
    data = it.call("simplebuffer_alloc")["data"]
    it.same("simplebuffer_alloc", data.split(":")[0], "simplebuffer")
    it.answers("simplebuffer_add_str", 0, data=data, str="hello", block=16)
    it.answers("simplebuffer_add_cr", 0, data=data)
    it.answers("simplebuffer_add_raw", 0, data=data, data_in=b64(b"raw"), block=16)
    it.answers("simplebuffer_get_len", len("hello\nraw"), data=data)
    it.answers("simplebuffer_get_buf", "hello\nraw", data=data)
    it.answers("simplebuffer_free", None, data=data)
    it.fails("simplebuffer_get_len", data=data)


@library("cext", "libcext-dev", "libcext.so.0", ["cxstring.h"], is_random=True)
def _(it):
    text = it.call("cx_string_create", **{it.parameters("cx_string_create")[0]: "Some Text"})["result"]
    own = it.parameters("cx_string_size")[0]
    it.answers("cx_string_size", 9, **{own: text})
    it.answers("cx_string_get", "Some Text", **{own: text})
    it.call("cx_string_upper", **{own: text})
    it.answers("cx_string_get", "SOME TEXT", **{own: text})
    it.right.add("cx_string_upper")
    it.call("cx_string_lower", **{own: text})
    it.answers("cx_string_get", "some text", **{own: text})
    it.right.add("cx_string_lower")
    it.right.add("cx_string_create")
    it.call("cx_string_delete", **{own: text})
    it.fails("cx_string_size", **{own: text})


@library("tidy", "libtidy-dev", "libtidy.so.5deb1", ["tidy.h"], ["-I", "/usr/include/tidy"], is_random=True)
def _(it):
    it.answers("tidyLibraryVersion", it.native_text("tidyLibraryVersion"))
    document = it.call("tidyCreate")["result"]
    it.answers("tidyParseString", 1, tdoc=document, content="<title>T</title><p>x")
    it.answers("tidyCleanAndRepair", 1, tdoc=document)
    it.answers("tidyErrorCount", 0, tdoc=document)
    it.same("tidyWarningCount", it.call("tidyWarningCount", tdoc=document)["result"] > 0, True)
    it.answers("tidyDetectedHtmlVersion", 500, tdoc=document)
    it.answers("tidyRelease", None, tdoc=document)
    it.fails("tidyErrorCount", tdoc=document)


@library("ltdl", "libltdl-dev", "libltdl.so.7", ["ltdl.h"], is_random=True)
def _(it):
    it.answers("lt_dlinit", 0)
    it.answers("lt_dlsetsearchpath", 0, search_path="/usr/lib")
    it.answers("lt_dlgetsearchpath", "/usr/lib")
    it.answers("lt_dladdsearchdir", 0, search_dir="/opt/lib")
    it.answers("lt_dlgetsearchpath", "/usr/lib:/opt/lib")
    it.answers("lt_dlexit", 0)


def native_text(self, function):
    """The text that a function without arguments returns, through ctypes."""
    called = getattr(self.native, function)
    called.restype = ctypes.c_char_p
    return called(None).decode()


def parameters(self, function):
    """The names of a function's parameters, in the order of the document."""
    found = [one for one in self.document["functions"] if one["name"] == function]
    if not found:
        raise Wrong(f"{function} is not described")
    return [parameter["name"] for parameter in found[0]["parameters"]]


Library.native_text, Library.parameters = native_text, parameters
Library.has = lambda self, function: any(one["name"] == function for one in self.document["functions"])


def skipped(report):
    """The functions that were skipped, each with the reason."""
    body = report.split("\nskipped:\n", 1)[-1] if "skipped:\n" in report else ""
    reason = None
    for line in body.splitlines():
        several = re.match(r"  (\d+) functions: each (.*):$", line)
        single = re.match(r"  (\S[^:]*(?:::[^:]*)*): (.*)$", line)
        if several:
            reason = why(several[2])
        elif single and not line.startswith("    "):
            reason = None
            yield single[1], why(single[2])
        elif reason and line.startswith("    ") and "a shim would help" not in line:
            yield from ((name, reason) for name in line.strip().rstrip(",").split(", "))


def reasons(report):
    """Why functions were skipped, and how many for each reason."""
    return collections.Counter(reason for _, reason in skipped(report))


def why(reason):
    for words, short in [
        ("no header declares it", "in no header"),
        ("which was not given", "in another header"),
        ("does not export it", "not exported"),
        ("a callback", "callback"),
        ("caller must make", "struct with pointers"),
        ("struct by value", "struct by value"),
        ("without a length", "address without length"),
        ("of unknown content", "address"),
        ("any number of arguments", "variadic"),
        ("list of any arguments", "variadic"),
        ("which no function", "handle that no function makes"),
        ("pointer to a pointer", "pointer to pointer"),
        ("array of", "array of pointers"),
        ("address of a handle", "handle by address"),
        ("frees memory", "frees memory"),
        ("reserved for the system", "reserved name"),
        ("product of two parameters", "counted by two parameters"),
        ("outlive the call", "buffer that must outlive the call"),
        ("goes in and comes out moved", "address that moves"),
        ("in a way that is not understood", "beyond the parser"),
        ("returns `", "returns a function"),
        ("no type for", "type without a name in the spec"),
    ]:
        if words in reason:
            return short
    return re.sub(r"`[^`]*`", "…", reason)[:40]


def attempt(it, folder):
    """Describes, checks and calls a library; what is wrong is noted."""
    document = f"{folder}/{it.name}.opendyn.json"
    command = [PROGRAM, "dyn", "describe", it.library, "-o", document, *it.flags]
    for header in it.headers:
        command += ["--header", header]
    described = subprocess.run(command, capture_output=True, text=True, timeout=120)
    it.report = described.stderr
    if described.returncode != 0:
        it.faults.append(f"describe: {described.stderr.strip()[-300:]}")
        return
    it.document = json.load(open(document))
    it.described = len(it.document["functions"])
    it.marks = open(document).read().count('"x-review"')
    checked = subprocess.run([PROGRAM, "check", document, "--library", it.library], capture_output=True, text=True, timeout=120)
    if checked.returncode != 0:
        it.faults.append("check: " + "\n".join(line for line in checked.stdout.splitlines() if "error" in line)[:600])
    listed = json.loads(subprocess.run([PROGRAM, "dyn", "symbols", it.library, "--json"], capture_output=True, text=True).stdout)
    it.exported = sum(1 for symbol in listed["symbols"] if symbol["kind"] in ("function", "indirect function") and symbol["default"])
    server = subprocess.Popen(
        [PROGRAM, "serve", document, "--library", it.library, "--port", "0", *it.allow], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        lines = []
        for line in server.stdout:
            lines.append(line)
            found = re.search(r"http://[0-9.:]+", line)
            if found:
                it.url = found[0]
                break
        else:
            it.faults.append("serve: " + "".join(lines)[-400:])
            return
        import threading

        threading.Thread(target=lambda: collections.deque(server.stdout, 0), daemon=True).start()
        loaded = subprocess.run([PROGRAM, "load", it.url], capture_output=True, text=True, timeout=60)
        it.callable = len(json.loads(loaded.stdout)["functions"])
        it.run(it)
    except Exception as error:
        text = str(error) if isinstance(error, Wrong) else traceback.format_exc()[-600:]
        it.faults.append(text)
    finally:
        server.terminate()
        server.wait(20)


ENDINGS = (
    "free close destroy delete release dispose unref decref finalize finalise finish cleanup deinit terminate teardown fini end randclear"
).split()
QUALIFIERS = re.compile(r"v?\d+|r|w|all|full|ex|ret|safe|instance|8")
# Why a function is left out that has nothing to do with what it ends.
ELSEWHERE = ("in no header", "in another header", "not exported", "reserved name", "frees memory")


def ends(function):
    """Whether the name of a function says that it ends something."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", function)]
    while len(words) > 1 and QUALIFIERS.fullmatch(words[-1]):
        words.pop()
    return bool(words) and any(words[-1] == word or (len(word) > 3 and words[-1].endswith(word)) for word in ENDINGS)


def destructors(it):
    """The functions that end an object by name and shape, and those of them of which the document says so."""
    named, found = [], []
    for function in it.document["functions"]:
        handles = [one for one in function["parameters"] if one.get("isIn", True) and one.get("x-handle", "NULL") != "NULL"]
        closes = any(one.get("x-closes") for one in function["parameters"])
        if closes or (len(handles) == 1 == len(function["parameters"]) and ends(function["name"])):
            named.append(function["name"])
            found += [function["name"]] if closes else []
    named += [name for name, reason in skipped(it.report) if ends(name) and reason not in ELSEWHERE]
    return named, found


HEAD = """# Libraries

What `opentool dyn describe` makes of the headers of Debian's libraries, as they ship, and what comes of calling it. `scripts/libraries`
writes this page: it installs the packages, describes each library, checks the document, and calls functions exactly as they were described, over HTTP. Every answer
is compared with one that was computed another way: by Python's own modules, by a command, through ctypes with a prototype written by
hand, or with a published vector. None of these calls gave a wrong answer. A function that only prepares something counts as right where what comes
of it is, and one that must refuse (a handle that was closed, damaged data) where it does.

*Exported* counts the functions that the library exports, *described* those in the document (with variables that can be read), *callable* those that can be called
as described, *marks* the guesses that `x-review` asks a person to check, *right* the functions that were called with right answers.
Libraries with a star come from a shuffled list of Debian's development packages, of which those were left out that are C++ or need files,
devices or a network to do anything.

| library | package | exported | described | callable | marks | right | skipped, and why |
|---|---|--:|--:|--:|--:|--:|---|
"""


def page(done):
    rows = []
    for it in done:
        counts = reasons(it.report)
        shown = ", ".join(f"{count} {reason}" for reason, count in counts.most_common(5))
        rest = sum(counts.values()) - sum(count for _, count in counts.most_common(5))
        star = " \\*" if it.is_random else ""
        rows.append(
            f"| {it.name}{star} | {it.package} | {it.exported} | {it.described} | {it.callable} | {it.marks} | {len(it.right)} "
            f"| {sum(counts.values())}: {shown}{f', {rest} other' if rest else ''} |"
        )
    called = "\n## What was called\n\n" + "\n".join(f"- **{it.name}**: {', '.join(f'`{name}`' for name in sorted(it.right))}" for it in done)
    return HEAD + "\n".join(rows) + "\n" + called + "\n"


def main():
    if sys.argv[1:] == ["--packages"]:
        print(*dict.fromkeys(it.package for it in LIBRARIES))
        return
    wanted = sys.argv[1:]
    chosen = [it for it in LIBRARIES if not wanted or it.name in wanted]
    done, failed = [], False
    folder = os.environ.get("KEEP") or tempfile.mkdtemp()
    for it in chosen:
        attempt(it, folder)
        if hasattr(it, "callable"):
            done.append(it)
        numbers = f"{getattr(it, 'exported', '?')} exported, {getattr(it, 'described', '?')} described, {getattr(it, 'callable', '?')} callable"
        print(f"{it.name}: {numbers}, {len(it.right)} right, {len(it.faults)} faults", flush=True)
        for fault in it.faults:
            print(f"  {fault}", flush=True)
        failed |= bool(it.faults) or len(it.right) < 5
    counted = [destructors(it) for it in done]
    print(f"destructors: {sum(len(found) for _, found in counted)} of {sum(len(named) for named, _ in counted)}")
    for it, (named, found) in zip(done, counted):
        if len(found) < len(named):
            print(f"  {it.name}: without {', '.join(sorted(set(named) - set(found)))}")
    if not wanted:
        with open("docs/libraries.md", "w") as out:
            out.write(page(done))
    print("failed" if failed else "ok")
    sys.exit(1 if failed else 0)


PROGRAM = os.environ.get("OPENTOOL", "target/debug/opentool")
main()
