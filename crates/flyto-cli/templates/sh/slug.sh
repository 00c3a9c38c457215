#!/bin/sh
# Turns a title into a slug. The input comes as a JSON object on stdin and the result goes to stdout;
# when something is wrong, a message goes to stderr and the exit code is not 0.
set -eu
# In every locale: bytes, and the letters of ASCII.
LC_ALL=C
export LC_ALL

# A member of the input. The host has checked the input against the schema in plugin.json.
text=$(jq -r .text)

slug=$(printf '%s' "$text" | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]' '-')
slug=${slug#-}
slug=${slug%-}
if [ -z "$slug" ]; then
    echo "the text has no letter or digit" >&2
    exit 1
fi
printf '%s\n' "$slug"
