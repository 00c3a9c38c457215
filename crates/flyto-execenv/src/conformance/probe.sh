# The program under test: carries out the steps that it is given as arguments, one after the other.
# POSIX sh; beyond that `mktemp` in `scratch`, and `setsid` in `session` and `escapee`.

ulimit -c 0 2>/dev/null

probe() {
  while [ $# -gt 0 ]; do
    step=$1
    shift
    case $step in
      say) printf '%s\n' "$1" && shift ;;
      warn) printf '%s\n' "$1" >&2 && shift ;;
      # All that follows, each ended by a NUL byte.
      args) printf '%s\0' "$@" && exit 0 ;;
      cwd) pwd -P ;;
      descriptors) descriptors ;;

      cat) cat ;;
      cat-to-stderr) cat >&2 ;;
      echo-lines) while IFS= read -r line; do printf 'got %s\n' "$line"; done ;;
      # Reads `TEXT CODE`, prints the text and exits with the code.
      answer) read -r text code && printf '%s\n' "$text" && exit "$code" ;;
      close-stdin) exec <&- ;;
      close-output) exec >/dev/null 2>&1 ;;
      # Blocks of 64 KiB of zero bytes.
      fill) dd if=/dev/zero bs=65536 count="$1" 2>/dev/null && shift ;;
      # The same, eight blocks at a time, and after each time the number of blocks into a file.
      fill-and-note) fill_and_note "$1" "$2" && shift 2 ;;
      burn) burn "$1" && shift ;;
      # A text of so many MiB, a power of two, in memory.
      grow) grow "$1" && shift ;;
      # write-file FILE BLOCKS: blocks of 64 KiB, as the process that this one becomes.
      write-file) exec dd if=/dev/zero "of=$1" bs=65536 count="$2" 2>/dev/null ;;
      # So many descriptors at once, and a line for each that could be had.
      open-files) open_files "$1" && shift ;;
      # So many children at once.
      crowd) crowd "$1" && shift ;;
      # bomb DOUBLINGS GENERATIONS
      bomb) bomb "$1" "$2" && shift 2 ;;

      exit) exit "$1" ;;
      die) kill -s "$1" $$ ;;
      stop) kill -s STOP $$ ;;
      # 100 s during which traps run at once; nothing else holds a stream of ours meanwhile.
      nap) nap ;;
      # All that follows, as the process that this one becomes.
      become) exec "$@" ;;
      # 100 s as one process that runs no trap.
      become-sleep) exec sleep 100 ;;
      # A line each second, for 100 s.
      chatter) chatter ;;
      ignore) trap '' "$1" && shift ;;
      # When SIGNAL comes, prints TEXT and exits with CODE; `-` goes on.
      on) on "$1" "$2" "$3" && shift 3 ;;

      # Keeps a named pipe open for writing, in all children as well: its reader sees the end of the
      # file when all of them are gone.
      hold) exec 9>"$1" && held=yes && echo $$ >&9 && shift ;;
      # Reads a named pipe to its end.
      await) cat "$1" && shift ;;
      # Ends an `await`.
      release) : >"$1" && shift ;;
      # try NAME [ STEPS… ]: says whether all of them come off.
      # child [ STEPS… ]: the steps run in a child that is not waited for. One of `session` leads a
      # session of its own, the parent of `orphan` is gone, and an `escapee` is both.
      try | child | session | orphan | escapee)
        if [ "$step" = try ]; then name=$1 && shift; fi
        shift
        case $step in
          try) try "$name" "$@" ;;
          child) ( probe "$@" ) & note $! ;;
          session) setsid "$PROBE_SHELL" -c "$PROBE_SCRIPT" probe "$@" & note $! ;;
          orphan) ( ( probe "$@" ) & note $! ) & ;;
          escapee) ( setsid "$PROBE_SHELL" -c "$PROBE_SCRIPT" probe "$@" & note $! ) & ;;
        esac
        depth=1
        while [ $depth -gt 0 ]; do
          case $1 in
            '[') depth=$((depth + 1)) ;;
            ']') depth=$((depth - 1)) ;;
          esac
          shift
        done ;;
      ']') exit 0 ;;

      scratch) cd "$(mktemp -d "$1/flyto.XXXXXX")" && pwd -P && shift ;;
      mkdir) mkdir "$1" && shift ;;
      mkfifo) mkfifo "$1" && shift ;;
      # install MODE FILE: stdin becomes the file.
      install) cat >"$2" && chmod "$1" "$2" && shift 2 ;;
      # move FROM TO, which is replaced in one step.
      move) mv -f "$1" "$2" && shift 2 ;;
      show) cat "$1" && shift ;;
      list) ls -A "$1" && shift ;;
      put) printf '%s\n' "$2" >"$1" && shift 2 ;;
      append) printf '%s\n' "$2" >>"$1" && shift 2 ;;
      empty) : >"$1" && shift ;;
      # link TO NAME, symlink TO NAME
      link) ln "$1" "$2" && shift 2 ;;
      symlink) ln -s "$1" "$2" && shift 2 ;;
      delete) rm "$1" && shift ;;
      remove) rm -rf "$1" && shift ;;
      own-id) echo $$ ;;
      signal) kill -s "$1" "$2" && shift 2 ;;
      # strike SIGNAL HOST
      strike) strike "$1" "$2" && shift 2 ;;
      # A user namespace of its own.
      unshare) unshare --user true ;;
      # Ends what a broken backend left alive.
      kill) kill -s KILL "$@" 2>/dev/null; exit 0 ;;
      *) printf 'probe: no step %s\n' "$step" >&2 && exit 64 ;;
    esac || exit 65
  done
}

nap() {
  n=0
  while [ $n -lt 100 ]; do
    sleep 1 </dev/null >/dev/null 2>&1 9>&- &
    napping=$!
    wait $napping
    n=$((n + 1))
  done
}

chatter() {
  n=0
  while [ $n -lt 100 ]; do
    echo chatter
    sleep 1
    n=$((n + 1))
  done
}

on() {
  if [ "$3" = - ]; then
    trap "printf '%s\n' '$2'" "$1"
  else
    trap "kill \$napping 2>/dev/null; printf '%s\n' '$2'; exit $3" "$1"
  fi
}

burn() {
  n=0
  while [ $n -lt "$1" ]; do n=$((n + 1)); done
}

grow() {
  grown=$(printf '%1024s' x) size=1
  while [ $size -lt $(($1 * 1024)) ]; do
    grown=$grown$grown
    size=$((size * 2))
  done
}

# Each level redirects a descriptor that is open already, whose former file the shell keeps in another.
open_files() {
  [ "$1" -gt 0 ] || return 0
  { echo opened && open_files $(($1 - 1)); } 8<&0
}

crowd() {
  n=0
  while [ $n -lt "$1" ]; do
    n=$((n + 1))
    sleep 100 </dev/null >/dev/null 2>&1 &
    note $!
  done
}

# Doubles, and then each end has a child and goes, GENERATIONS times: new processes take the place of old
# ones, and there are never more than twice as many as the doubling made. What gets through to the end
# stays.
bomb() {
  if [ "$1" -gt 0 ]; then
    bomb $(($1 - 1)) "$2" &
    bomb $(($1 - 1)) "$2"
  elif [ "$2" -gt 0 ]; then
    ( bomb 0 $(($2 - 1)) ) &
  else
    exec "$PROBE_SHELL" -c 'echo $$ >&9; exec sleep 100'
  fi
}

fill_and_note() {
  n=0
  echo $n >"$2"
  while [ $n -lt "$1" ]; do
    dd if=/dev/zero bs=65536 count=8 2>/dev/null || return 1
    n=$((n + 8))
    echo $n >"$2"
  done
}

try() {
  tried=$1
  shift
  if ( probe "$@" ) </dev/null >/dev/null 2>&1; then echo "$tried done"; else echo "$tried failed"; fi
}

# Sends a signal to its parent. One that is there for others as well is let alone: it is not the process
# HOST and below that, or the first of its namespace, which the system guards.
strike() {
  above=$PPID
  if [ "$above" -gt 1 ] && [ "$above" != "$2" ]; then
    while [ "$above" -gt 1 ] && [ "$above" != "$2" ]; do
      read -r stat 2>/dev/null <"/proc/$above/stat" || return 0
      # The parent follows the name, which may hold anything, and the state.
      stat=${stat##*') '}
      stat=${stat#* }
      above=${stat%% *}
    done
    if [ "$above" != "$2" ]; then return 0; fi
  elif [ "$above" != 1 ]; then
    return 0
  fi
  kill -s "$1" "$PPID" 2>/dev/null
  return 0
}

# Tells the reader of a pipe that is held who holds it.
note() {
  if [ "$held" ]; then echo "$1" >&9; fi
}

# The open descriptors of this shell. The one that lists them is closed again when they are looked at.
descriptors() {
  for dir in /proc/self/fd /dev/fd; do
    if [ -d $dir ]; then
      for file in "$dir"/*; do
        if [ -e "$file" ] || [ -L "$file" ]; then echo "${file##*/}"; fi
      done
      return 0
    fi
  done
  for n in 0 1 2 3 4 5 6 7 8 9; do
    if (eval ": <&$n") 2>/dev/null; then echo $n; fi
  done
}

held=
probe "$@"
