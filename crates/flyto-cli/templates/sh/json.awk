# Prints one member of the JSON object on stdin: LC_ALL=C awk -v name=KEY -f json.awk
#
# A string is decoded, anything else is printed as it is written. The exit code is 1 if there is no
# such member. That the input is JSON was checked before the tool was started.

BEGIN {
    escapes["b"] = "\b"
    escapes["f"] = "\f"
    escapes["n"] = "\n"
    escapes["r"] = "\r"
    escapes["t"] = "\t"
}

{ text = text $0 "\n" }

END {
    n = length(text)
    for (at = 1; at <= n; at++) {
        c = substr(text, at, 1)
        if (in_string) {
            if (c == "\\") at++
            else if (c == "\"") in_string = 0
        } else if (c == "\"") {
            in_string = 1
        } else if (depth == 1 && c == ":") {
            key = decoded(start, at)
            start = at + 1
        } else if (depth == 1 && (c == "," || c == "}")) {
            # Of two members with one name the later one counts, as for most readers.
            if (key == name) {
                value = decoded(start, at)
                found = 1
            }
            start = at + 1
            if (c == "}") depth--
        } else if (c == "{" || c == "[") {
            if (++depth == 1) start = at + 1
        } else if (c == "}" || c == "]") {
            depth--
        }
    }
    if (!found) {
        print "the input has no member \"" name "\"" > "/dev/stderr"
        exit 1
    }
    printf "%s", value
}

# The key or value that stands from `first` up to the character before `end`.
function decoded(first, end,    s) {
    s = substr(text, first, end - first)
    sub(/^[ \t\r\n]+/, "", s)
    sub(/[ \t\r\n]+$/, "", s)
    return substr(s, 1, 1) == "\"" ? unescaped(substr(s, 2, length(s) - 2)) : s
}

function unescaped(s,    parts, n, i, res, part, code) {
    n = split(s, parts, /\\/)
    res = parts[1]
    for (i = 2; i <= n; i++) {
        part = parts[i]
        c = substr(part, 1, 1)
        if (part == "") {
            # Two backslashes stand for one, and what follows them is plain text.
            res = res "\\" parts[++i]
        } else if (c == "u") {
            code = hex(substr(part, 2, 4))
            if (code >= 55296 && code < 56320 && parts[i + 1] ~ /^u[dD][c-fC-F]/) {
                # Two halves of a character beyond U+FFFF.
                part = parts[++i]
                code = 65536 + (code - 55296) * 1024 + hex(substr(part, 2, 4)) - 56320
            }
            res = res utf8(code) substr(part, 6)
        } else {
            res = res ((c in escapes) ? escapes[c] : c) substr(part, 2)
        }
    }
    return res
}

function hex(digits,    i, res) {
    digits = tolower(digits)
    for (i = 1; i <= 4; i++) res = res * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
    return res
}

function utf8(code) {
    # NUL and half a character cannot be in a text; U+FFFD stands for them.
    if (code == 0 || (code >= 55296 && code < 57344)) code = 65533
    if (code < 128) return sprintf("%c", code)
    if (code < 2048) return sprintf("%c", 192 + int(code / 64)) tail(code)
    if (code < 65536) return sprintf("%c", 224 + int(code / 4096)) tail(code / 64) tail(code)
    return sprintf("%c", 240 + int(code / 262144)) tail(code / 4096) tail(code / 64) tail(code)
}

function tail(code) {
    return sprintf("%c", 128 + int(code) % 64)
}
