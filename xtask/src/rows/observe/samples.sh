# Makes the file $1, with content that fits its name.
sample() {
  [ -e "$1" ] && return
  mkdir -p "$(dirname "$1")" 2>/dev/null
  case "$1" in
    *.tar) echo text >.s; tar cf "$1" .s ;;
    *.tar.gz | *.tgz) echo text >.s; tar czf "$1" .s ;;
    *.tar.bz2) echo text >.s; tar cjf "$1" .s ;;
    *.tar.xz | *.txz) echo text >.s; tar cJf "$1" .s ;;
    *.gz) echo text | gzip >"$1" ;;
    *.bz2) echo text | bzip2 >"$1" ;;
    *.xz) echo text | xz >"$1" ;;
    *.lzma) echo text | xz --format=lzma >"$1" ;;
    *.zst) echo text | zstd -q >"$1" ;;
    *.lz4) echo text | lz4 -q >"$1" ;;
    *.zip | *.jar | *.whl | *.apk) echo text >.s; python3 -m zipfile -c "$1" .s ;;
    *.png) echo iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== | base64 -d >"$1" ;;
    *.gif) echo R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7 | base64 -d >"$1" ;;
    *.jpg | *.jpeg) printf 'P3\n1 1\n255\n9 9 9\n' | cjpeg >"$1" 2>/dev/null || echo text >"$1" ;;
    *.ppm | *.pnm) printf 'P3\n1 1\n255\n9 9 9\n' >"$1" ;;
    *.wav) python3 -c 'import sys,wave; w=wave.open(sys.argv[1],"wb"); w.setparams((1,2,8000,0,"NONE","")); w.writeframes(bytes(16000))' "$1" ;;
    *.ps | *.eps) printf '%%!PS\nshowpage\n' >"$1" ;;
    *.pdf) printf '%%!PS\nshowpage\n' | ps2pdf - "$1" 2>/dev/null || printf '%%PDF-1.4\n' >"$1" ;;
    *.json | *.ipynb) echo '{"a": 1}' >"$1" ;;
    *.xml | *.html | *.svg | *.xsl | *.plist) echo '<a><b>text</b></a>' >"$1" ;;
    *.yaml | *.yml) echo 'a: 1' >"$1" ;;
    *.toml | *.ini | *.cfg | *.conf) printf '[a]\nb = 1\n' >"$1" ;;
    *.csv) printf 'a,b\n1,2\n' >"$1" ;;
    *.c | *.cc | *.cpp) echo 'int main(void) { return 0; }' >"$1" ;;
    *.o) echo 'int f(void) { return 0; }' >.s.c; gcc -c .s.c -o "$1" ;;
    *.a) echo 'int f(void) { return 0; }' >.s.c; gcc -c .s.c -o .s.o; ar rc "$1" .s.o ;;
    *.so) echo 'int f(void) { return 0; }' >.s.c; gcc -shared .s.c -o "$1" ;;
    *.py) echo 'pass' >"$1" ;;
    *.js | *.mjs) echo ';' >"$1" ;;
    *.go) printf 'package main\nfunc main() {}\n' >"$1" ;;
    *.rs) echo 'fn main() {}' >"$1" ;;
    *.java) echo 'class Main { public static void main(String[] a) {} }' >"$1" ;;
    *.db | *.sqlite | *.sqlite3) python3 -c 'import sqlite3,sys; sqlite3.connect(sys.argv[1]).executescript("create table t(a)")' "$1" ;;
    *.img | *.iso | *.qcow2) truncate -s 8M "$1" ;;
    *.pem | *.key) openssl genrsa -out "$1" 1024 2>/dev/null ;;
    *.crt) openssl req -x509 -newkey rsa:1024 -nodes -keyout .s.key -out "$1" -subj /CN=a 2>/dev/null ;;
    *.patch | *.diff) printf -- '--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two\n' >"$1" ;;
    *.sh) printf '#!/bin/sh\nexit 0\n' >"$1" ;;
    [Mm]akefile | */[Mm]akefile) printf 'all:\n\techo all\n' >"$1" ;;
    *) printf 'one\ntwo\nthree\n' >"$1" ;;
  esac
  rm -f .s .s.c .s.o .s.key
}

# Ends every process but this one and the first.
sweep() {
  local process
  for process in /proc/[0-9]*; do
    process=${process#/proc/}
    [ "$process" = 1 ] || [ "$process" = $$ ] || [ "$process" = $PPID ] || kill -KILL "$process" 2>/dev/null
  done
}

# Runs the command line $2 under strace; trace and status go to /observed/$1.
observe() {
  timeout -s KILL "$3" strace -f -y -qq -s 300 --seccomp-bpf -e trace="$CALLS" -e signal=none -o "/observed/$1.trace" \
    timeout -s KILL "$4" bash -c "$2" </dev/null >/dev/null 2>"/observed/$1.errors"
  echo $? >"/observed/$1.status"
  sweep
  [ "$(stat -c %s "/observed/$1.trace")" -lt 8000000 ] || truncate -s 8000000 "/observed/$1.trace"
}

mkdir -p /observed
export HOME=/home/user TERM=dumb LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games
ulimit -c 0 -f 200000 -u 2000

# what each command line finds in its folder: a project with a history
mkdir -p /observed/home && cd /observed/home || exit 1
printf 'one\n' >"$PROBE"
printf 'all:\n\techo all\n' >Makefile
echo '{"name": "a", "version": "1.0.0", "scripts": {"test": "true", "build": "true"}}' >package.json
echo 'int main(void) { return 0; }' >main.c
git init -q . && git -c user.name=a -c user.email=a@b add . && git -c user.name=a -c user.email=a@b commit -q -m a
